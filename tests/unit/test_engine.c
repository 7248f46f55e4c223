/* SPDX-License-Identifier: BSD-3-Clause
 * The dependency engine, driven by executors of all kinds in random turns, over random graphs. */
#include "backends/common/dispatch.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define OPS 40u
#define EPOCHS 5u
#define BIT(class) (1u << (class))

/* What a random schedule did. */
struct bench {
	struct bin_op ops[OPS];
	uint32_t dep_at[OPS + 1], deps[OPS * OPS], ndeps;
	struct be_bind b;
	struct dispatcher e;
	struct be_turn turn;
	struct be_bound bound;
	uint64_t moved; /* in the epochs before */
	uint32_t seed, step;
	uint32_t number[OPS];
	uint32_t polls[OPS]; /* until it is complete; 0: with its issue */
	uint32_t left[OPS];
	uint32_t began[OPS], ended[OPS]; /* steps; 0: not yet */
	unsigned who; /* now making progress */
	bool starting;
	unsigned bad;
};

/* calloc does not align for a turn. */
static struct bench *new_bench(void)
{
	return memset(aligned_alloc(_Alignof(struct bench), sizeof(struct bench)), 0, sizeof(struct bench));
}

static uint32_t draw(struct bench *x, uint32_t n)
{
	x->seed = x->seed * 1664525u + 1013904223u;
	return (x->seed >> 8) % n;
}

static struct bench *bench_of(struct dispatcher *e)
{
	return (struct bench *)((char *)e - offsetof(struct bench, e));
}

/* Whether who makes progress now may carry an op out. */
static bool allowed(const struct bench *x, uint32_t i)
{
	const uint8_t *class = x->e.ops[i].class;

	if (!x->b.helped)
		return true;
	if (class[0] == DISPATCH_EARLY && x->starting)
		return x->who & BE_APP;
	return BIT(class[1]) & x->who;
}

static bool ready(const struct bench *x, uint32_t i)
{
	for (uint32_t d = x->dep_at[i]; d < x->dep_at[i + 1]; d++) {
		uint32_t on = x->deps[d] & ~BIN_START;

		if (!(x->deps[d] & BIN_START ? x->began : x->ended)[on])
			return false;
	}
	return true;
}

static int poll_op(struct dispatcher *e, void *what)
{
	struct bench *x = bench_of(e);
	uint32_t i = *(uint32_t *)what;

	x->bad += !allowed(x, i) || !x->began[i] || x->ended[i];
	if (x->left[i]) {
		x->left[i]--;
		return 0;
	}
	x->ended[i] = ++x->step;
	return 1;
}

static int issue_op(struct dispatcher *e, void *what)
{
	struct bench *x = bench_of(e);
	uint32_t i = *(uint32_t *)what;

	x->bad += x->began[i] || !ready(x, i);
	x->began[i] = ++x->step;
	x->left[i] = x->polls[i];
	return poll_op(e, what);
}

/* What it says about whose ops are left, and how much has happened. */
static void check_told(struct bench *x)
{
	unsigned left = 0;
	uint64_t steps = 0;

	for (uint32_t i = 0; i < OPS; i++) {
		steps += (x->began[i] != 0) + (x->ended[i] != 0);
		if (!x->ended[i] && (x->began[i] || ready(x, i)))
			left |= BIT(x->e.ops[i].class[1]);
	}
	x->bad += x->b.helped && (x->turn.pending != left || x->bound.moved != x->moved + steps);
}

static bool finished(const struct bench *x)
{
	for (uint32_t i = 0; i < OPS; i++)
		if (!x->ended[i])
			return false;
	return true;
}

/* An epoch in which anybody may turn up at any moment. */
static void epoch(struct bench *x)
{
	static const unsigned comers[] = { BE_APP, BE_ANY, BE_OWNER | BE_ANY, BE_ALL };
	uint8_t state[OPS];
	int rc;

	memset(x->began, 0, sizeof x->began);
	memset(x->ended, 0, sizeof x->ended);
	x->starting = true;
	x->who = comers[draw(x, 2) * 3];
	rc = dispatch_start(&x->e, x->who);
	x->starting = false;
	check_told(x);
	/* What the starter may do is done as far as it can be: nothing ready of its own is left. */
	dispatch_states(&x->e, state);
	for (uint32_t i = 0; i < OPS; i++) {
		bool is = state[i] == BE_DONE;

		x->bad += is != (x->ended[i] != 0) || (state[i] == BE_ISSUED) != (x->began[i] && !x->ended[i]);
		x->bad += state[i] == BE_READY && allowed(x, i);
	}
	for (unsigned n = 0; n < 100000 && !rc; n++) {
		x->who = comers[draw(x, 4)];
		rc = dispatch_progress(&x->e, x->who);
		x->bad += rc != finished(x);
		check_told(x);
	}
	x->bad += rc != 1;
	x->moved = x->bound.moved;
}

static void random_graph(struct bench *x)
{
	for (uint32_t i = 0; i < OPS; i++) {
		x->dep_at[i] = x->ndeps;
		for (uint32_t k = 0; k < i; k++)
			if (!draw(x, 12))
				x->deps[x->ndeps++] = k | (draw(x, 3) ? 0 : BIN_START);
		x->polls[i] = draw(x, 2) * draw(x, 6);
	}
	x->dep_at[OPS] = x->ndeps;
}

