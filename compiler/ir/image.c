/* SPDX-License-Identifier: BSD-3-Clause
 * Writes binary schedules; the layout is described in bin.h. */
#include "compiler/ir/ir.h"
#include "format/check.h"
#include "util/align.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

int ir_image_init(struct ir_image *im)
{
	*im = (struct ir_image){ .meta = { .root = BIN_NONE, .count = BIN_ANY_COUNT } };
	return VEC_PUSH(&im->strings, '\0');
}

void ir_image_fini(struct ir_image *im)
{
	VEC_FREE(&im->strings);
	VEC_FREE(&im->buffers);
	VEC_FREE(&im->params);
	VEC_FREE(&im->code);
	VEC_FREE(&im->locs);
	VEC_FREE(&im->consts);
	VEC_FREE(&im->tmpls);
	VEC_FREE(&im->windows);
	VEC_FREE(&im->lines);
	VEC_FREE(&im->calls);
	VEC_FREE(&im->deps);
	VEC_FREE(&im->exprs);
	VEC_FREE(&im->classes);
	VEC_FREE(&im->body);
	VEC_FREE(&im->debug_base);
	VEC_FREE(&im->debug);
	VEC_FREE(&im->qdir);
	VEC_FREE(&im->queues);
	index_free(&im->by_class);
	index_free(&im->by_expr);
}

int64_t ir_image_string(struct ir_image *im, const char *s)
{
	size_t len = strlen(s) + 1, at = im->strings.n;

	if (len == 1)
		return 0;
	if (at + len > INT32_MAX || VEC_RESERVE(&im->strings, at + len))
		return -ERR_NOMEM;
	memcpy(im->strings.at + at, s, len);
	im->strings.n += len;
	return (int64_t)at;
}

static bool same_expr(const void *exprs, uint32_t i, const void *e)
{
	return !memcmp((const struct bin_expr *)exprs + i, e, sizeof(struct bin_expr));
}

int64_t ir_image_expr(struct ir_image *im, struct bin_expr e)
{
	const uint64_t hash = bin_sum(&e, sizeof e);
	const int64_t known = index_find(&im->by_expr, hash, same_expr, im->exprs.at, &e);

	if (known >= 0)
		return known;
	if (VEC_PUSH(&im->exprs, e) || index_add(&im->by_expr, hash, im->exprs.n - 1))
		return -ERR_NOMEM;
	return (int64_t)im->exprs.n - 1;
}

static bool same_class(const void *classes, uint32_t i, const void *c)
{
	return !memcmp((const struct bin_class *)classes + i, c, sizeof(struct bin_class));
}

int64_t ir_image_class(struct ir_image *im, const struct bin_class *c)
{
	const uint64_t hash = bin_sum(c, sizeof *c);
	const int64_t known = index_find(&im->by_class, hash, same_class, im->classes.at, c);

	if (known >= 0)
		return known;
	if (VEC_PUSH(&im->classes, *c) || index_add(&im->by_class, hash, im->classes.n - 1))
		return -ERR_NOMEM;
	return (int64_t)im->classes.n - 1;
}

int ir_image_begin(struct ir_image *im, uint64_t dir_rows)
{
	size_t len = dir_rows * sizeof(struct bin_dir);

	if (VEC_RESERVE(&im->body, len))
		return -ERR_NOMEM;
	im->body.n = len;
	im->dir_rows = dir_rows;
	return 0;
}

int ir_image_more(struct ir_image *im, uint64_t dir_rows)
{
	const size_t dir = im->dir_rows * sizeof(struct bin_dir), len = dir_rows * sizeof(struct bin_dir);

	if (VEC_RESERVE(&im->body, im->body.n + len))
		return -ERR_NOMEM;
	memmove(im->body.at + dir + len, im->body.at + dir, im->body.n - dir);
	im->body.n += len;
	im->dir_rows += dir_rows;
	return 0;
}

