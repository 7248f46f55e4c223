/* SPDX-License-Identifier: BSD-3-Clause
 * Writer of binary schedules; the layout is bin.h's. */
#include "compiler/bin_check.h"
#include "compiler/ir.h"

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
	VEC_FREE(&im->asserts);
	VEC_FREE(&im->consts);
	VEC_FREE(&im->tmpls);
	VEC_FREE(&im->deps);
	VEC_FREE(&im->exprs);
	VEC_FREE(&im->classes);
	VEC_FREE(&im->dir);
	VEC_FREE(&im->ranks);
	VEC_FREE(&im->debug_base);
	VEC_FREE(&im->debug);
	VEC_FREE(&im->class_table);
	VEC_FREE(&im->expr_table);
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

/* Index of an element equal to e in the n elements at rows, or n; the table has room for one more. */
static uint32_t *slot(uint32_t *table, size_t cap, const void *rows, size_t size, const void *e)
{
	size_t at = bin_sum(e, size) & (cap - 1);

	while (table[at] && memcmp((const char *)rows + (table[at] - 1) * size, e, size) != 0)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static int grow_table(uint32_t **at, size_t *cap, size_t *n, const void *rows, size_t count, size_t size)
{
	if (*cap && count < *cap / 2)
		return 0;
	size_t more = *cap ? *cap * 2 : 64;
	uint32_t *t = mem_calloc(more, sizeof *t);

	if (!t)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < count; i++)
		*slot(t, more, rows, size, (const char *)rows + i * size) = i + 1;
	free(*at);
	*at = t;
	*cap = *n = more;
	return 0;
}

#define INTERN(im, vec, table, e)                                                                   \
	do {                                                                                        \
		if (grow_table(&(im)->table.at, &(im)->table.cap, &(im)->table.n, (im)->vec.at,     \
			       (im)->vec.n, sizeof(e)))                                             \
			return -ERR_NOMEM;                                                          \
		uint32_t *s_ = slot((im)->table.at, (im)->table.cap, (im)->vec.at, sizeof(e), &(e)); \
		if (!*s_) {                                                                         \
			if (VEC_PUSH(&(im)->vec, (e)))                                              \
				return -ERR_NOMEM;                                                  \
			*s_ = (uint32_t)(im)->vec.n;                                                \
		}                                                                                   \
		return (int64_t)*s_ - 1;                                                            \
	} while (0)

int64_t ir_image_expr(struct ir_image *im, struct bin_expr e)
{
	INTERN(im, exprs, expr_table, e);
}

int64_t ir_image_class(struct ir_image *im, const struct bin_class *c)
{
	INTERN(im, classes, class_table, *c);
}

static int put(struct ir_image *im, const void *p, size_t len)
{
	if (VEC_RESERVE(&im->ranks, im->ranks.n + len))
		return -ERR_NOMEM;
	memcpy(im->ranks.at + im->ranks.n, p, len);
	im->ranks.n += len;
	return 0;
}

static int put_small(struct ir_image *im, uint32_t v, bool wide)
{
	uint16_t v16 = (uint16_t)v;

	return wide ? put(im, &v, 4) : put(im, &v16, 2);
}

static uint32_t dep16(uint32_t d)
{
	return d & BIN_START ? (d & 0x7fff) | BIN_START16 : d;
}

int ir_image_rank(struct ir_image *im, const struct ir_rank *r, const uint32_t *cls,
		  const uint32_t *size_rows)
{
	size_t start = im->ranks.n;
	struct bin_rank h = { r->nops, r->dep_at[r->nops] };
	bool wide = r->nops > BIN_START16;
	uint32_t *pos = mem_alloc((size_t)r->nops * sizeof *pos), bad;
	int err = pos ? ir_rank_positions(r, pos, &bad) : -ERR_NOMEM;

	if (h.ndeps > BIN_R_NDEPS || start / 4 > UINT32_MAX)
		err = -ERR_RANGE;
	if (err) {
		free(pos);
		return err;
	}
	for (uint32_t i = 0; i < r->nops; i++) {
		wide |= cls[i] > UINT16_MAX || r->dep_at[i + 1] - r->dep_at[i] > UINT16_MAX;
		if (pos[i] != i)
			h.ndeps |= BIN_R_POS;
	}
	h.ndeps |= (wide ? BIN_R_WIDE : 0) | (size_rows ? BIN_R_SIZES : 0);
	err = put(im, &h, sizeof h);
	if (!err && size_rows)
		err = put(im, size_rows, im->buffers.n * 4);
	for (uint32_t i = 0; i < r->nops && !err; i++) {
		const struct bin_op *op = &r->ops[i];
		const struct bin_class *c = &im->classes.at[cls[i]];
		uint32_t n = r->dep_at[i + 1] - r->dep_at[i];
		uint32_t arg = bin_operands(op->kind)[0] == 'P'			     ? op->peer :
			       op->kind == BIN_OP_CALC && c->len == BIN_NONE ? (uint32_t)op->len :
										     0;
		struct bin_op16 narrow = { arg, (uint16_t)cls[i], (uint16_t)n };
		struct bin_op32 full = { arg, cls[i], n };

		err = wide ? put(im, &full, sizeof full) : put(im, &narrow, sizeof narrow);
	}
	for (uint32_t d = 0; d < r->dep_at[r->nops] && !err; d++)
		err = put_small(im, wide ? r->deps[d] : dep16(r->deps[d]), wide);
	if (h.ndeps & BIN_R_POS)
		for (uint32_t i = 0; i < r->nops && !err; i++)
			err = put_small(im, pos[i], wide);
	free(pos);
	if (!err && im->ranks.n % 4)
		err = put_small(im, 0, false);
	if (err)
		return err;
	return VEC_PUSH(&im->dir, (struct bin_dir){ (uint32_t)(start / 4),
						    bin_sum(im->ranks.at + start, im->ranks.n - start) });
}

