/* SPDX-License-Identifier: BSD-3-Clause
 * Graphs of ops: construction, specialisation and topological order. */
#include "compiler/ir/ir.h"

#include "compiler/ir/smcq.h"
#include "format/machine.h"
#include "util/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ir_rank_fini(struct ir_rank *r)
{
	free(r->ops);
	free(r->dep_at);
	free(r->deps);
	free(r->bufsize);
	*r = (struct ir_rank){ 0 };
}

void ir_graph_fini(struct ir_graph *g)
{
	for (uint32_t i = 0; g->ranks && i < g->nranks; i++)
		ir_rank_fini(&g->ranks[i]);
	free(g->ranks);
	VEC_FREE(&g->locs);
	VEC_FREE(&g->names);
	VEC_FREE(&g->name_at);
	smcq_free(g->queues);
	*g = (struct ir_graph){ 0 };
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t sort_unique(uint32_t *v, uint32_t n)
{
	uint32_t m = 0;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t x = v[i], k = i;

		if (v[i - 1] <= x)
			continue;
		if (n > 32) {
			qsort(v, n, sizeof *v, by_value);
			break;
		}
		for (; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
	for (uint32_t i = 0; i < n; i++)
		if (m == 0 || v[m - 1] != v[i])
			v[m++] = v[i];
	return m;
}

int ir_rank_set_deps(struct ir_rank *r, const struct bin_dep *edges, uint32_t n)
{
	uint32_t *at = mem_calloc((size_t)r->nops + 2, sizeof *at);
	uint32_t *deps = mem_alloc((size_t)n * sizeof *deps);
	uint32_t out = 0;
	uint64_t last = 0;
	bool sorted = true;

	if (!at || !deps) {
		free(at);
		free(deps);
		return -ERR_NOMEM;
	}
	/* at[i + 1] becomes the index of op i's first slot. */
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = ((uint64_t)edges[i].op << 32 | edges[i].on) + 1;

		at[edges[i].op + 2]++;
		deps[i] = edges[i].on;
		sorted &= key > last;
		last = key;
	}
	for (uint32_t i = 2; i < r->nops + 2; i++)
		at[i] += at[i - 1];
	if (sorted) { /* the usual case */
		memmove(at, at + 1, ((size_t)r->nops + 1) * sizeof *at);
		goto out;
	}
	/* Counting sort by op: at[i + 1] runs through the slots of op i. */
	for (uint32_t i = 0; i < n; i++)
		deps[at[edges[i].op + 1]++] = edges[i].on;
	for (uint32_t i = 0; i < r->nops; i++) {
		uint32_t from = at[i], len = sort_unique(deps + from, at[i + 1] - from);

		if (out != from)
			memmove(deps + out, deps + from, len * sizeof *deps);
		at[i] = out;
		out += len;
	}
	at[r->nops] = out;
out:
	free(r->dep_at);
	free(r->deps);
	r->dep_at = at;
	r->deps = deps;
	return 0;
}

/* Renumbers ops and dependencies. Removes ops that another op replaces (by[i] != i), and dependencies of an op on itself. */
static int renumber_ops(struct ir_rank *r, const uint32_t *to, const uint32_t *by)
{
	struct bin_op *ops = mem_resize(NULL, r->nops, sizeof *ops);
	VEC(struct bin_dep) edges = { 0 };
	uint32_t n = 0;
	int err = ops ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < r->nops && !err; i++) {
		if (!by || by[i] == i) {
			ops[to[i]] = r->ops[i];
			n++;
		}
		for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1] && !err; k++) {
			uint32_t on = to[r->deps[k] & ~BIN_START];

			if (on != to[i])
				err = VEC_PUSH(&edges, (struct bin_dep){ to[i], on | (r->deps[k] & BIN_START) });
		}
	}
	if (!err) {
		free(r->ops);
		r->ops = ops;
		r->nops = n;
		ops = NULL;
		err = ir_rank_set_deps(r, edges.at, (uint32_t)edges.n);
	}
	VEC_FREE(&edges);
	free(ops);
	return err;
}