struct bin_op32 ir_image_op(const struct ir_image *im, const struct bin_op *op, uint32_t cls)
{
	if (bin_is_message(op->kind))
		return (struct bin_op32){ op->peer, cls, 0 };
	if (op->kind == BIN_OP_CALC && im->classes.at[cls].len == BIN_NONE)
		return (struct bin_op32){ (uint32_t)op->len, cls, 0 };
	return (struct bin_op32){ 0, cls, 0 };
}

static struct bin_dir *image_dir(const struct ir_image *im)
{
	return (struct bin_dir *)(void *)im->body.at;
}

const struct bin_rank *ir_image_section(const struct ir_image *im, uint64_t dir_row)
{
	return (const struct bin_rank *)(const void *)(im->body.at + im->dir_rows * sizeof(struct bin_dir) +
						       (uint64_t)image_dir(im)[dir_row].off * 4);
}

static char *put_small(char *out, uint32_t v, bool wide)
{
	uint16_t v16 = (uint16_t)v;

	return (char *)memcpy(out, wide ? (void *)&v : (void *)&v16, wide ? 4 : 2) + (wide ? 4 : 2);
}

static uint32_t narrow_dep(uint32_t d)
{
	return d & BIN_START ? (d & 0x7fff) | BIN_START16 : d;
}

/* Stores in *out the positions of the ops if some dependency points forward, otherwise NULL. */
static int forward_positions(const struct ir_rank *r, uint32_t **out)
{
	uint32_t bad;
	int err;

	*out = NULL;
	for (uint32_t i = 0, d = 0; i < r->nops; i++)
		for (; d < r->dep_at[i + 1]; d++) {
			if ((r->deps[d] & ~BIN_START) < i)
				continue;
			*out = mem_alloc((size_t)r->nops * sizeof **out);
			err = *out ? ir_rank_positions(r, *out, &bad) : -ERR_NOMEM;
			if (err) {
				free(*out);
				*out = NULL;
			}
			return err;
		}
	return 0;
}

int ir_image_rank(struct ir_image *im, const struct ir_rank *r, const struct bin_op32 *ops,
		  const uint32_t *size_rows)
{
	const size_t start = im->body.n, off = (start - im->dir_rows * sizeof(struct bin_dir)) / 4;
	const uint32_t ndeps = r->dep_at[r->nops];
	bool wide = r->nops > BIN_START16;
	uint32_t *pos = NULL;
	int err = forward_positions(r, &pos);

	if (!err && (ndeps > BIN_R_NDEPS || off > UINT32_MAX))
		err = -ERR_RANGE;
	for (uint32_t i = 0; i < r->nops && !err; i++)
		wide |= ops[i].cls > UINT16_MAX || r->dep_at[i + 1] - r->dep_at[i] > UINT16_MAX;
	const size_t small = wide ? 4 : 2, sizes = size_rows ? im->buffers.n * 4 : 0;
	const size_t len = sizeof(struct bin_rank) + sizes +
			   (size_t)r->nops * (wide ? sizeof(struct bin_op32) : sizeof(struct bin_op16)) +
			   ((size_t)ndeps + (pos ? r->nops : 0)) * small;
	const size_t padded = (len + 3) & ~(size_t)3;

	if (!err)
		err = VEC_RESERVE(&im->body, start + padded);
	if (err) {
		free(pos);
		return err;
	}
	const struct bin_rank h = { r->nops, ndeps | (wide ? BIN_R_WIDE : 0) | (size_rows ? BIN_R_SIZES : 0) |
						     (pos ? BIN_R_POS : 0) };
	char *out = im->body.at + start;

	memcpy(out, &h, sizeof h);
	out += sizeof h;
	if (sizes)
		memcpy(out, size_rows, sizes);
	out += sizes;
	for (uint32_t i = 0; i < r->nops; i++) {
		uint32_t n = r->dep_at[i + 1] - r->dep_at[i];
		struct bin_op16 narrow = { ops[i].arg, (uint16_t)ops[i].cls, (uint16_t)n };
		struct bin_op32 full = { ops[i].arg, ops[i].cls, n };
		size_t size = wide ? sizeof full : sizeof narrow;

		memcpy(out, wide ? (void *)&full : (void *)&narrow, size);
		out += size;
	}
	for (uint32_t d = 0; d < ndeps; d++)
		out = put_small(out, wide ? r->deps[d] : narrow_dep(r->deps[d]), wide);
	for (uint32_t i = 0; pos && i < r->nops; i++)
		out = put_small(out, pos[i], wide);
	free(pos);
	memset(out, 0, padded - len);
	im->body.n = start + padded;
	image_dir(im)[im->done++] = (struct bin_dir){ (uint32_t)off, bin_sum(im->body.at + start, padded) };
	return 0;
}