/* ---- putting the file together ---- */

struct part {
	uint32_t type;
	const void *at;
	size_t len;
};

static size_t up8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

int ir_image_finish(const struct ir_image *im, bool debug, void **image, size_t *size)
{
	const bool prog = im->meta.flags & BIN_F_PARAMETRIC;
	uint32_t *lines = NULL;
	char *opdebug = NULL;
	size_t base_len = im->debug_base.n * 4, debug_len = base_len + im->debug.n * sizeof *im->debug.at;
	struct part parts[BIN_S_TYPES];
	unsigned n = 0;
	int err = -ERR_NOMEM;

	if (debug && prog) {
		lines = mem_alloc(im->code.n * sizeof *lines);
		if (!lines)
			return -ERR_NOMEM;
		for (size_t i = 0; i < im->code.n; i++)
			lines[i] = im->locs.at[i].line;
	}
	if (debug && !prog && im->debug_base.n) {
		opdebug = mem_alloc(debug_len);
		if (!opdebug)
			return -ERR_NOMEM;
		memcpy(opdebug, im->debug_base.at, base_len);
		if (debug_len > base_len)
			memcpy(opdebug + base_len, im->debug.at, debug_len - base_len);
	}
#define PART(type, v) parts[n++] = (struct part){ type, (v).at, (v).n * sizeof *(v).at }
	parts[n++] = (struct part){ BIN_S_META, &im->meta, sizeof im->meta };
	PART(BIN_S_STRINGS, im->strings);
	PART(BIN_S_BUFFERS, im->buffers);
	PART(BIN_S_PARAMS, im->params);
	if (prog) {
		PART(BIN_S_CODE, im->code);
		PART(BIN_S_CONSTS, im->consts);
		PART(BIN_S_TMPLS, im->tmpls);
		PART(BIN_S_DEPS, im->deps);
		if (lines)
			parts[n++] = (struct part){ BIN_S_LINES, lines, im->code.n * 4 };
	} else {
		PART(BIN_S_EXPRS, im->exprs);
		PART(BIN_S_CLASSES, im->classes);
		PART(BIN_S_DIR, im->dir);
		PART(BIN_S_RANKS, im->ranks);
		if (opdebug)
			parts[n++] = (struct part){ BIN_S_OPDEBUG, opdebug, debug_len };
	}
#undef PART
	size_t end = sizeof(struct bin_header) + n * sizeof(struct bin_section), total = end;

	for (unsigned i = 0; i < n; i++)
		total = up8(total) + parts[i].len;
	char *out = mem_calloc(total, 1);

	if (out) {
		struct bin_header *h = (struct bin_header *)(void *)out;
		struct bin_section *s = (struct bin_section *)(void *)(h + 1);

		memcpy(h->magic, BIN_MAGIC, 8);
		h->version = BIN_VERSION;
		h->min_reader = BIN_MIN_READER;
		h->nsections = n;
		h->size = total;
		for (unsigned i = 0; i < n; i++) {
			end = up8(end);
			if (parts[i].len)
				memcpy(out + end, parts[i].at, parts[i].len);
			s[i] = (struct bin_section){ parts[i].type, 0, end, parts[i].len };
			if (parts[i].type != BIN_S_RANKS)
				s[i].check = bin_sum(out + end, parts[i].len);
			end += parts[i].len;
		}
		h->check = bin_header_sum(h);
		*image = out;
		*size = total;
		err = 0;
	}
	free(lines);
	free(opdebug);
	return err;
}