int ir_rank_reorder(struct ir_rank *r, const uint32_t *position)
{
	return renumber_ops(r, position, NULL);
}

void ir_rank_renumbering(const struct ir_rank *r, const uint32_t *by, uint32_t *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nops; i++)
		if (by[i] == i)
			to[i] = n++;
	for (uint32_t i = 0; i < r->nops; i++)
		to[i] = to[by[i]];
}

int ir_rank_replace(struct ir_rank *r, const uint32_t *by)
{
	uint32_t *to = mem_resize(NULL, r->nops, sizeof *to);
	int err;

	if (!to)
		return -ERR_NOMEM;
	ir_rank_renumbering(r, by, to);
	err = renumber_ops(r, to, by);
	free(to);
	return err;
}

int ir_rank_positions(const struct ir_rank *r, uint32_t *pos, uint32_t *bad)
{
	uint32_t n = r->nops, head = 0, tail = 0, m = r->dep_at[n];
	bool forward = false;

	for (uint32_t i = 0; i < n; i++) {
		if (pos)
			pos[i] = i;
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			forward |= (r->deps[d] & ~BIN_START) >= i;
	}
	if (!forward)
		return 0;
	/* Kahn's algorithm: successors by counting sort, then ops in the order in which they become ready. */
	uint32_t *succ_at = mem_calloc((size_t)n + 2, sizeof *succ_at);
	uint32_t *succ = mem_alloc((size_t)m * sizeof *succ);
	uint32_t *wait = mem_alloc((size_t)n * sizeof *wait), *queue = mem_alloc((size_t)n * sizeof *queue);
	int err = succ_at && succ && wait && queue ? 0 : -ERR_NOMEM;

	if (!err) {
		for (uint32_t d = 0; d < m; d++)
			succ_at[(r->deps[d] & ~BIN_START) + 2]++;
		for (uint32_t i = 2; i < n + 2; i++)
			succ_at[i] += succ_at[i - 1];
		for (uint32_t i = 0; i < n; i++) {
			wait[i] = r->dep_at[i + 1] - r->dep_at[i];
			for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
				succ[succ_at[(r->deps[d] & ~BIN_START) + 1]++] = i;
			if (!wait[i])
				queue[tail++] = i;
		}
		while (head < tail) {
			uint32_t i = queue[head];

			if (pos)
				pos[i] = head;
			head++;
			for (uint32_t s = succ_at[i]; s < succ_at[i + 1]; s++)
				if (--wait[succ[s]] == 0)
					queue[tail++] = succ[s];
		}
		if (tail < n) {
			uint32_t i = 0, next = 0;

			while (!wait[i])
				i++;
			/* A walk backwards among the ops that still wait must visit some op twice. That op is on a
			 * cycle. */
			for (uint32_t step = 0; step <= n; step++) {
				for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
					if (wait[r->deps[d] & ~BIN_START])
						next = r->deps[d] & ~BIN_START;
				i = next;
			}
			*bad = i;
			err = -ERR_CYCLE;
		}
	}
	free(succ_at);
	free(succ);
	free(wait);
	free(queue);
	return err;
}

/* Working memory for the ops of a rank, before they are copied to memory of their exact size. While the ops are
 * few, the memory is on the stack. It is reused from rank to rank, and a rank begins with room for as many ops as the
 * previous rank had. */
#define ROOM_OPS 128u
#define ROOM_DEPS 320u
struct room {
	struct bin_op *ops, few_ops[ROOM_OPS];
	struct bin_dep *deps, few_deps[ROOM_DEPS];
	uint64_t *scratch, few_scratch[4096];
	uint32_t ops_cap, deps_cap;
	size_t scratch_size;
	uint32_t had_ops, had_deps; /* numbers of ops and dependencies of the previous rank */
};