/* ---- assembly of the file ---- */

struct part {
	uint32_t type;
	const void *at;
	size_t len;
};

/* The sections of a binary in file order. DIR and RANKS, if present, are in im->body. */
struct parts {
	struct part at[BIN_S_TYPES];
	unsigned n, body; /* body: index of DIR in at, or 0 if there is none */
};

/* True if a reader of version 1 would misread the binary. */
static bool needs_newer_reader(const struct ir_image *im)
{
	bool inplace = false;

	for (size_t i = 0; i < im->buffers.n; i++)
		inplace |= im->buffers.at[i].inplace != 0;
	return inplace || im->windows.n || im->calls.n || im->meta.result || im->meta.flags & BIN_F_COMMUTATIVE;
}

/* Returns the version of the reader that the instructions need, from those that came after version 5; 0 if none does. */
static unsigned reader_of_code(const struct ir_image *im)
{
	unsigned reader = 0, needed;

	for (size_t i = 0; i < im->exprs.n; i++)
		reader = im->exprs.at[i].op == BIN_REVERSE ? BIN_REVERSE_READER : reader;
	for (size_t i = 0; i < im->code.n; i++) {
		switch (im->code.at[i].op) {
		case BIN_REVERSE:
			needed = BIN_REVERSE_READER;
			break;
		case BIN_GIVEN:
			needed = BIN_GIVEN_READER;
			break;
		case BIN_ASSERT:
		case BIN_LENGTH:
		case BIN_COPYIN:
			needed = BIN_ASSERT_READER;
			break;
		default:
			continue;
		}
		reader = needed > reader ? needed : reader;
	}
	return reader;
}

static void add_part(struct parts *p, uint32_t type, const void *at, size_t len)
{
	p->at[p->n++] = (struct part){ type, at, len };
}
#define ADD(p, type, v) add_part(p, type, (v).at, (v).n * sizeof *(v).at)

static void add_program(const struct ir_image *im, bool debug, struct parts *p)
{
	ADD(p, BIN_S_CODE, im->code);
	ADD(p, BIN_S_CONSTS, im->consts);
	ADD(p, BIN_S_TMPLS, im->tmpls);
	ADD(p, BIN_S_DEPS, im->deps);
	if (debug)
		add_part(p, BIN_S_LINES, im->lines.at, im->code.n * sizeof *im->lines.at);
	if (im->windows.n || im->calls.n) {
		ADD(p, BIN_S_WINDOWS, im->windows);
		ADD(p, BIN_S_CALLS, im->calls);
	}
}

static void add_ranks(const struct ir_image *im, const char *opdebug, size_t debug_len, struct parts *p)
{
	const size_t dir_len = im->dir_rows * sizeof(struct bin_dir);

	ADD(p, BIN_S_EXPRS, im->exprs);
	ADD(p, BIN_S_CLASSES, im->classes);
	p->body = p->n;
	add_part(p, BIN_S_DIR, NULL, dir_len);
	add_part(p, BIN_S_RANKS, NULL, im->body.n - dir_len);
	if (opdebug)
		add_part(p, BIN_S_OPDEBUG, opdebug, debug_len);
}

static struct parts list_parts(const struct ir_image *im, bool debug, const char *opdebug, size_t debug_len)
{
	struct parts p = { 0 };

