/* SPDX-License-Identifier: BSD-3-Clause
 * Which messages are answers: sends of what has been made of other messages by reduction, and their recvs. */
#include "backends/shm/answer.h"
#include "backends/shm/sm.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { OUT, ADD, GIVE, TAKE, OPS };

/* Rank 0 of two that exchange parts of a vector, and add them up. */
struct example {
	struct bin_op ops[OPS];
	uint32_t dep_at[OPS + 1], deps[OPS];
	struct be_layout layout;
	struct sm_bound s;
};

static struct example *make(void)
{
	static const struct sm_desc descs[] = {
		{ .peer = 1, .op = ADD, .bytes = 4000 },
		{ .peer = 1, .op = TAKE, .k = 1, .bytes = 4000 },
		{ .peer = 1, .op = OUT, .send = true, .bytes = 4000 },
		{ .peer = 1, .op = GIVE, .k = 1, .send = true, .bytes = 4000 },
	};
	struct example *x = calloc(1, sizeof *x);

	*x = (struct example){ .ops = { [OUT] = { .kind = BIN_OP_SEND, .off = { 500 } },
					[ADD] = { .kind = BIN_OP_RECV_REDUCE, .buf = { 1 } },
					[GIVE] = { .kind = BIN_OP_SEND, .buf = { 1 } },
					[TAKE] = { .kind = BIN_OP_RECV, .buf = { 1 }, .off = { 500 } } },
			       .dep_at = { [TAKE] = 1, [OPS] = 2 },
			       .deps = { ADD, OUT },
			       .layout = { .basic = 8, .contiguous = true } };
	for (int i = 0; i < OPS; i++) {
		x->ops[i].peer = 1;
		x->ops[i].len = 500;
	}
	x->s.b = (struct be_bind){ .ops = x->ops,
				   .nops = OPS,
				   .dep_at = x->dep_at,
				   .deps = x->deps,
				   .layout = &x->layout,
				   .whole = 1 };
	x->s.head = aligned_alloc(SM_LINE, sizeof *x->s.head + sizeof descs);
	x->s.head->ndescs = OPS;
	for (int i = 0; i < OPS; i++)
		x->s.head->descs[i] = descs[i];
	return x;
}

static void end(struct example *x)
{
	free(x->s.head);
	free(x);
}

static uint8_t answers(const struct example *x, uint32_t op)
{
	const struct sm_desc *e = x->s.head->descs;

	while (e->op != op)
		e++;
	return sm_answers(&x->s, e);
}

static void finds(void)
{
	struct example *x = make();

	CU_ASSERT_EQUAL(answers(x, GIVE), 1); /* the first message in the other direction */
	CU_ASSERT_EQUAL(answers(x, TAKE), 1);
	CU_ASSERT_EQUAL(answers(x, OUT), 0);
	CU_ASSERT_EQUAL(answers(x, ADD), 0);
	end(x);
}

/* Each change makes one end, or both, an ordinary message. */
static void refuses(void)
{
	struct example *x = make();

	x->deps[0] = x->deps[1] = ADD;
	CU_ASSERT_EQUAL(answers(x, TAKE), 0);
	x->deps[0] = x->deps[1] = OUT;
	CU_ASSERT_EQUAL(answers(x, GIVE), 0);
	x->deps[0] = ADD | BIN_START;
	x->deps[1] = OUT | BIN_START;
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	x->deps[0] = ADD;
	x->deps[1] = OUT;
	x->dep_at[TAKE] = x->dep_at[OPS];
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0); /* both are required by the one, none by the other */
	end(x);

	x = make();
	x->ops[GIVE].off[0] = 1;
	CU_ASSERT_EQUAL(answers(x, GIVE), 0);
	x->ops[GIVE].off[0] = 0;
	x->ops[ADD].kind = BIN_OP_RECV;
	CU_ASSERT_EQUAL(answers(x, GIVE), 0);
	x->ops[TAKE].kind = BIN_OP_RECV_REDUCE;
	CU_ASSERT_EQUAL(answers(x, TAKE), 0);
	end(x);
}

/* Nor are these answers: of other lengths or tags, short, of the user's operation, of elements that a part would cut, or with helpers. */
static void refuses_all(void)
{
	struct example *x = make();
	struct sm_desc *descs = x->s.head->descs;

	for (int i = 1; i < OPS; i += 2) {
		descs[i].tag = 7;
		descs[i].k = 0;
	}
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	for (int i = 1; i < OPS; i += 2) {
		descs[i].tag = 0;
		descs[i].k = 1;
		descs[i].bytes = 3000;
	}
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	for (int i = 0; i < OPS; i++)
		descs[i].bytes = SM_EAGER_MAX;
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	for (int i = 0; i < OPS; i++)
		descs[i].bytes = 4000;
	x->s.b.user = true;
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	x->s.b.user = false;
	x->s.b.helped = true;
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	x->s.b.helped = false;
	x->s.b.whole = 512;
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 0);
	x->s.b.whole = 1;
	CU_ASSERT_EQUAL(answers(x, GIVE) + answers(x, TAKE), 2);
	end(x);
}

static const struct unit_test tests[] = {
	{ "finds", finds },
	{ "refuses", refuses },
	{ "refuses_all", refuses_all },
	{ NULL, NULL },
};

const struct unit_suite suite_answer = { "answer", tests };