static void room_init(struct room *room)
{
	room->ops = room->few_ops;
	room->deps = room->few_deps;
	room->scratch = room->few_scratch;
	room->ops_cap = ROOM_OPS;
	room->deps_cap = ROOM_DEPS;
	room->scratch_size = sizeof room->few_scratch;
	room->had_ops = room->had_deps = 0;
}

static void room_fini(struct room *room)
{
	if (room->ops != room->few_ops)
		free(room->ops);
	if (room->deps != room->few_deps)
		free(room->deps);
	if (room->scratch != room->few_scratch)
		free(room->scratch);
	room_init(room);
}

/* Replaces *at by larger memory if the old has fewer than size bytes. */
static int room_take(void **at, const void *few, size_t had, size_t size)
{
	if (size <= had)
		return 0;
	if (*at != few)
		free(*at);
	*at = mem_alloc(size);
	return *at ? 0 : -ERR_NOMEM;
}

/* Gives sp memory for its capacities. */
static int take_room(const struct bin *b, struct bin_space *sp, struct room *room)
{
	const size_t scratch = bin_scratch_size(b, sp->ops_cap, sp->deps_cap);
	int err = room_take((void **)&room->ops, room->few_ops, room->ops_cap * sizeof *sp->ops, sp->ops_cap * sizeof *sp->ops);

	err = err ? err : room_take((void **)&room->deps, room->few_deps, room->deps_cap * sizeof *sp->deps,
				    sp->deps_cap * sizeof *sp->deps);
	err = err ? err : room_take((void **)&room->scratch, room->few_scratch, room->scratch_size, scratch);
	if (err)
		return err;
	room->ops_cap = sp->ops_cap > room->ops_cap ? sp->ops_cap : room->ops_cap;
	room->deps_cap = sp->deps_cap > room->deps_cap ? sp->deps_cap : room->deps_cap;
	room->scratch_size = scratch > room->scratch_size ? scratch : room->scratch_size;
	sp->ops = room->ops;
	sp->deps = room->deps;
	sp->scratch = room->scratch;
	return 0;
}

/* Copies the ops and dependencies to memory that the caller keeps. */
static int keep(struct ir_rank *r, const struct bin_space *sp, struct room *room)
{
	r->nops = room->had_ops = sp->nops;
	room->had_deps = sp->ndeps;
	r->ops = mem_alloc(sp->nops * sizeof *r->ops);
	if (!r->ops)
		return -ERR_NOMEM;
	memcpy(r->ops, sp->ops, sp->nops * sizeof *r->ops);
	return ir_rank_set_deps(r, sp->deps, sp->ndeps);
}

static uint32_t room_for(uint32_t had, uint32_t least)
{
	const uint32_t some = had + had / 4;

	return some > least ? some : least;
}

/* A program with more ops than this is counted before memory for its ops is allocated. */
#define COUNT_OPS (1u << 15)

static uint32_t larger(uint32_t a, uint64_t b, uint64_t most)
{
	return (uint32_t)(b > most ? most : b > a ? b : a);
}

/* Raises the capacities after -ERR_SPACE. Returns -ERR_SPACE if the program has more ops than allowed. The ops of a large
 * program are counted first, so that a program with too many ops does not cost much memory. */