	add_part(&p, BIN_S_META, &im->meta, sizeof im->meta);
	ADD(&p, BIN_S_STRINGS, im->strings);
	ADD(&p, BIN_S_BUFFERS, im->buffers);
	ADD(&p, BIN_S_PARAMS, im->params);
	if (im->meta.flags & BIN_F_PARAMETRIC)
		add_program(im, debug, &p);
	else
		add_ranks(im, opdebug, debug_len, &p);
	if (im->qdir.n) {
		add_part(&p, BIN_S_TARGET, &im->target, sizeof im->target);
		ADD(&p, BIN_S_QDIR, im->qdir);
		ADD(&p, BIN_S_QUEUES, im->queues);
	}
	return p;
}
#undef ADD

/* Joins the parts of OPDEBUG; NULL if out of memory. */
static char *join_debug(const struct ir_image *im, size_t *len)
{
	const size_t base = im->debug_base.n * sizeof *im->debug_base.at, rows = im->debug.n * sizeof *im->debug.at;
	char *out = mem_alloc(base + rows);

	if (!out)
		return NULL;
	memcpy(out, im->debug_base.at, base);
	if (rows)
		memcpy(out + base, im->debug.at, rows);
	*len = base + rows;
	return out;
}

/* Returns the offset at which a part begins if the part before it ends at `end`. */
static size_t part_begin(size_t end)
{
	return align_up(end, 8);
}

/* Writes the header, the section table and all parts except DIR and RANKS (im->body), which are already in place. */
static void write_around(const struct ir_image *im, const struct parts *p, size_t start, size_t total, char *out)
{
	struct bin_header *h = (struct bin_header *)(void *)out;
	struct bin_section *s = (struct bin_section *)(void *)(h + 1);
	const unsigned reader = reader_of_code(im);
	const bool reproducible = im->meta.flags & BIN_F_REPRODUCIBLE;

	memcpy(h->magic, BIN_MAGIC, 8);
	h->version = BIN_VERSION;
	h->min_reader = reproducible && reader < BIN_REPRODUCIBLE_READER ? BIN_REPRODUCIBLE_READER :
			reader						 ? (uint16_t)reader :
			im->gets   ? BIN_GETS_READER :
			im->qdir.n ? BIN_QUEUES_READER :
			needs_newer_reader(im)  ? BIN_RESULT_READER :
						  BIN_MIN_READER;
	h->nsections = p->n;
	h->size = total;
	for (unsigned i = 0; i < p->n; i++) {
		const struct part *part = &p->at[i];

		start = part_begin(start);
		if (part->at && part->len)
			memcpy(out + start, part->at, part->len);
		s[i] = (struct bin_section){ part->type, 0, start, part->len };
		if (!bin_in_parts(part->type))
			s[i].check = bin_sum(out + start, part->len);
		start += part->len;
	}
	h->check = bin_header_sum(h);
}

/* The memory of DIR and RANKS becomes the file: both sections are moved to their offset, and the rest is written around them. */
int ir_image_finish(struct ir_image *im, bool debug, void **image, size_t *size)
{
	const bool ops = debug && !(im->meta.flags & BIN_F_PARAMETRIC) && im->debug_base.n;
	size_t debug_len = 0;
	char *opdebug = ops ? join_debug(im, &debug_len) : NULL, *out;

	if (ops && !opdebug)
		return -ERR_NOMEM;
	const struct parts p = list_parts(im, debug, opdebug, debug_len);
	const size_t start = sizeof(struct bin_header) + p.n * sizeof(struct bin_section);
	size_t total = start, head = start; /* head: bytes before DIR */

	for (unsigned i = 0; i < p.n; i++) {
		total = part_begin(total) + p.at[i].len;
		if (i + 1 == p.body)
			head = part_begin(total);
	}
	out = mem_resize(im->body.at, total, 1);
	if (out) {
		if (im->body.n)
			memmove(out + head, out, im->body.n);
		memset(out, 0, head);
		memset(out + head + im->body.n, 0, total - head - im->body.n);
		write_around(im, &p, start, total, out);
		im->body.at = NULL;
		im->body.n = im->body.cap = 0;
		*image = out;
		*size = total;
	}
	free(opdebug);
	return out ? 0 : -ERR_NOMEM;
}
