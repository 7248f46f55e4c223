/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the verifier against the same done slowly: terms, what comes before what, data, races. */
#include "compiler/analysis/race.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "compiler/verify/verify.h"
#include "compiler/verify/verify_parts.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % n);
}

/* ---- terms ---- */

static struct value op(struct terms *t, struct value x, struct value y)
{
	struct value v = { 0, 0 };

	CU_ASSERT(!terms_op(t, x, y, &v));
	return v;
}

static bool same_sum(const struct terms *t, struct value x, struct value y)
{
	int64_t x_at, y_at;
	uint32_t sx = terms_sum(t, x, &x_at), sy = terms_sum(t, y, &y_at);

	return sx == sy && sx != TERMS_TOO_MANY && x_at == y_at;
}

static void terms_are_kept_once(void)
{
	struct terms *t = terms_new(8, 2, false, 8);
	struct value a = terms_leaf(t, 0, 1, 5), b = terms_leaf(t, 1, 1, 5), c = terms_leaf(t, 2, 1, 5);
	struct value left = op(t, op(t, a, b), c), right = op(t, a, op(t, b, c)), again = op(t, op(t, a, b), c), far;

	CU_ASSERT(left.term == again.term && left.at == again.at);
	CU_ASSERT(left.term != right.term);
	CU_ASSERT(same_sum(t, left, right));
	CU_ASSERT(!same_sum(t, left, op(t, op(t, b, a), c)));
	CU_ASSERT(!same_sum(t, left, op(t, a, b)));
	/* Further on in all buffers it is the same term. */
	a.at = b.at = c.at = 7;
	far = op(t, op(t, a, b), c);
	CU_ASSERT(far.term == left.term && far.at == left.at + 2);
	CU_ASSERT(!same_sum(t, far, left));
	/* And another where only one is. */
	c.at = 8;
	CU_ASSERT(op(t, op(t, a, b), c).term != left.term);
	terms_free(t);
}

static void terms_that_are_wanted(void)
{
	struct terms *t = terms_new(8, 1, false, 4);
	struct term_run parts[4] = { { 2, 0, 1, 1, 3 }, { 3, 0, 1, 1, 3 }, { 4, 0, 1, 1, 3 }, { 0, 0, 1, 1, 9 } };
	struct value v = terms_leaf(t, 2, 0, 3);
	uint32_t sum;
	int64_t at, place;

	v = op(t, v, op(t, terms_leaf(t, 3, 0, 3), op(t, terms_leaf(t, 4, 0, 3), terms_leaf(t, 0, 0, 9))));
	CU_ASSERT(!terms_expected(t, parts, 4, &sum, &at));
	CU_ASSERT(terms_sum(t, v, &place) == sum && place == at);
	CU_ASSERT(!terms_expected(t, parts, 1, &sum, &at));
	CU_ASSERT(terms_sum(t, terms_leaf(t, 2, 0, 3), &place) == sum && place == at);
	/* One that is too long grows no further. */
	for (int i = 0; i < 100; i++)
		v = op(t, v, v);
	CU_ASSERT(terms_sum(t, v, &place) == TERMS_TOO_MANY);
	terms_free(t);
}

static void terms_that_commute(void)
{
	struct terms *t = terms_new(16, 1, true, 16);
	struct value even = terms_leaf(t, 0, 0, 1), odd = terms_leaf(t, 15, 0, 1), all, other = terms_leaf(t, 0, 0, 1);
	struct term_run parts[3] = { { 1, 0, 1, 1, 0 }, { 0, 0, 1, 1, 0 }, { 1, 0, 1, 1, 0 } };
	struct value zero = terms_leaf(t, 0, 0, 0), one = terms_leaf(t, 1, 0, 0);
	uint32_t sum;
	int64_t at, place;

	for (uint32_t r = 2; r < 16; r += 2)
		even = op(t, terms_leaf(t, r, 0, 1), even);
	for (uint32_t r = 1; r < 15; r += 2)
		odd = op(t, odd, terms_leaf(t, r, 0, 1));
	all = op(t, odd, even);
	for (uint32_t r = 1; r < 16; r++)
		other = op(t, other, terms_leaf(t, r, 0, 1));
	CU_ASSERT(same_sum(t, all, other));
	CU_ASSERT(op(t, even, odd).term == all.term);
	/* Once is not twice. */
	CU_ASSERT(!terms_expected(t, parts, 3, &sum, &at));
	CU_ASSERT(terms_sum(t, op(t, op(t, one, zero), one), &place) == sum && place == at);
	CU_ASSERT(terms_sum(t, op(t, one, zero), &place) != sum);
	CU_ASSERT(terms_sum(t, op(t, all, zero), &place) == TERMS_TOO_MANY);
	terms_free(t);
}