static int more_room(const struct bin *b, const struct bin_args *args, bool result, struct bin_space *sp)
{
	const uint64_t most = args->most_ops ? args->most_ops : BIN_USUAL_OPS;
	/* Nops that stand for the ends of calls are added to these numbers. */
	const uint64_t most_ops = 2 * most + COUNT_OPS, most_deps = 2 * BIN_USUAL_DEPS * most + COUNT_OPS;
	const uint32_t ops = sp->ops_cap, deps = sp->deps_cap;
	int err;

	if (!(b->meta->flags & BIN_F_PARAMETRIC)) { /* the exact numbers are known */
		sp->ops_cap = sp->nops + 1;
		sp->deps_cap = sp->ndeps + 1;
		return sp->nops > most ? -ERR_SPACE : 0;
	}
	if (ops < COUNT_OPS) {
		sp->ops_cap = 4 * ops;
		sp->deps_cap = larger(deps, 4 * (uint64_t)deps, most_deps);
		return 0;
	}
	sp->scratch = mem_alloc(bin_scratch_size(b, 0, 0));
	err = sp->scratch ? bin_count_ops(b, args, result, sp) : -ERR_NOMEM;
	free(sp->scratch);
	sp->scratch = NULL;
	sp->ops_cap = larger(ops, sp->nops + 1ull, most_ops);
	sp->deps_cap = larger(deps, sp->ndeps + 1ull, most_deps);
	if (err || sp->ops_cap > ops || sp->deps_cap > deps)
		return err;
	sp->ops_cap = larger(ops, 2ull * ops, most_ops);
	sp->deps_cap = larger(deps, 2ull * deps, most_deps);
	return sp->ops_cap > ops || sp->deps_cap > deps ? 0 : -ERR_SPACE;
}

typedef int ops_of(const struct bin *b, const struct bin_args *args, struct bin_space *sp);

static int specialise_rank(ops_of *get, const struct bin *b, const struct bin_args *args, struct ir_rank *r,
			   struct ir_fault *fault, struct room *room)
{
	struct bin_space sp = { .ops_cap = room_for(room->had_ops, ROOM_OPS), .deps_cap = room_for(room->had_deps, ROOM_DEPS) };
	const uint32_t most = args->most_ops ? args->most_ops : BIN_USUAL_OPS;
	int err;

	*r = (struct ir_rank){ 0 };
	r->bufsize = mem_alloc(b->nbuffers * sizeof *r->bufsize);
	sp.bufsize = r->bufsize;
	for (;;) {
		err = r->bufsize ? take_room(b, &sp, room) : -ERR_NOMEM;
		if (!err)
			err = get(b, args, &sp);
		if (err != -ERR_SPACE)
			break;
		err = more_room(b, args, get == bin_result_ops, &sp);
		if (err)
			break;
	}
	if (!err && sp.nops > most) { /* known only now, behind the op that is one too many */
		err = -ERR_SPACE;
		sp.where = BIN_NONE;
	}
	if (err == -ERR_SPACE)
		sp.value[0] = most;
	err = err ? err : keep(r, &sp, room);
	if (fault)
		*fault = (struct ir_fault){ sp.where, sp.what, { sp.value[0], sp.value[1], sp.value[2] },
					    sp.steps, "" };
	if (err)
		ir_rank_fini(r);
	return err;
}

static int specialise_one(ops_of *get, const struct bin *b, const struct bin_args *args, struct ir_rank *r,
			  struct ir_fault *fault)
{
	struct room room;
	int err;

	room_init(&room);
	err = specialise_rank(get, b, args, r, fault, &room);
	room_fini(&room);
	return err;
}

int ir_rank_specialise(const struct bin *b, const struct bin_args *args, struct ir_rank *r, struct ir_fault *fault)
{
	return specialise_one(bin_rank_ops, b, args, r, fault);
}

int ir_rank_result(const struct bin *b, const struct bin_args *args, struct ir_rank *r, struct ir_fault *fault)
{
	return specialise_one(bin_result_ops, b, args, r, fault);
}

/* Copies a row without the values that only the root knows. */
static void without_root(const struct bin *b, const struct bin_arg *row, struct bin_arg *out)
{
	for (uint32_t i = 0; i < b->nparams; i++)
		out[i] = b->params[i].scope == BIN_ROOTONLY ? (struct bin_arg){ 0 } : row[i];
}

