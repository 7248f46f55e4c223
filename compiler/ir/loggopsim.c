/* SPDX-License-Identifier: BSD-3-Clause
 * Reads and writes the binary of LogGOPSim, see loggopsim.h. */
#include "compiler/ir/loggopsim.h"

#include "format/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 14, BASE = 8, ROW = 16, NODE = 39 }; /* bytes; positions in the file count from BASE */
enum { SEND = 1, RECV = 2, CALC = 3 };

/* ---- reading ---- */

/* A part of the file that is read in order. `bad` is set once something lies outside. */
struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t take(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)r->at[i] << 8 * i;
	r->at += bytes;
	return v;
}

static uint32_t take_u32(struct reader *r)
{
	return (uint32_t)take(r, 4);
}

/* Opens the part from begin to end, which the table of ranks gives. */
static struct reader open_part(const unsigned char *file, size_t size, uint64_t begin, uint64_t end)
{
	const uint64_t len = size - BASE;
	const bool bad = begin > end || end > len;

	return (struct reader){ file + BASE + (bad ? 0 : begin), file + BASE + (bad ? 0 : end), bad };
}

/* The ops that depend on one op: where they are in the list of the rank. */
struct dependents {
	uint32_t n[2], at[2]; /* requires, irequires */
};

static int refuse(struct text *why, uint32_t rank, const char *what)
{
	text_add(why, "rank %u: %s", rank, what);
	return -ERR_CORRUPT;
}

static void read_op(struct reader *in, struct bin_op *op, struct dependents *d)
{
	unsigned type;

	take_u32(in); /* the number of dependencies, which the lists give, too */
	type = (unsigned)take(in, 1);
	*op = (struct bin_op){ .kind = type == SEND ? BIN_OP_SEND : type == RECV ? BIN_OP_RECV : BIN_OP_CALC };
	in->bad |= type < SEND || type > CALC;
	op->peer = take_u32(in);
	op->len = take(in, 8);
	op->tag = take_u32(in);
	op->cpu = (uint32_t)take(in, 1);
	op->nic = (uint32_t)take(in, 1);
	if (op->kind == BIN_OP_CALC)
		op->peer = op->tag = op->nic = 0;
	op->buf[0] = op->kind == BIN_OP_RECV;
	for (unsigned k = 0; k < 2; k++) {
		d->n[k] = take_u32(in);
		d->at[k] = take_u32(in);
	}
}

/* Adds the dependencies that the lists give. */
static int read_lists(struct reader *in, const struct dependents *d, struct ir_rank *r)
{
	const uint64_t words = (uint64_t)(in->end - in->at) / 4;
	VEC(struct bin_dep) deps = { 0 };
	int err = 0;

	for (uint64_t i = 0; i < 2 * (uint64_t)r->nops && !err; i++) {
		const uint32_t on = (uint32_t)(i / 2), n = d[on].n[i % 2], at = d[on].at[i % 2];

		if (n && (at > words || n > words - at))
			err = -ERR_CORRUPT;
		for (uint32_t k = 0; k < n && !err; k++) {
			struct reader one = { in->at + ((size_t)at + k) * 4, in->end, false };
			const uint32_t op = take_u32(&one);

			err = op < r->nops ? VEC_PUSH(&deps, (struct bin_dep){ op, on | (i % 2 ? BIN_START : 0) }) : -ERR_CORRUPT;
		}
	}
	if (!err && deps.n > UINT32_MAX)
		err = -ERR_CORRUPT;
	err = err ? err : ir_rank_set_deps(r, deps.at, (uint32_t)deps.n);
	VEC_FREE(&deps);
	return err;
}