/* ---- before ---- */

#define EVENTS 2800u /* more than the sources of two walks */

static void reach_is_exact(void)
{
	static bool before[EVENTS][EVENTS]; /* [a][b]: a comes before b, or is it */
	static struct ir_query q[40000];
	uint32_t *name = malloc(EVENTS * sizeof *name);
	struct ir_events ev = { .n = EVENTS };
	size_t yes = 0;

	/* Sparse enough for long ways; events are not numbered in their order. */
	for (uint32_t i = 0; i < EVENTS; i++)
		name[i] = i;
	for (uint32_t i = EVENTS - 1; i > 0; i--) {
		uint32_t k = draw(i + 1), x = name[i];

		name[i] = name[k];
		name[k] = x;
	}
	/* Two ranks, so that walks within them come first. */
	ev.base = calloc(3, sizeof *ev.base);
	ev.base[1] = EVENTS / 4;
	ev.base[2] = ev.nops = EVENTS / 2;
	ev.nranks = 2;
	ev.pred_at = calloc(EVENTS + 1, sizeof *ev.pred_at);
	ev.pred = malloc(3 * EVENTS * sizeof *ev.pred);
	memset(before, 0, sizeof before);
	for (uint32_t pass = 0; pass < EVENTS; pass++) { /* by number, with the place in the order */
		uint32_t place = 0;

		while (name[place] != pass)
			place++;
		ev.pred_at[pass + 1] = ev.pred_at[pass];
		for (uint32_t k = 0; place && k < draw(4); k++)
			ev.pred[ev.pred_at[pass + 1]++] = name[place - 1 - draw(place < 60 ? place : 60)];
	}
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t e = name[i];

		before[e][e] = true;
		for (uint32_t p = ev.pred_at[e]; p < ev.pred_at[e + 1]; p++)
			for (uint32_t a = 0; a < EVENTS; a++)
				before[a][e] |= before[a][ev.pred[p]];
	}
	CU_ASSERT_FATAL(!ir_events_sort(&ev) && ev.sorted == ev.n);
	for (size_t i = 0; i < sizeof q / sizeof *q; i++)
		q[i] = (struct ir_query){ { draw(EVENTS), draw(2) ? draw(EVENTS) : IR_NO_EVENT },
					  { draw(EVENTS), draw(2) ? draw(EVENTS) : IR_NO_EVENT },
					  false };
	CU_ASSERT(!ir_events_reach(&ev, q, sizeof q / sizeof *q));
	for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
		bool want = false;

		for (int k = 0; k < 4; k++)
			want |= q[i].from[k & 1] != IR_NO_EVENT && q[i].to[k >> 1] != IR_NO_EVENT &&
				before[q[i].from[k & 1]][q[i].to[k >> 1]];
		CU_ASSERT(q[i].yes == want);
		yes += want;
	}
	CU_ASSERT(yes > 1000 && yes < 39000);
	ir_events_fini(&ev);
	free(name);
}

/* ---- random ops of one rank ---- */

#define OPS 24u
#define SIZE 12u
#define LONGEST 64u

/* Two buffers, copies and reduces of ranges that do not overlap, dependencies on some of the ops before. */
static void make_rank(struct ir_graph *g, uint32_t many)
{
	struct ir_rank *r = calloc(1, sizeof *r);
	struct bin_dep edges[OPS * OPS];
	uint32_t n = 0;

	r->nops = OPS;
	r->ops = calloc(OPS, sizeof *r->ops);
	r->bufsize = calloc(2, sizeof *r->bufsize);
	r->bufsize[0] = r->bufsize[1] = SIZE;
	for (uint32_t i = 0; i < OPS; i++) {
		struct bin_op *o = &r->ops[i];

		o->kind = draw(3) ? draw(2) ? BIN_OP_REDUCE : BIN_OP_REDUCE_WITH : BIN_OP_COPY;
		o->buf[1] = 1;
		o->len = draw(5);
		o->off[0] = draw(SIZE - 4);
		o->off[1] = draw(SIZE - 4);
		o->buf[0] = o->off[0] >= o->off[1] + o->len || o->off[1] >= o->off[0] + o->len ? draw(2) : 0;
		for (uint32_t k = 0; k < i; k++)
			if (many == 0 ? k + 1 == i : draw(many) == 0)
				edges[n++] = (struct bin_dep){ i, k | (draw(8) == 0 && many ? BIN_START : 0) };
	}
	CU_ASSERT(!ir_rank_set_deps(r, edges, n));
	*g = (struct ir_graph){ .nranks = 1, .nbuffers = 2, .ranks = r };
}