int ir_rows_init(struct ir_rows *rows, const struct bin *b, const struct bin_args *args)
{
	const struct bin_arg *first = args->by_rank ? args->by_rank[0] : args->args;
	const int64_t root = bin_root(b, first);
	bool rootonly = false;
	size_t copies = 0, n = 1;

	for (uint32_t i = 0; i < b->nparams; i++)
		rootonly |= b->params[i].scope == BIN_ROOTONLY;
	rootonly &= first && root >= 0;
	for (uint32_t r = 0; r < args->size && rootonly; r++) /* ranks that share the first row share its copy */
		copies += !r || (args->by_rank && args->by_rank[r] != first);
	*rows = (struct ir_rows){ mem_alloc(args->size * sizeof *rows->by_rank),
				  mem_alloc(copies * b->nparams * sizeof *rows->own) };
	if (!rows->by_rank || !rows->own) {
		ir_rows_fini(rows);
		return -ERR_NOMEM;
	}
	if (rootonly)
		without_root(b, first, rows->own);
	for (uint32_t r = 0; r < args->size; r++) {
		const struct bin_arg *row = args->by_rank ? args->by_rank[r] : first;
		struct bin_arg *copy = rows->own;

		if (rootonly && row != first) {
			copy += n++ * b->nparams;
			without_root(b, row, copy);
		}
		rows->by_rank[r] = rootonly && r != root ? copy : row;
	}
	return 0;
}

void ir_rows_fini(struct ir_rows *rows)
{
	free(rows->by_rank);
	free(rows->own);
	*rows = (struct ir_rows){ 0 };
}

/* After a fault in one rank, runs the later ranks to find a failed assertion. An assertion says that the schedule is
 * not meant for these values at all, so it is reported instead of the fault. */
static int find_assertion(const struct bin *b, struct bin_args *a, const struct ir_rows *rows, uint32_t *rank,
			  struct ir_fault *fault, int err)
{
	struct ir_fault other;
	struct ir_rank r;

	for (; a->rank < a->size; a->rank++) {
		int e;

		a->args = rows->by_rank[a->rank];
		e = ir_rank_specialise(b, a, &r, &other);
		ir_rank_fini(&r);
		if (e == -ERR_NOMEM)
			return e;
		if (e == -ERR_ASSERT) {
			*rank = a->rank;
			*fault = other;
			return e;
		}
		if (a->fuel)
			a->fuel = a->fuel > other.steps ? a->fuel - other.steps : 1;
	}
	return err;
}

int ir_graph_specialise(const struct bin *b, const struct bin_args *args, struct ir_graph *g,
			uint32_t *rank, struct ir_fault *fault)
{
	struct bin_args a = *args;
	struct ir_rows rows;
	struct room room;
	int err;

	*g = (struct ir_graph){ .nbuffers = b->nbuffers, .plain = b->meta->flags & BIN_F_PLAIN, .bin = b };
	*rank = 0;
	g->ranks = mem_calloc(args->size, sizeof *g->ranks);
	err = g->ranks ? ir_rows_init(&rows, b, args) : -ERR_NOMEM;
	if (err) {
		ir_graph_fini(g);
		return err;
	}
	room_init(&room);
	for (a.rank = 0; a.rank < args->size && !err; a.rank++) {
		a.args = rows.by_rank[a.rank];
		err = specialise_rank(bin_rank_ops, b, &a, &g->ranks[a.rank], fault, &room);
		if (err)
			*rank = a.rank;
		else
			g->nranks++;
		if (a.fuel) /* 0 would mean the default */
			a.fuel = a.fuel > fault->steps ? a.fuel - fault->steps : 1;
	}
	room_fini(&room);
	if (err && err != -ERR_ASSERT && err != -ERR_NOMEM && err != -ERR_FUEL)
		err = find_assertion(b, &a, &rows, rank, fault, err);
	ir_rows_fini(&rows);
	if (err)
		ir_graph_fini(g);
	return err;
}

int64_t ir_graph_add_scratch(struct ir_graph *g)
{
	uint32_t n = g->nbuffers;

	if (n >= BIN_NOREG - 1)
		return -ERR_RANGE;
	for (uint32_t r = 0; r < g->nranks; r++) {
		uint64_t *size = mem_resize(g->ranks[r].bufsize, n + 1, sizeof *size);

		if (!size)
			return -ERR_NOMEM;
		size[n] = 0;
		g->ranks[r].bufsize = size;
	}
	return g->nbuffers++;
}