/* Checks what the checks of graphs take for granted. */
static int check_ops(const struct ir_graph *g, uint32_t rank, struct text *why)
{
	const struct ir_rank *r = &g->ranks[rank];
	uint32_t bad;
	int err = ir_rank_positions(r, NULL, &bad);

	if (err == -ERR_CYCLE)
		text_add(why, "rank %u: the dependencies of op %u form a cycle", rank, bad);
	for (uint32_t i = 0; i < r->nops && !err; i++) {
		const struct bin_op *op = &r->ops[i];

		if (op->len > INT64_MAX)
			err = refuse(why, rank, "a size is too large");
		else if (bin_is_message(op->kind) && op->peer >= g->nranks && !(bin_recvs(op->kind) && op->peer == BIN_ANY))
			err = refuse(why, rank, "a peer is out of range");
	}
	return err == -ERR_CYCLE ? -ERR_CORRUPT : err;
}

static int read_rank(struct reader *in, struct ir_graph *g, uint32_t rank, struct text *why)
{
	struct ir_rank *r = &g->ranks[rank];
	struct dependents *d = NULL;
	uint32_t n = take_u32(in), roots = take_u32(in);
	int err = 0;

	if (in->bad || n > BIN_MAX_OPS || n > (size_t)(in->end - in->at) / NODE || roots > (size_t)(in->end - in->at) / 4)
		return refuse(why, rank, "its part does not lie in the file");
	in->at += (size_t)roots * 4; /* the roots follow from the dependencies */
	r->ops = mem_alloc((n + (size_t)1) * sizeof *r->ops);
	d = mem_alloc((n + (size_t)1) * sizeof *d);
	if (!r->ops || !d)
		err = -ERR_NOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		read_op(in, &r->ops[i], &d[i]);
	if (!err && in->bad)
		err = refuse(why, rank, "an op is malformed");
	r->nops = err ? 0 : n;
	err = err ? err : read_lists(in, d, r);
	if (err == -ERR_CORRUPT && !why->n)
		refuse(why, rank, "a list of dependencies is malformed");
	free(d);
	return err ? err : check_ops(g, rank, why);
}

int loggopsim_read(const void *image, size_t size, struct ir_graph *g, struct text *why)
{
	struct reader in = { image, (const unsigned char *)image + size, false };
	uint32_t n;
	int err = 0;

	*g = (struct ir_graph){ .plain = true, .nbuffers = 2 };
	if (take(&in, 8) != LOGGOPSIM_MAGIC || (n = take_u32(&in)) == 0 || take(&in, 2) > UINT16_MAX || in.bad ||
	    n > (size - HEAD) / ROW) {
		text_add(why, "the header is not one of LogGOPSim");
		return -ERR_CORRUPT;
	}
	g->ranks = mem_calloc(n, sizeof *g->ranks);
	if (!g->ranks)
		return -ERR_NOMEM;
	g->nranks = n;
	for (uint32_t i = 0; i < n && !err; i++) {
		const uint64_t begin = take(&in, 8), end = take(&in, 8);
		struct reader part = open_part(image, size, begin, end);

		err = read_rank(&part, g, i, why);
	}
	return err;
}

/* ---- writing ---- */

struct writer {
	unsigned char *at;
};

static void put(struct writer *w, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*w->at++ = (unsigned char)(v >> 8 * i);
}

static uint32_t count_roots(const struct ir_rank *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nops; i++)
		n += r->dep_at[i] == r->dep_at[i + 1];
	return n;
}

static size_t size_of_rank(const struct ir_rank *r)
{
	return 8 + (size_t)count_roots(r) * 4 + (size_t)r->nops * NODE + (size_t)r->dep_at[r->nops] * 4;
}

/* Makes the lists of dependents: at[2 * i + k] is where those of op i begin, k = 1 for irequires, and list has them all. */
static int make_lists(const struct ir_rank *r, uint32_t **at, uint32_t **list)
{
	const uint32_t n = r->nops;

	*at = mem_calloc(2 * (size_t)n + 2, sizeof **at);
	*list = mem_alloc(((size_t)r->dep_at[n] + 1) * sizeof **list);
	if (!*at || !*list)
		return -ERR_NOMEM;
	for (uint32_t k = 0; k < r->dep_at[n]; k++)
		(*at)[2 * (size_t)(r->deps[k] & ~BIN_START) + (r->deps[k] & BIN_START ? 1 : 0) + 2]++;
	for (size_t i = 2; i < 2 * (size_t)n + 2; i++)
		(*at)[i] += (*at)[i - 1];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1]; k++)
			(*list)[(*at)[2 * (size_t)(r->deps[k] & ~BIN_START) + (r->deps[k] & BIN_START ? 1 : 0) + 1]++] = i;
	return 0;
}

