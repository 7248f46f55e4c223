/* SPDX-License-Identifier: BSD-3-Clause
 * random [-s SEED] [-g GRAPHS]: small graphs at random, against the verifier.
 *
 * A graph that is accepted must end in every execution, and never may two ops be at work on one element at the same
 * time, one writing; what it leaves in the buffers, element by element, is a claim that the verifier must accept, and
 * with one change must refuse. A graph that is rejected must do one of these things in some execution: ops that are
 * not ordered overlap in one of them, since what starts and what completes are events in a partial order, and any order
 * that it leaves open may happen. What passes make of an accepted graph must do the same. */
#include "compiler/collectives/collective.h"
#include "compiler/ir/smcq.h"
#include "compiler/passes/passes.h"
#include "compiler/verify/verify.h"
#include "format/check.h"
#include "tests/mutants/exec.h"
#include "tests/mutants/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFERS 4u
#define SIZE 4u /* elements of each */
#define RANKS 4u
#define OPS 8u /* of a rank at most */
#define MOST 24u /* contributions to an element that are followed */
#define SEEDS 200u /* executions of what is accepted */
#define SEEDS_REJECTED 20000u

static const struct bin_buffer buffers[BUFFERS] = {
	{ .name = 1, .mode = BIN_IN }, { .name = 3, .mode = BIN_INOUT },
	{ .name = 5, .mode = BIN_OUT }, { .name = 7, .mode = BIN_SCRATCH },
};
static const char strings[] = "\0a\0b\0c\0x\0MPI_Barrier";
#define BARRIER 9u /* in strings */

static uint64_t draw(uint64_t *random, uint64_t n)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 20) % n;
}

/* ---- a graph ---- */

struct graph {
	struct bin bin;
	struct bin_meta meta;
	struct ir_graph g;
	struct ir_rank ranks[RANKS];
	struct bin_op ops[RANKS][OPS];
	uint64_t sizes[BUFFERS];
};

static void range(uint64_t *random, struct bin_op *op, unsigned k, bool write)
{
	op->buf[k] = (uint16_t)(write ? 1 + draw(random, BUFFERS - 1) : draw(random, BUFFERS));
	op->off[k] = draw(random, SIZE + 1 - op->len);
}

static void add_message(struct graph *x, uint64_t *random)
{
	static const uint8_t recvs[] = { BIN_OP_RECV, BIN_OP_RECV, BIN_OP_RECV_REDUCE, BIN_OP_RECV_REDUCE_WITH };
	uint32_t src = (uint32_t)draw(random, x->g.nranks), dst = (uint32_t)draw(random, x->g.nranks);
	struct ir_rank *s = &x->ranks[src], *d = &x->ranks[dst];
	struct bin_op op = { .kind = BIN_OP_SEND, .peer = dst, .tag = (uint32_t)draw(random, 2), .len = draw(random, 3) };

	if (s->nops + (src == dst) >= OPS || d->nops >= OPS)
		return;
	range(random, &op, 0, false);
	s->ops[s->nops++] = op;
	op.kind = recvs[draw(random, sizeof recvs)];
	op.peer = src;
	range(random, &op, 0, true);
	d->ops[d->nops++] = op;
}

static void add_local(struct graph *x, uint64_t *random)
{
	static const uint8_t kinds[] = { BIN_OP_COPY,	     BIN_OP_COPY, BIN_OP_REDUCE,
					 BIN_OP_REDUCE_WITH, BIN_OP_NOP,  BIN_OP_CALC };
	struct ir_rank *r = &x->ranks[draw(random, x->g.nranks)];
	struct bin_op op = { .kind = kinds[draw(random, sizeof kinds)] };

	if (r->nops == OPS)
		return;
	if (bin_nranges(op.kind)) {
		op.len = draw(random, 4) ? 1 + draw(random, 2) : 0;
		range(random, &op, 0, false);
		range(random, &op, 1, true);
	}
	r->ops[r->nops++] = op;
}

/* Dependencies mostly on what stands before; how many differs from graph to graph. */
static int add_deps(struct ir_rank *r, uint64_t *random, uint64_t dense)
{
	struct bin_dep edges[OPS * OPS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nops; i++)
		for (uint32_t k = 0; k < i; k++)
			if (draw(random, 10) < dense) {
				bool turn = draw(random, 40) == 0;

				edges[n++] = (struct bin_dep){ turn ? k : i,
							       (turn ? i : k) | (draw(random, 5) ? 0 : BIN_START) };
			}
	return ir_rank_set_deps(r, edges, n);
}