struct sum {
	uint32_t n;
	struct term_run part[LONGEST];
};

static void add_up(struct sum *to, const struct sum *x, const struct sum *y)
{
	struct sum s = *x;

	for (uint32_t i = 0; i < y->n && s.n < LONGEST; i++)
		s.part[s.n++] = y->part[i];
	*to = s;
}

/* One after the other: every element is what it is by the meaning of the ops. */
static void data_is_exact(void)
{
	static struct sum is[2][SIZE];

	for (int turn = 0; turn < 200; turn++) {
		struct terms *t = terms_new(1, 2, turn & 1, LONGEST - 1);
		struct symbolic run;
		struct ir_events ev;
		struct ir_graph g;

		make_rank(&g, 0);
		CU_ASSERT(!ir_events_init(&ev, &g, NULL, 0, false) && !ir_events_sort(&ev));
		CU_ASSERT(!symbolic_run(&run, &g, &ev, t, true));
		for (uint32_t b = 0; b < 2; b++)
			for (uint32_t i = 0; i < SIZE; i++)
				is[b][i] = (struct sum){ 1, { { 0, b, 1, 1, i } } };
		for (uint32_t i = 0; i < OPS; i++)
			for (uint64_t k = 0; k < g.ranks->ops[i].len; k++) {
				const struct bin_op *o = &g.ranks->ops[i];
				struct sum *a = &is[o->buf[0]][o->off[0] + k], *c = &is[1][o->off[1] + k];

				if (o->kind == BIN_OP_COPY)
					*c = *a;
				else if (o->kind == BIN_OP_REDUCE)
					add_up(c, a, c);
				else
					add_up(c, c, a);
			}
		for (uint32_t b = 0; b < 2; b++)
			for (uint32_t i = 0; i < SIZE; i++) {
				struct sym_initial room;
				const struct sym_map *m = sym_contents(&run, 0, b, &room);
				const struct sym_seg *seg = &m->v.at[sym_find(m, i)];
				int64_t at = 0, place = 0;
				uint32_t sum, has = terms_sum(t, (struct value){ seg->term, i + seg->shift }, &place);

				CU_ASSERT(!terms_expected(t, is[b][i].part, is[b][i].n, &sum, &at));
				CU_ASSERT(is[b][i].n == LONGEST ? has == TERMS_TOO_MANY || !(turn & 1) :
								  has == sum && place == at);
			}
		symbolic_fini(&run);
		ir_events_fini(&ev);
		ir_graph_fini(&g);
		terms_free(t);
	}
}

static bool touch(const struct bin_op *x, const struct bin_op *y)
{
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			if ((i || k) && x->buf[i] == y->buf[k] && x->len && y->len && x->off[i] < y->off[k] + y->len &&
			    y->off[k] < x->off[i] + x->len)
				return true;
	return false;
}

/* A race is told exactly when two ops that touch a common element, one writing, are not ordered. */
static void races_are_exact(void)
{
	unsigned races = 0, fine = 0;

	for (int turn = 0; turn < 3000; turn++) {
		struct goal_diags *d = goal_diags_new();
		bool done[OPS][2 * OPS] = { 0 }; /* op a has completed before event e */
		bool race = false;
		struct ir_graph g;

		make_rank(&g, turn % 3 + 2);
		if (turn % 2) /* fewer elements in common */
			for (uint32_t i = 0; i < OPS; i++)
				g.ranks->ops[i].len = g.ranks->ops[i].len && draw(6) == 0;
		for (uint32_t i = 0; i < OPS; i++) {
			for (uint32_t k = g.ranks->dep_at[i]; k < g.ranks->dep_at[i + 1]; k++) {
				uint32_t on = g.ranks->deps[k] & ~BIN_START, from = 2 * on + !(g.ranks->deps[k] & BIN_START);

				for (uint32_t a = 0; a < OPS; a++)
					done[a][2 * i] |= done[a][from];
			}
			for (uint32_t a = 0; a < OPS; a++)
				done[a][2 * i + 1] = done[a][2 * i] || a == i;
		}
		for (uint32_t i = 0; i < OPS; i++)
			for (uint32_t k = 0; k < i; k++)
				race |= touch(&g.ranks->ops[i], &g.ranks->ops[k]) && !done[k][2 * i];
		CU_ASSERT(!checks_race(d, &g, &checks[check_find("race")], GOAL_ERROR));
		CU_ASSERT((goal_diags_errors(d) != 0) == race);
		races += race;
		fine += !race;
		ir_graph_fini(&g);
		goal_diags_free(d);
	}
	CU_ASSERT(races > 100 && fine > 100);
}