static void make(struct bench *x, bool helped)
{
	static const struct be_layout bytes = { .basic = 1 };

	x->b = (struct be_bind){ .ops = x->ops,
				 .nops = OPS,
				 .dep_at = x->dep_at,
				 .deps = x->deps,
				 .layout = &bytes,
				 .helped = helped };
	x->bound.turn = &x->turn;
	dispatch_init(&x->e, &x->b, calloc(1, dispatch_room(&x->b)), calloc(1, dispatch_own_room(OPS)), &x->bound);
	for (uint32_t i = 0; i < OPS; i++) {
		x->number[i] = i;
		x->e.todo[i] = (struct dispatch_do){ { issue_op, poll_op }, &x->number[i] };
	}
	dispatch_classify(&x->e);
}

static void drop(struct bench *x)
{
	free(x->e.st);
	free(x->e.todo);
}

/* Other classes, as after a rebind. */
static void classes(struct bench *x)
{
	for (uint32_t i = 0; i < OPS; i++) {
		uint8_t *class = x->e.ops[i].class;

		class[1] = (uint8_t)draw(x, DISPATCH_EARLY);
		class[0] = class[1] != DISPATCH_APP && !draw(x, 3) ? DISPATCH_EARLY : class[1];
	}
	dispatch_classify(&x->e);
}

static void run(bool helped)
{
	struct bench *x = new_bench();
	unsigned bad = 0;
	uint32_t passed = 0;

	for (uint32_t seed = 1; seed < 200; seed++) {
		*x = (struct bench){ .seed = seed };
		random_graph(x);
		make(x, helped);
		for (unsigned n = 0; n < EPOCHS; n++) {
			if (helped)
				classes(x);
			epoch(x);
		}
		bad += x->bad;
		passed += x->turn.passed;
		drop(x);
	}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT_EQUAL(passed > 0, helped);
	free(x);
}

/* What is ready at the start begins in the order in which others need it. */
static void in_order(void)
{
	static const struct bin_op first[] = { { .kind = BIN_OP_SEND, .len = 100000 },
					       { .kind = BIN_OP_RECV, .len = 100000 },
					       { .kind = BIN_OP_COPY, .len = 100000 },
					       { .kind = BIN_OP_COPY, .len = 8 },
					       { .kind = BIN_OP_SEND, .len = 8 } };
	static const uint32_t order[] = { 4, 2, 1, 3, 0 };
	struct bench *x = new_bench();

	memcpy(x->ops, first, sizeof first);
	make(x, false);
	epoch(x);
	for (size_t i = 1; i < sizeof order / sizeof *order; i++)
		CU_ASSERT(x->began[order[i - 1]] < x->began[order[i]]);
	CU_ASSERT_EQUAL(x->bad, 0);
	drop(x);
	free(x);
}

static void alone(void)
{
	run(false);
}

static void helped(void)
{
	run(true);
}

/* Of two early ops the one that is complete by the end of start is its own; the other passes on, as does what only
 * becomes ready behind it. */
static void early_ops_pass(void)
{
	struct bench *x = new_bench();

	for (uint32_t i = 2; i < OPS; i++) {
		x->deps[x->ndeps++] = i - 1;
		x->dep_at[i + 1] = x->ndeps;
	}
	x->polls[1] = 3; /* start looks more than once */
	make(x, true);
	for (uint32_t i = 0; i < OPS; i++) {
		x->e.ops[i].class[0] = DISPATCH_EARLY;
		x->e.ops[i].class[1] = DISPATCH_ANY;
	}
	dispatch_classify(&x->e);
	x->starting = true;
	x->who = BE_APP;
	CU_ASSERT_EQUAL(dispatch_start(&x->e, BE_APP), 0);
	x->starting = false;
	CU_ASSERT(x->ended[0] && !x->ended[1]);
	CU_ASSERT_EQUAL(dispatch_progress(&x->e, BE_APP), 0);
	CU_ASSERT_EQUAL(x->turn.passed, 1);
	x->who = BE_ANY;
	for (unsigned n = 0; n < 4; n++)
		dispatch_progress(&x->e, BE_ANY);
	CU_ASSERT(finished(x));
	CU_ASSERT_EQUAL(x->turn.passed, OPS - 1);
	CU_ASSERT_EQUAL(x->bad, 0);
	drop(x);
	free(x);
}

/* An op that is left out never begins, counts as done, and is waited for by none: not by one, nor by one that waits for another too. */
static void left_out(void)
{
	struct bench *x = new_bench();
	uint8_t state[OPS];

	x->deps[0] = x->deps[1] = 0;
	x->deps[2] = 1;
	x->dep_at[2] = 1;
	for (uint32_t i = 3; i <= OPS; i++)
		x->dep_at[i] = 3;
	make(x, false);
	dispatch_leave_out(&x->e, 0);
	dispatch_classify(&x->e);
	for (unsigned n = 0; n < EPOCHS; n++) {
		memset(x->began, 0, sizeof x->began);
		memset(x->ended, 0, sizeof x->ended);
		x->starting = true;
		CU_ASSERT_EQUAL(dispatch_start(&x->e, BE_ALL), 1);
		dispatch_states(&x->e, state);
		CU_ASSERT(!x->began[0] && state[0] == BE_DONE);
		CU_ASSERT(x->ended[1] && x->began[2] > x->ended[1]);
		for (uint32_t i = 1; i < OPS; i++)
			CU_ASSERT(x->ended[i] && state[i] == BE_DONE);
	}
	drop(x);
	free(x);
}

static const struct unit_test tests[] = {
	{ "left_out", left_out },
	{ "in_order", in_order },
	{ "alone", alone },
	{ "helped", helped },
	{ "early_ops_pass", early_ops_pass },
	{ NULL, NULL },
};

const struct unit_suite suite_engine = { "engine", tests };