static void write_op(struct writer *w, const struct ir_rank *r, uint32_t i, const uint32_t *at)
{
	const struct bin_op *op = &r->ops[i];
	const bool message = bin_is_message(op->kind);

	put(w, r->dep_at[i + 1] - r->dep_at[i], 4);
	put(w, bin_sends(op->kind) ? SEND : message ? RECV : CALC, 1);
	put(w, message ? op->peer : 0, 4);
	put(w, message || op->kind == BIN_OP_CALC ? op->len : 0, 8);
	put(w, message ? op->tag : 0, 4);
	put(w, op->cpu, 1);
	put(w, op->nic, 1);
	for (unsigned k = 0; k < 2; k++) {
		put(w, at[2 * i + k + 1] - at[2 * i + k], 4);
		put(w, at[2 * i + k], 4);
	}
}

static int write_rank(struct writer *w, const struct ir_rank *r)
{
	uint32_t *at = NULL, *list = NULL;
	int err = make_lists(r, &at, &list);

	put(w, r->nops, 4);
	put(w, count_roots(r), 4);
	for (uint32_t i = 0; i < r->nops; i++)
		if (r->dep_at[i] == r->dep_at[i + 1])
			put(w, i, 4);
	for (uint32_t i = 0; i < r->nops && !err; i++)
		write_op(w, r, i, at);
	for (uint32_t k = 0; k < r->dep_at[r->nops] && !err; k++)
		put(w, list[k], 4);
	free(at);
	free(list);
	return err;
}

/* Finds the highest cpu and nic, which have 8 bits. */
static int find_highest(const struct ir_graph *g, uint32_t *cpu, uint32_t *nic, struct text *why)
{
	*cpu = *nic = 0;
	for (uint32_t rank = 0; rank < g->nranks; rank++)
		for (uint32_t i = 0; i < g->ranks[rank].nops; i++) {
			const struct bin_op *op = &g->ranks[rank].ops[i];

			*cpu = op->cpu > *cpu ? op->cpu : *cpu;
			*nic = op->nic > *nic ? op->nic : *nic;
		}
	if (*cpu <= UINT8_MAX && *nic <= UINT8_MAX)
		return 0;
	text_add(why, "the binary of LogGOPSim has cpus and nics up to 255, and the schedule has %s %u",
		 *cpu > UINT8_MAX ? "cpu" : "nic", *cpu > UINT8_MAX ? *cpu : *nic);
	return -ERR_RANGE;
}

int loggopsim_write(const struct ir_graph *g, void **image, size_t *size, struct text *why)
{
	uint64_t begin = HEAD - BASE + (uint64_t)g->nranks * ROW;
	struct writer w;
	uint32_t cpu, nic;
	int err = find_highest(g, &cpu, &nic, why);

	*size = BASE + (size_t)begin;
	for (uint32_t i = 0; i < g->nranks; i++)
		*size += size_of_rank(&g->ranks[i]);
	w.at = err ? NULL : mem_alloc(*size);
	*image = w.at;
	if (!w.at)
		return err ? err : -ERR_NOMEM;
	put(&w, LOGGOPSIM_MAGIC, 8);
	put(&w, g->nranks, 4);
	put(&w, cpu, 1);
	put(&w, nic, 1);
	for (uint32_t i = 0; i < g->nranks; i++) {
		put(&w, begin, 8);
		begin += size_of_rank(&g->ranks[i]);
		put(&w, begin, 8);
	}
	for (uint32_t i = 0; i < g->nranks && !err; i++)
		err = write_rank(&w, &g->ranks[i]);
	if (err) {
		free(*image);
		*image = NULL;
	}
	return err;
}