/* ---- what is kept ---- */

/* What bin_open says of one record of PROVED in place of what is there. */
static int open_with(void *image, size_t size, uint32_t at, struct bin_proved p)
{
	struct bin_header *h = image;
	struct bin_section *last = (struct bin_section *)(void *)(h + 1) + h->nsections - 1;
	struct bin_proved *v = (struct bin_proved *)(void *)((char *)image + last->off), was = v[at];
	struct bin b;
	int err;

	v[at] = p;
	last->check = bin_sum(v, last->len);
	h->check = bin_header_sum(h);
	err = bin_open(&b, image, size);
	v[at] = was;
	return err;
}

static void sizes_are_kept(void)
{
	static const char text[] = "schedule s\nrank r of p { nop }\n";
	static const uint32_t sizes[] = { 1, 2, 3, 7, 9, 10 };
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { .unchecked = true };
	void *image, *proved, *again;
	size_t size, more, same;
	struct bin b;

	CU_ASSERT_FATAL(!compile_text(d, "t.goal", text, strlen(text), &o, &image, &size));
	CU_ASSERT_FATAL(!bin_record(image, size, sizes, 6, &proved, &more));
	CU_ASSERT_FATAL(!bin_check(proved, more) && !bin_open(&b, proved, more));
	CU_ASSERT(b.nproved == 3 && b.proved[0].first == 1 && b.proved[0].last == 3 && b.proved[1].first == 7 &&
		  b.proved[1].last == 7 && b.proved[2].first == 9 && b.proved[2].last == 10);
	CU_ASSERT_FATAL(!bin_record(proved, more, sizes, 6, &again, &same));
	CU_ASSERT(same == more && !memcmp(proved, again, more));
	CU_ASSERT(open_with(again, same, 1, (struct bin_proved){ 5, 7 }) == 0);
	CU_ASSERT(open_with(again, same, 1, (struct bin_proved){ 4, 7 }) == -ERR_CORRUPT);
	CU_ASSERT(open_with(again, same, 1, (struct bin_proved){ 2, 7 }) == -ERR_CORRUPT);
	CU_ASSERT(open_with(again, same, 1, (struct bin_proved){ 7, 6 }) == -ERR_CORRUPT);
	CU_ASSERT(open_with(again, same, 1, (struct bin_proved){ 7, 8 }) == -ERR_CORRUPT);
	CU_ASSERT(open_with(again, same, 0, (struct bin_proved){ 0, 3 }) == -ERR_CORRUPT);
	free(image);
	free(proved);
	free(again);
	goal_diags_free(d);
}

/* A proof for all numbers of ranks belongs to its program, and a proof for some takes its place. */
static void proof_is_of_program(void)
{
	static const char text[] = "schedule s\nrank r of p { nop }\n", other[] = "schedule s\nrank r of p { nop; nop }\n";
	static const uint32_t sizes[] = { 4 };
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { .unchecked = true };
	struct bin_proof proof = { .obligations = 5, .n = 3 }, theirs = proof;
	void *image, *foreign, *all, *some, *mixed;
	size_t size, foreign_size, more, less, same;
	struct bin_section *last;
	struct bin_proof *at;
	struct bin b;

	CU_ASSERT_FATAL(!compile_text(d, "t.goal", text, strlen(text), &o, &image, &size));
	CU_ASSERT_FATAL(!compile_text(d, "t.goal", other, strlen(other), &o, &foreign, &foreign_size));
	CU_ASSERT_FATAL(!bin_record_all(image, size, &proof, &all, &more));
	CU_ASSERT_FATAL(!bin_check(all, more) && !bin_open(&b, all, more));
	CU_ASSERT(b.nproved == 1 && b.proved->first == 1 && b.proved->last == INT32_MAX);
	CU_ASSERT(b.proof && b.proof->obligations == 5 && b.proof->n == 3);
	CU_ASSERT_FATAL(!bin_record(all, more, sizes, 1, &some, &less));
	CU_ASSERT(!bin_open(&b, some, less) && !b.proof && b.nproved == 1 && b.proved->first == 4);
	CU_ASSERT_FATAL(!bin_record_all(foreign, foreign_size, &theirs, &mixed, &same));
	CU_ASSERT(theirs.program != proof.program);
	last = (struct bin_section *)(void *)((struct bin_header *)all + 1) + ((struct bin_header *)all)->nsections - 1;
	at = (struct bin_proof *)(void *)((char *)all + last->off);
	at->program = theirs.program;
	last->check = bin_sum(at, last->len);
	((struct bin_header *)all)->check = bin_header_sum(all);
	CU_ASSERT(bin_open(&b, all, more) == -ERR_CORRUPT);
	free(image);
	free(foreign);
	free(all);
	free(some);
	free(mixed);
	goal_diags_free(d);
}