static int make(struct graph *x, uint64_t *random)
{
	uint64_t dense = draw(random, 10), nops;

	*x = (struct graph){ 0 };
	x->meta.flags = draw(random, 4) ? 0 : BIN_F_COMMUTATIVE;
	x->meta.implements = draw(random, 8) ? 0 : BARRIER;
	x->bin = (struct bin){ .meta = &x->meta, .strings = strings, .strings_len = sizeof strings,
			       .buffers = buffers, .nbuffers = BUFFERS };
	x->g = (struct ir_graph){ .nranks = 1 + (uint32_t)draw(random, RANKS), .nbuffers = BUFFERS,
				  .ranks = x->ranks, .bin = &x->bin };
	for (uint32_t b = 0; b < BUFFERS; b++)
		x->sizes[b] = SIZE;
	for (uint32_t r = 0; r < x->g.nranks; r++) {
		x->ranks[r].ops = x->ops[r];
		x->ranks[r].bufsize = x->sizes;
	}
	nops = 1 + draw(random, 3 * x->g.nranks);
	for (uint64_t i = 0; i < nops; i++)
		if (draw(random, 2))
			add_message(x, random);
		else
			add_local(x, random);
	for (uint32_t r = 0; r < x->g.nranks; r++)
		if (add_deps(&x->ranks[r], random, dense))
			return -ERR_NOMEM;
	return 0;
}

static void drop(struct graph *x)
{
	for (uint32_t r = 0; r < x->g.nranks; r++) {
		free(x->ranks[r].dep_at);
		free(x->ranks[r].deps);
	}
}

static void print(const struct graph *x)
{
	printf("# %u ranks%s%s\n", x->g.nranks, x->meta.flags ? ", commutative" : "",
	       x->meta.implements ? ", a barrier" : "");
	for (uint32_t r = 0; r < x->g.nranks; r++)
		for (uint32_t i = 0; i < x->ranks[r].nops; i++) {
			const struct bin_op *op = &x->ranks[r].ops[i];

			printf("# rank %u, op %u: %s", r, i, op->kind == BIN_OP_REDUCE_WITH ? "reduce-with" : ir_op_word(op->kind));
			for (unsigned k = 0; k < bin_nranges(op->kind); k++)
				printf(" %s[%u +: %u]", strings + buffers[op->buf[k]].name, (unsigned)op->off[k],
				       (unsigned)op->len);
			if (bin_is_message(op->kind))
				printf(" peer %u tag %u", op->peer, op->tag);
			for (uint32_t d = x->ranks[r].dep_at[i]; d < x->ranks[r].dep_at[i + 1]; d++)
				printf(" %s %u", x->ranks[r].deps[d] & BIN_START ? "irequires" : "requires",
				       x->ranks[r].deps[d] & ~BIN_START);
			printf("\n");
		}
}

/* ---- two ops at work on one element ---- */

static bool meet(const struct bin_op *a, const struct bin_op *b)
{
	if (!a->len || !b->len)
		return false;
	for (unsigned i = 0; i < bin_nranges(a->kind); i++)
		for (unsigned k = 0; k < bin_nranges(b->kind); k++)
			if ((bin_writes(a->kind, i) || bin_writes(b->kind, k)) && a->buf[i] == b->buf[k] && a->off[i] < b->off[k] + b->len &&
			    b->off[k] < a->off[i] + a->len)
				return true;
	return false;
}

/* An op that does not keep its own two ranges apart. */
static bool meets_itself(const struct bin_op *op)
{
	return bin_nranges(op->kind) == 2 && op->len && op->buf[0] == op->buf[1] && op->off[0] < op->off[1] + op->len &&
	       op->off[1] < op->off[0] + op->len && (op->kind == BIN_OP_COPY || op->off[0] != op->off[1]);
}

static bool raced(const struct graph *x, const struct exec *run)
{
	for (uint32_t r = 0; r < x->g.nranks; r++)
		for (uint32_t i = 0; i < x->ranks[r].nops; i++) {
			uint32_t from, to, b_from, b_to;

			if (meets_itself(&x->ops[r][i]))
				return true;
			exec_touch(run, r, i, &from, &to);
			for (uint32_t k = 0; k < i; k++) {
				exec_touch(run, r, k, &b_from, &b_to);
				if (from < b_to && b_from < to && meet(&x->ops[r][i], &x->ops[r][k]))
					return true;
			}
		}
	return false;
}