struct bin_tmpl ir_tmpl(unsigned kind)
{
	return (struct bin_tmpl){ .kind = (uint8_t)kind,
				  .off = { BIN_NOREG, BIN_NOREG },
				  .len = BIN_NOREG,
				  .peer = BIN_NOREG,
				  .tag = BIN_NOREG,
				  .level = BIN_NOREG,
				  .cpu = BIN_NOREG,
				  .nic = BIN_NOREG,
				  .index = { BIN_NOREG, BIN_NOREG },
				  .label = BIN_NONE };
}

const char *ir_op_word(unsigned kind)
{
	switch (kind) {
#define OP(NAME, number, text, operands) \
	case number:                     \
		return text;
#include "format/ops.def"
#undef OP
	}
	return "?";
}

struct goal_loc ir_graph_loc(const struct ir_graph *g, const struct bin_op *op)
{
	if (g->locs.at && op->line && op->line <= g->locs.n)
		return g->locs.at[op->line - 1];
	return (struct goal_loc){ g->locs.at ? 0 : op->line, op->line ? 1 : 0, (uint16_t)g->file };
}

const char *ir_graph_name(const struct ir_graph *g, const struct bin_op *op)
{
	return op->line && op->line <= g->name_at.n ? g->names.at + g->name_at.at[op->line - 1] : "";
}

/* Finds the op among the labels of a run, whose scratch still has them. */
static bool find_index(const struct bin *b, const struct bin_args *args, struct bin_space *sp, uint32_t op, int32_t index[2])
{
	struct machine m;

	machine_init(&m, b, args, sp); /* divides the scratch as the run has done; the labels are as the run has left them */
	for (const struct instance *in = m.tables + sp->first_slot, *end = in + sp->slots; in < end; in++)
		if (in->label && in->value == op + 1) {
			index[0] = (int32_t)(uint32_t)in->index;
			index[1] = (int32_t)(uint32_t)(in->index >> 32);
			return true;
		}
	return false;
}

unsigned ir_graph_index(const struct ir_graph *g, uint32_t rank, uint32_t op, int32_t index[2])
{
	const struct bin *b = g->bin;
	const struct bin_op *o = &g->ranks[rank].ops[op];
	const struct bin_word *w = g->args.size && !b->ncalls && o->line ? &b->code[o->line - 1] : NULL;
	const struct bin_tmpl *t = w && w->op == BIN_EMIT ? &b->tmpls[w->imm] : NULL;
	struct bin_space sp = { .ops_cap = ROOM_OPS, .deps_cap = ROOM_DEPS };
	struct bin_args a = g->args;
	struct ir_rows rows = { 0 };
	struct room room;
	bool found = false;
	int err;

	if (!t || t->label == BIN_NONE || t->index[0] == BIN_NOREG)
		return 0;
	room_init(&room);
	sp.bufsize = mem_alloc(b->nbuffers * sizeof *sp.bufsize);
	err = sp.bufsize ? ir_rows_init(&rows, b, &g->args) : -ERR_NOMEM;
	a.rank = rank;
	a.args = err ? NULL : rows.by_rank[rank];
	while (!err) {
		err = take_room(b, &sp, &room);
		err = err ? err : bin_rank_ops(b, &a, &sp);
		if (err != -ERR_SPACE)
			break;
		err = more_room(b, &a, false, &sp);
	}
	found = !err && find_index(b, &a, &sp, op, index);
	ir_rows_fini(&rows);
	free(sp.bufsize);
	room_fini(&room);
	return !found ? 0 : t->index[1] == BIN_NOREG ? 1 : 2;
}

int ir_refuse(struct ir_refusal *why, uint32_t rank, uint32_t op, const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return -ERR_PASS;
	*why = (struct ir_refusal){ .rank = rank, .op = op };
	va_start(ap, fmt);
	vsnprintf(why->text, sizeof why->text, fmt, ap);
	va_end(ap);
	return -ERR_PASS;
}