/* ---- multiples ---- */

/* With count 2, 6 or 7. */
struct whole {
	struct ir_graph g;
	struct expected wants[3];
};

static void make_whole(const struct bin *b, int64_t count, struct whole *w)
{
	struct bin_args a = { .size = 3, .count = count };
	struct ir_fault fault;
	struct claim c;

	CU_ASSERT_FATAL(!ir_graph_specialise(b, &a, &w->g, &a.rank, &fault));
	CU_ASSERT_FATAL(!claim_open(&c, b, &fault));
	CU_ASSERT_FATAL(!claim_all_expected(&c, &a, w->wants, &a.rank, &fault));
	claim_close(&c);
}

static void drop_whole(struct whole *w)
{
	for (unsigned r = 0; r < 3; r++)
		expected_fini(&w->wants[r]);
	ir_graph_fini(&w->g);
}

/* Whatever differs in one place is no multiple any more. */
static void multiples_are_exact(void)
{
	static const char text[] = "schedule s implements MPI_Allgather\n"
				   "buffer in a[count]\nbuffer out b[p * count]\nrank r of p {\n"
				   "c: copy a into b[r * count +: count]\n"
				   "for k = 1 to p - 1 {\n"
				   "s[k]: send a to (r + k) mod p tag k\n"
				   "recv b[(r - k) mod p * count +: count] from (r - k) mod p tag k\n"
				   "s[k] requires c\n}\n}\n";
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { .unchecked = true };
	struct whole x, y;
	struct bin_op *op;
	struct ir_rank *r;
	bool missed = false;
	struct bin b;
	void *image;
	size_t size;

	CU_ASSERT_FATAL(!compile_text(d, "t.goal", text, strlen(text), &o, &image, &size));
	CU_ASSERT_FATAL(!bin_open(&b, image, size));
	make_whole(&b, 2, &x);
	make_whole(&b, 6, &y);
#define MULTIPLE verify_multiple(&x.g, x.wants, 3, &y.g, y.wants)
	CU_ASSERT(MULTIPLE && !verify_multiple(&x.g, x.wants, 1, &y.g, y.wants) && !verify_multiple(&x.g, NULL, 3, &y.g, y.wants));
#define OTHER(field) (field++, missed |= MULTIPLE, field--)
	for (unsigned i = 0; i < 3; i++) {
		r = &y.g.ranks[i];
		for (op = r->ops; op < r->ops + r->nops; op++) {
			OTHER(op->kind);
			OTHER(op->len);
			OTHER(op->off[0]);
			OTHER(op->buf[0]);
			if (bin_is_message(op->kind)) {
				OTHER(op->peer);
				OTHER(op->tag);
			} else {
				OTHER(op->off[1]);
				OTHER(op->buf[1]);
			}
		}
		OTHER(r->deps[1]);
		OTHER(r->dep_at[1]);
		OTHER(r->bufsize[0]);
		OTHER(y.wants[i].v.at[1].buf);
		OTHER(y.wants[i].v.at[1].off);
		OTHER(y.wants[i].v.at[1].len);
		OTHER(y.wants[i].v.at[1].src);
		OTHER(y.wants[i].v.at[1].nsrc);
		OTHER(y.wants[i].src.at[1].rank);
		OTHER(y.wants[i].src.at[1].buf);
		OTHER(y.wants[i].src.at[1].off);
	}
	CU_ASSERT(MULTIPLE && !missed);
	drop_whole(&y);
	make_whole(&b, 7, &y);
	CU_ASSERT(!MULTIPLE);
	drop_whole(&x);
	drop_whole(&y);
	free(image);
	goal_diags_free(d);
}

static const struct unit_test tests[] = {
	{ "multiples_are_exact", multiples_are_exact },
	{ "sizes_are_kept", sizes_are_kept },
	{ "proof_is_of_program", proof_is_of_program },
	{ "terms_are_kept_once", terms_are_kept_once },
	{ "terms_that_are_wanted", terms_that_are_wanted },
	{ "terms_that_commute", terms_that_commute },
	{ "reach_is_exact", reach_is_exact },
	{ "data_is_exact", data_is_exact },
	{ "races_are_exact", races_are_exact },
	{ NULL, NULL },
};

const struct unit_suite suite_verify = { "verify", tests };