/* ---- what the elements hold ---- */

/* Contributions in their order, as (rank * BUFFERS + buffer) * SIZE + element; n past MOST: too many to follow. */
struct value {
	uint32_t n, src[MOST];
};

struct memory {
	struct value at[RANKS][BUFFERS][SIZE];
	struct value sent[RANKS][OPS][SIZE];
};

static struct value join(const struct value *a, const struct value *b)
{
	struct value v = *a;

	for (uint32_t i = 0; i < b->n; i++, v.n++)
		if (v.n < MOST)
			v.src[v.n] = b->src[i];
	return v;
}

/* What an op makes of a, which it reads or has received, and of what is in its last range. */
static void effect(struct memory *m, uint32_t r, const struct bin_op *op, const struct value *a)
{
	const unsigned k = bin_nranges(op->kind) - 1;
	const bool with = op->kind == BIN_OP_REDUCE_WITH || op->kind == BIN_OP_RECV_REDUCE_WITH;
	struct value v[SIZE], *b = &m->at[r][op->buf[k]][op->off[k]];

	for (uint64_t i = 0; i < op->len; i++)
		v[i] = !bin_reduces(op->kind) ? a[i] : with ? join(&b[i], &a[i]) : join(&a[i], &b[i]);
	memcpy(b, v, op->len * sizeof *v);
}

/* The op of the other end: there is one, since the graph was accepted. */
static uint32_t send_of(const struct graph *x, uint32_t dst, uint32_t recv)
{
	const struct bin_op *op = &x->ops[dst][recv];
	uint32_t k = 0, i = 0;

	for (uint32_t n = 0; n < recv; n++)
		k += bin_recvs(x->ops[dst][n].kind) && x->ops[dst][n].peer == op->peer && x->ops[dst][n].tag == op->tag;
	for (;; i++) {
		const struct bin_op *s = &x->ops[op->peer][i];

		if (s->kind == BIN_OP_SEND && s->peer == dst && s->tag == op->tag && k-- == 0)
			return i;
	}
}

/* An execution once more, with contributions for elements. Nothing races: a send reads when it starts, all else happens
 * when it completes. */
static void replay(const struct graph *x, const struct exec *run, struct memory *m)
{
	uint32_t last = 0, from, to;

	for (uint32_t r = 0; r < x->g.nranks; r++)
		for (uint32_t i = 0; i < BUFFERS * SIZE; i++)
			m->at[r][i / SIZE][i % SIZE] = (struct value){ 1, { r * BUFFERS * SIZE + i } };
	for (uint32_t r = 0; r < x->g.nranks; r++)
		for (uint32_t i = 0; i < x->ranks[r].nops; i++) {
			exec_touch(run, r, i, &from, &to);
			last = to > last ? to : last;
		}
	for (uint32_t now = 0; now <= last; now++)
		for (uint32_t r = 0; r < x->g.nranks; r++)
			for (uint32_t i = 0; i < x->ranks[r].nops; i++) {
				const struct bin_op *op = &x->ops[r][i];
				struct value *at = &m->at[r][op->buf[0]][op->off[0]];

				exec_touch(run, r, i, &from, &to);
				if (op->kind == BIN_OP_SEND && from == now)
					memcpy(m->sent[r][i], at, op->len * sizeof *at);
				if (bin_recvs(op->kind) && to == now)
					effect(m, r, op, m->sent[op->peer][send_of(x, r, i)]);
				if (bin_nranges(op->kind) == 2 && to == now)
					effect(m, r, op, at);
			}
}

/* ---- claims ---- */

static bool known(uint32_t src)
{
	uint8_t mode = buffers[src / SIZE % BUFFERS].mode;

	return mode == BIN_IN || mode == BIN_INOUT;
}

/* Whether an element's value can be claimed: all of it was there at the start. */
static bool sound(const struct value *v)
{
	for (uint32_t i = 0; i < v->n && i < MOST; i++)
		if (!known(v->src[i]))
			return false;
	return v->n <= MOST;
}

static int claim(struct expected *w, uint32_t buf, uint32_t off, const struct value *v)
{
	struct expected_range *last = w->v.n ? &w->v.at[w->v.n - 1] : NULL;
	bool on = last && last->buf == buf && last->off + last->len == off && last->nsrc == v->n;

	for (uint32_t i = 0; i < v->n && on; i++) {
		const struct expected_src *s = &w->src.at[last->src + i];

		on = (s->rank * BUFFERS + s->buf) * SIZE + s->off + last->len == v->src[i] &&
		     s->off + last->len < SIZE;
	}
	if (on) {
		last->len++;
		return 0;
	}
	if (VEC_PUSH(&w->v, (struct expected_range){ buf, (uint32_t)w->src.n, v->n, off, 1 }))
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < v->n; i++)
		if (VEC_PUSH(&w->src, (struct expected_src){ v->src[i] / SIZE / BUFFERS, v->src[i] / SIZE % BUFFERS,
							     v->src[i] % SIZE }))
			return -ERR_NOMEM;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool same_value(struct value a, struct value b, bool commutes)
{
	if (a.n != b.n)
		return false;
	if (commutes) {
		qsort(a.src, a.n, sizeof *a.src, by_number);
		qsort(b.src, b.n, sizeof *b.src, by_number);
	}
	return memcmp(a.src, b.src, a.n * sizeof *a.src) == 0;
}

/* Another claim about an element, right only by chance. */
static struct value other_value(const struct graph *x, const struct value *v, uint64_t *random)
{
	struct value o = *v;
	uint32_t i, k;

	if (!sound(v)) /* it holds what nobody knows */
		return (struct value){ 1, { (uint32_t)draw(random, x->g.nranks) * BUFFERS * SIZE } };
	i = (uint32_t)draw(random, o.n);
	k = (uint32_t)draw(random, o.n);
	switch (draw(random, 4)) {
	case 0: /* another contribution */
		o.src[i] = (uint32_t)draw(random, x->g.nranks) * BUFFERS * SIZE + (uint32_t)draw(random, 2 * SIZE);
		break;
	case 1: /* another order */
		o.src[i] = v->src[k];
		o.src[k] = v->src[i];
		break;
	case 2: /* one less */
		if (o.n > 1)
			o.src[i] = o.src[--o.n];
		break;
	case 3: /* one twice */
		if (o.n < MOST)
			o.src[o.n++] = v->src[i];
		break;
	}
	return o;
}

/* Claims all that an execution left, except of element at, of which it says other; not of what is scratch where passes
 * may have used it differently. */
static int all_claims(const struct graph *x, const struct memory *m, uint32_t at, const struct value *other, bool scratch,
		      struct expected *wants)
{
	int err = 0;

	for (uint32_t n = 0; n < x->g.nranks * BUFFERS * SIZE && !err; n++) {
		uint32_t r = n / SIZE / BUFFERS, b = n / SIZE % BUFFERS;
		const struct value *v = n == at ? other : &m->at[r][b][n % SIZE];

		if (sound(v) && (scratch || buffers[b].mode != BIN_SCRATCH))
			err = claim(&wants[r], b, n % SIZE, v);
	}
	return err;
}

static void drop_claims(struct expected *wants)
{
	for (uint32_t r = 0; r < RANKS; r++)
		expected_fini(&wants[r]);
}

/* What the verifier says of a claim about all elements. */
static int verdict(const struct graph *x, const struct memory *m, uint32_t at, const struct value *other, bool *accepted)
{
	struct expected wants[RANKS] = { 0 };
	struct goal_diags *d = goal_diags_new();
	struct verify_report report;
	int err = d ? all_claims(x, m, at, other, true, wants) : -ERR_NOMEM;

	err = err ? err : verify_graph(d, &x->bin, &x->g, wants, &report);
	*accepted = !err && report.proved;
	drop_claims(wants);
	goal_diags_free(d);
	return err;
}

/* ---- one graph ---- */

struct tally {
	uint64_t accepted, claims, refused, races, hangs, early, others;
	uint64_t ready, seen; /* messages that need a signal, and those that came early */
	uint64_t passed, unfit; /* passes whose result is right, and that could not be applied */
	unsigned bad;
};

static void bad(struct tally *t, const struct graph *x, const char *what, const char *detail)
{
	t->bad++;
	printf("# %s: %s\n", what, detail);
	print(x);
}

/* ---- passes ---- */

static const char *const lists[] = {
	"segment:size=1", "fuse", "fuse:wait=1", "reorder", "reduce-deps", "coalesce", "coalesce:most=2", "sparse-rounds",
	"segment:size=1;coalesce:most=1;fuse;reduce-deps;reorder", "coalesce:most=2;sparse-rounds:heavy=2;reorder", "lower-smcq:assist=1", "lower-smcq:assist=1,post=1", "lower-smcq:assist=1,get=1",
};

/* What goalc may find of what a pass left: it says then that the pass cannot be applied. */
static bool may_refuse(const char *why)
{
	return strstr(why, "[deadlock]");
}

/* What a pass left: a graph that goalc takes is a right one. */
static int try_changed(const struct graph *x, const struct ir_graph *g, const struct expected *wants, const char *list,
		       struct tally *t)
{
	struct goal_diags *d = goal_diags_new();
	struct world *w = world_new(g, &x->bin, wants);
	struct exec *run = w ? exec_new(w, g) : NULL;
	struct verify_report report;
	enum exec_end end = EXEC_RIGHT;
	uint32_t rank;
	int err = d && run ? verify_graph(d, &x->bin, g, wants, &report) : -ERR_NOMEM;

	for (uint64_t seed = 0; seed < SEEDS / 4 && !err && report.proved && end == EXEC_RIGHT; seed++)
		end = exec_run(run, seed, &rank);
	t->passed += !err && report.proved;
	t->unfit += !err && !report.proved;
	if (!err && end != EXEC_RIGHT)
		bad(t, x, list, exec_end_words[end]);
	if (!err && !report.proved && !may_refuse(goal_diags_text(d)))
		bad(t, x, list, goal_diags_text(d));
	exec_free(run);
	world_free(w);
	goal_diags_free(d);
	return err;
}

static int try_passes(const struct graph *x, const struct memory *m, struct tally *t)
{
	const struct pass_ctx ctx = { .size = x->g.nranks, .buffers = buffers, .nbuffers = BUFFERS };
	struct expected wants[RANKS] = { 0 };
	int err = all_claims(x, m, UINT32_MAX, NULL, false, wants);

	for (size_t i = 0; i < sizeof lists / sizeof *lists && !err; i++) {
		const char *failed;
		struct ir_graph g;

		err = mutant_init(&g, &x->g, NULL);
		if (err)
			break;
		if (passes_run_graph(lists[i], &g, &ctx, &failed))
			t->unfit++;
		else
			err = try_changed(x, &g, wants, lists[i], t);
		smcq_free(g.queues);
		mutant_fini(&g);
	}
	drop_claims(wants);
	return err;
}

/* ---- an accepted graph, and a rejected one ---- */

static int try_claims(const struct graph *x, const struct exec *run, struct tally *t, uint64_t *random)
{
	static struct memory m;
	const bool commutes = x->meta.flags & BIN_F_COMMUTATIVE;
	bool accepted;
	int err;

	replay(x, run, &m);
	err = verdict(x, &m, UINT32_MAX, NULL, &accepted);
	t->claims++;
	if (!err && !accepted)
		bad(t, x, "a true claim is refused", "");
	for (unsigned i = 0; i < 4 && !err; i++) {
		uint32_t n = (uint32_t)draw(random, x->g.nranks * BUFFERS * SIZE);
		const struct value *v = &m.at[n / SIZE / BUFFERS][n / SIZE % BUFFERS][n % SIZE];
		struct value o;

		if (v->n > MOST)
			continue;
		o = other_value(x, v, random);
		if (same_value(*v, o, commutes))
			continue;
		err = verdict(x, &m, n, &o, &accepted);
		t->refused++;
		if (!err && accepted)
			bad(t, x, "a wrong claim is accepted", "");
	}
	return err ? err : try_passes(x, &m, t);
}

/* An op that starts with its rank, whatever others do: what it waits for takes no time. */
static bool at_once(const struct ir_rank *r, uint32_t op)
{
	for (uint32_t d = r->dep_at[op]; d < r->dep_at[op + 1]; d++) {
		uint32_t on = r->deps[d] & ~BIN_START;
		bool instant = r->ops[on].kind == BIN_OP_NOP || (bin_nranges(r->ops[on].kind) == 2 && !r->ops[on].len);

		if (!at_once(r, on) || (!instant && !(r->deps[d] & BIN_START)))
			return false;
	}
	return true;
}

/* Notes which recvs had not started when their messages left. */
static void note_early(const struct graph *x, const struct exec *run, bool early[RANKS][OPS])
{
	for (uint32_t r = 0; r < x->g.nranks; r++)
		for (uint32_t i = 0; i < x->ranks[r].nops; i++) {
			const struct bin_op *op = &x->ops[r][i];
			uint32_t began = at_once(&x->ranks[r], i) ? exec_rank_began(run, r) : exec_began(run, r, i);

			if (bin_recvs(op->kind) && op->len && exec_began(run, op->peer, send_of(x, r, i)) < began)
				early[r][i] = true;
		}
}

static void compare_early(const struct graph *x, bool early[RANKS][OPS], uint64_t ready, struct tally *t)
{
	uint64_t seen = 0;

	for (uint32_t r = 0; r < x->g.nranks; r++)
		for (uint32_t i = 0; i < x->ranks[r].nops; i++)
			seen += early[r][i];
	t->ready += ready;
	t->seen += seen;
	if (seen > ready)
		bad(t, x, "a message that is said to be safe", "came before its recv");
}

static int try_accepted(const struct graph *x, struct exec *run, uint64_t ready, struct tally *t, uint64_t *random)
{
	bool early[RANKS][OPS] = { 0 };
	uint64_t n, *first = NULL;
	uint32_t rank;
	int err = 0;

	t->accepted++;
	for (uint64_t seed = 0; seed < SEEDS && !err; seed++) {
		enum exec_end end = exec_run(run, seed, &rank);
		const uint64_t *memory = exec_memory(run, &n);

		if (end != EXEC_RIGHT || raced(x, run) || (first && memcmp(first, memory, n * sizeof *first) != 0)) {
			bad(t, x, "accepted", end == EXEC_RIGHT ? "a race" : exec_end_words[end]);
			break;
		}
		note_early(x, run, early);
		if (!first) {
			first = mem_alloc(n * sizeof *first);
			err = first ? try_claims(x, run, t, random) : -ERR_NOMEM;
			if (first)
				memcpy(first, memory, n * sizeof *first);
		}
	}
	compare_early(x, early, ready, t);
	free(first);
	return err;
}

static void try_rejected(const struct graph *x, struct exec *run, const char *why, struct tally *t)
{
	uint32_t rank;

	if (!strstr(why, "[race]") && !strstr(why, "[deadlock]") && !strstr(why, "[result]")) {
		t->others++;
		return;
	}
	for (uint64_t seed = 0; seed < SEEDS_REJECTED; seed++) {
		enum exec_end end = exec_run(run, seed, &rank);

		if (end == EXEC_HANG)
			t->hangs++;
		else if (end == EXEC_EARLY)
			t->early++;
		else if (end == EXEC_RIGHT && raced(x, run))
			t->races++;
		else
			continue;
		return;
	}
	bad(t, x, "rejected, but never a fault is seen", why);
}

static int one_graph(struct tally *t, uint64_t *random)
{
	struct graph x;
	struct goal_diags *d = goal_diags_new();
	struct verify_report report;
	struct world *w = NULL;
	struct exec *run = NULL;
	int err = make(&x, random);

	err = err ? err : d ? verify_graph(d, &x.bin, &x.g, NULL, &report) : -ERR_NOMEM;
	if (err)
		goto out;
	w = world_new(&x.g, &x.bin, NULL);
	run = w ? exec_new(w, &x.g) : NULL;
	if (!run)
		err = -ERR_NOMEM;
	else if (report.proved)
		err = try_accepted(&x, run, report.ready, t, random);
	else
		try_rejected(&x, run, goal_diags_text(d), t);
out:
	exec_free(run);
	world_free(w);
	goal_diags_free(d);
	drop(&x);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, graphs = 10000;
	struct tally t = { 0 };
	int c;

	while ((c = getopt(argc, argv, "s:g:")) != -1)
		switch (c) {
		case 's':
			seed = strtoull(optarg, NULL, 10);
			break;
		case 'g':
			graphs = strtoull(optarg, NULL, 10);
			break;
		default:
			return 2;
		}
	for (uint64_t i = 0; i < graphs && t.bad < 5; i++) {
		uint64_t random = (seed + i) * 2654435761u + 88172645463325252u;

		if (one_graph(&t, &random)) {
			printf("# out of memory\n");
			return 1;
		}
	}
	printf("%llu graphs: %llu accepted, with %llu true and %llu wrong claims; %llu race, %llu hang, %llu leave a barrier, %llu else; "
	       "%llu passes applied, %llu could not be; %llu messages need a signal, %llu came early\n",
	       (unsigned long long)graphs, (unsigned long long)t.accepted, (unsigned long long)t.claims,
	       (unsigned long long)t.refused, (unsigned long long)t.races, (unsigned long long)t.hangs,
	       (unsigned long long)t.early, (unsigned long long)t.others, (unsigned long long)t.passed, (unsigned long long)t.unfit,
	       (unsigned long long)t.ready, (unsigned long long)t.seen);
	return t.bad != 0;
}
