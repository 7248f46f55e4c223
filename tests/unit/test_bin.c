/* SPDX-License-Identifier: BSD-3-Clause
 * Binaries: what the reader refuses, that altered images with right checksums do no harm, arithmetic, and
 * specialisation against an independent tree. */
#include "compiler/compile.h"
#include "tests/fuzz/repair.h"
#include "tests/unit/unit.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- images ---- */

static const char bcast[] =
	"schedule bcast(root = 0) implements MPI_Bcast\n"
	"buffer inout data[count]\n"
	"rank r of p {\n"
	"  v = (r - root) mod p\n"
	"  steps = v > 0 ? log2(lowbit(v)) : ceillog2(p)\n"
	"  if v > 0 { got: recv data from (r - lowbit(v)) mod p level steps }\n"
	"  for k = steps - 1 downto 0 {\n"
	"    if v + 2^k < p { out[k]: send data to (r + 2^k) mod p level k ; out[k] requires got }\n"
	"  }\n"
	"}\n";

/* Every instruction, every kind of op, constants, assertions, 2-D labels, vectors, one with a default, computed defaults. */
static const char rich[] =
	"schedule rich(root = 0, n = 2, w[p], d[2] = -3, e = 4 * n, local f = r - e)\n"
	"buffer inout a[count + 8]\n"
	"buffer in b[count + 8]\n"
	"buffer scratch t[w[r] + 4]\n"
	"rank r of p {\n"
	"  x = 5000000000 + root - (3 * n) / 2 mod 7 + (1 << 3 >> 1 & 6 | 1 xor 2) + ~(-1)\n"
	"  y = (x > 4 and r >= 0 or p < 1) ? min(1, max(0, r)) : abs(popcount(x - f))\n"
	"  assert x > 0, \"positive\"\n"
	"  for i = 0 to 1 {\n"
	"    c[i, r]: calc y + lowbit(12) + ceillog2(9) + log2(9) + side(60, 3) + d[1] tag i level i cpu 1 nic 2\n"
	"    c[i, r] irequires c[i + 1, r], c[i - 2, r]\n"
	"  }\n"
	"  s: send b[0 +: 2] to (r + 1) mod p on nic\n"
	"  g: recv a[0 +: 2] from (r - 1) mod p on app\n"
	"  o: copy b[0 +: 2] into t[0 +: 2]\n"
	"  q: reduce b[0 +: 2] into t[0 +: 2] on comm\n"
	"  u: reduce t[2] with b[0] into t[2]\n"
	"  q requires o, g\n"
	"  e: nop\n"
	"  e requires q, u, s\n"
	"}\n";

static const char plain[] =
	"num_ranks 4\n"
	"rank 0 {\na: send 8b to 1 tag 3\nb: calc 5 cpu 1\nb requires c\nc: calc 99999999999 nic 2\na irequires b\n}\n"
	"rank 1 {\nrecv 8b from 0 tag 3\nsend 7b to 2\nsend 0b to 2\n}\n"
	"rank 2 {\nx: recv 7b from -1 tag -1\ny: recv 0b from 1\ny requires x\n}\n"
	"rank 3 {\n}\n";

struct image {
	unsigned char *at;
	size_t size;
};

static const int64_t w_values[] = { 1, 2, 3, 4, 5 };
static const struct define w_define = { "w", -1, w_values, 5, false };

static const struct define few[] = { { "count", -1, (const int64_t[]){ 3 }, 1, false }, { "root", -1, (const int64_t[]){ 1 }, 1, false } };

static struct image make_with(const char *text, const struct compile_options *o)
{
	struct goal_diags *d = goal_diags_new();
	void *image = NULL;
	size_t size = 0;
	int err = compile_text(d, "t.goal", text, strlen(text), o, &image, &size);

	fputs(goal_diags_text(d), stderr);
	CU_ASSERT_EQUAL_FATAL(err, 0);
	CU_ASSERT_EQUAL(bin_check(image, size), 0);
	goal_diags_free(d);
	return (struct image){ image, size };
}

static struct image make(const char *text, uint32_t nranks, bool debug, const struct define *define)
{
	const struct compile_options o = { .nranks = nranks, .debug = debug, .defines = define,
					   .ndefines = define != NULL };

	return make_with(text, &o);
}

/* With queues. */
static struct image make_lowered(void)
{
	const struct compile_options o = { .nranks = 3, .defines = few, .ndefines = 2, .passes = "lower-smcq" };

	return make_with(bcast, &o);
}

enum { IMAGES = 9 };

static struct image make_one(int i)
{
	switch (i) {
	case 0:
		return make(bcast, 0, false, NULL);
	case 1:
		return make(bcast, 0, true, NULL);
	case 2:
		return make(bcast, 5, false, NULL);
	case 3:
		return make(bcast, 3, true, NULL);
	case 4:
		return make(rich, 0, true, NULL);
	case 5:
		return make(rich, 5, true, &w_define);
	case 6:
		return make(plain, 0, false, NULL);
	case 7:
		return make_lowered();
	default:
		return make(plain, 0, true, NULL);
	}
}

/* ---- running what has been accepted ---- */

static void check_ops(const struct bin *b, const struct bin_args *a, const struct bin_space *sp)
{
	bool plain_kind = b->meta->flags & BIN_F_PLAIN;

	for (uint32_t i = 0; i < sp->nops; i++) {
		const struct bin_op *op = &sp->ops[i];

		if (op->kind == 0 || op->kind >= BIN_OP_KINDS || op->exec >= BIN_EXECS)
			CU_FAIL("kind");
		if (bin_is_message(op->kind) && op->peer >= a->size &&
		    !(plain_kind && op->kind == BIN_OP_RECV && op->peer == BIN_ANY))
			CU_FAIL("peer");
		for (unsigned k = 0; k < bin_nranges(op->kind); k++)
			if (op->buf[k] >= b->nbuffers || op->len > sp->bufsize[op->buf[k]] ||
			    op->off[k] > sp->bufsize[op->buf[k]] - op->len)
				CU_FAIL("range");
	}
	for (uint32_t i = 0; i < sp->ndeps; i++)
		if (sp->deps[i].op >= sp->nops || (sp->deps[i].on & ~BIN_START) >= sp->nops)
			CU_FAIL("dependency");
}

/* Runs one rank with little memory and fuel; any error will do, as long as nothing else happens. */
static int run_rank(const struct bin *b, uint32_t rank, uint32_t size, int64_t count)
{
	const int64_t elem[3] = { 1, 2, 3 };
	struct bin_arg *args = calloc(b->nparams + 1, sizeof *args);
	struct bin_args a = { .rank = rank, .size = size, .count = count, .args = args, .fuel = 20000 };
	struct bin_space sp = { .ops_cap = 40, .deps_cap = 40 };
	int err;

	for (uint32_t i = 0; i < b->nparams; i++)
		if (b->params[i].vector)
			args[i] = (struct bin_arg){ .known = true, .elem = elem, .n = 3 };
	for (int again = 0;; again++) {
		sp.ops = malloc(sp.ops_cap * sizeof *sp.ops);
		sp.deps = malloc(sp.deps_cap * sizeof *sp.deps);
		sp.bufsize = calloc(b->nbuffers, sizeof *sp.bufsize);
		sp.scratch = malloc(bin_scratch_size(b, sp.ops_cap, sp.deps_cap));
		err = bin_rank_ops(b, &a, &sp);
		if (err == 0)
			check_ops(b, &a, &sp);
		free(sp.ops);
		free(sp.deps);
		free(sp.bufsize);
		free(sp.scratch);
		if (err != -ERR_SPACE || again || (b->meta->flags & BIN_F_PARAMETRIC))
			break;
		sp.ops_cap = sp.nops;
		sp.deps_cap = sp.ndeps;
	}
	free(args);
	return err;
}

static void run_all(const void *at, size_t size)
{
	struct bin b;
	uint32_t n;

	if (bin_open(&b, at, size))
		return;
	n = b.meta->nranks ? b.meta->nranks : 3;
	run_rank(&b, 0, n, 7);
	run_rank(&b, n / 2, n, 0);
	run_rank(&b, n - 1, n, INT64_MAX);
	(void)bin_str(&b, UINT32_MAX);
}

/* A copy whose end is the end of its memory, which sanitizers watch. */
static unsigned char *copy_of(const unsigned char *at, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, at, size);
	return copy;
}

/* ---- what is refused ---- */

static void truncated(void)
{
	for (int i = 0; i < IMAGES; i++) {
		struct image m = make_one(i);

		for (size_t n = 0; n < m.size; n++) {
			unsigned char *copy = copy_of(m.at, n);

			CU_ASSERT_EQUAL(bin_check(copy, n), n ? -ERR_TRUNCATED : -ERR_NOT_BIN);
			free(copy);
		}
		unsigned char *longer = copy_of(m.at, m.size);

		longer = realloc(longer, m.size + 8);
		memset(longer + m.size, 0, 8);
		CU_ASSERT_EQUAL(bin_check(longer, m.size + 1), -ERR_CORRUPT);
		CU_ASSERT_EQUAL(bin_check(longer, m.size + 8), -ERR_CORRUPT);
		free(longer);
		free(m.at);
	}
}

static void flipped(void)
{
	for (int i = 0; i < IMAGES; i++) {
		struct image m = make_one(i);

		for (size_t at = 0; at < m.size; at++)
			for (int bit = 0; bit < 9; bit++) {
				unsigned char x = bit < 8 ? (unsigned char)(1 << bit) : 0xff;

				m.at[at] ^= x;
				CU_ASSERT(bin_check(m.at, m.size) < 0);
				m.at[at] ^= x;
			}
		CU_ASSERT_EQUAL(bin_check(m.at, m.size), 0);
		free(m.at);
	}
}

static void flipped_and_repaired(void)
{
	static const unsigned char xor[] = { 1, 2, 4, 8, 16, 32, 64, 128, 255, 127, 3 };
	unsigned accepted = 0;

	for (int i = 0; i < IMAGES; i++) {
		struct image m = make_one(i);

		for (size_t at = 0; at < m.size; at++)
			for (size_t k = 0; k < sizeof xor; k++) {
				unsigned char *copy = copy_of(m.at, m.size);

				copy[at] ^= xor[k];
				repair(copy, m.size);
				if (bin_check(copy, m.size) == 0) {
					accepted++;
					run_all(copy, m.size);
				}
				free(copy);
			}
		free(m.at);
	}
	CU_ASSERT(accepted > 1000); /* else nothing has been tested */
}

/* A size that is declared once ops exist would not be the one that they were held against. */
static void late_bufsize(void)
{
	struct image m = make("schedule s\nbuffer inout b[10]\nbuffer scratch a[10]\n"
			      "rank r of p { copy b into a; assert 1, \"x\" }\n",
			      0, false, NULL);
	struct bin_args args = { .size = 1 };
	struct ir_fault fault;
	struct ir_rank rank;
	struct bin b;

	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	CU_ASSERT_EQUAL(ir_rank_specialise(&b, &args, &rank, &fault), 0);
	ir_rank_fini(&rank);
	for (uint32_t pc = b.ncode; pc-- > 0;) {
		struct bin_word *w = (struct bin_word *)(uintptr_t)&b.code[pc];

		if (w->op != BIN_ASSERT)
			continue;
		*w = (struct bin_word){ .op = BIN_BUFSIZE, .a = 1, .b = w->a }; /* scratch becomes one element */
		break;
	}
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), 0);
	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	CU_ASSERT_EQUAL(ir_rank_specialise(&b, &args, &rank, &fault), -ERR_CORRUPT);
	free(m.at);
}

static uint32_t random32(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Whole words at a time, several at once, with values that break arithmetic. */
static void words_and_repaired(void)
{
	static const uint32_t values[] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0xffff,
					   0x8000, 0x10000, 0x7fff, 4095, 4096, 48, 0x20000000, 0x40000000 };
	uint32_t state = 12345;
	unsigned accepted = 0;

	for (int i = 0; i < IMAGES; i++) {
		struct image m = make_one(i);

		for (int round = 0; round < 20000; round++) {
			unsigned char *copy = copy_of(m.at, m.size);

			for (uint32_t n = 1 + random32(&state) % 3; n; n--) {
				uint32_t v = values[random32(&state) % (sizeof values / sizeof *values)];
				size_t len = (size_t[]){ 1, 2, 4 }[random32(&state) % 3];
				size_t at = random32(&state) % (m.size / len) * len;

				memcpy(copy + at, &v, len);
			}
			repair(copy, m.size);
			if (bin_check(copy, m.size) == 0) {
				accepted++;
				run_all(copy, m.size);
			}
			free(copy);
		}
		free(m.at);
	}
	CU_ASSERT(accepted > 1000);
}

/* What is wrong with one entry of what a rank posts. */
static void queues(void)
{
	struct image m = make_lowered();
	const struct bin_entry *e;
	struct bin_posts p;
	struct bin b;

	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	p = bin_posts(&b, 1); /* the root: it waits for two, and then puts */
	CU_ASSERT_EQUAL_FATAL(p.head->nentries, 4);
	e = &p.entries[2];
	CU_ASSERT_FATAL(e[-1].kind == BIN_E_NOP && e->kind == BIN_E_PUT && e->len == 3);
#define WRONG(field, value)                                          \
	do {                                                         \
		struct bin_entry *x = (struct bin_entry *)(uintptr_t)e, was = *x; \
		x->field = (value);                                  \
		repair(m.at, m.size);                                \
		CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT); \
		*x = was;                                            \
		repair(m.at, m.size);                                \
		CU_ASSERT_EQUAL_FATAL(bin_check(m.at, m.size), 0);   \
	} while (0)
	WRONG(kind, BIN_E_KINDS);
	WRONG(kind, 0);
	WRONG(kind, BIN_E_CPU);
	WRONG(kind, BIN_E_NOP);
	WRONG(flags, BIN_E_FLAGS + 1);
	WRONG(sps, 1); /* to no queue */
	WRONG(armw, 1);
	WRONG(kind, BIN_E_ARMW);
	WRONG(zero2, 1);
	WRONG(peer, 3);
	WRONG(queue, 1);
	WRONG(len, 4);
	WRONG(len, UINT32_MAX);
	WRONG(buf[0], 1);
	WRONG(buf[1], UINT16_MAX);
	WRONG(off[0], 1);
	WRONG(off[1], UINT64_MAX);
	WRONG(op, 2);
	WRONG(at, 1);
#undef WRONG
	for (int i = 0; i < 4; i++) { /* a name that a terminal would obey */
		char *name = (char *)(uintptr_t)bin_str(&b, b.meta->name), was = *name;

		*name = "\n\033\177\001"[i];
		repair(m.at, m.size);
		CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT);
		*name = was;
		repair(m.at, m.size);
	}
	((struct bin_queue *)(uintptr_t)p.queues)->needs = 1; /* and not posted */
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT);
	((struct bin_queue *)(uintptr_t)p.queues)->needs = 0;
	repair(m.at, m.size);
	((struct bin_entry *)(uintptr_t)e)->off[0] = 1;
	CU_ASSERT_EQUAL(bin_check_queues(&b, 0), 0); /* it has a check of its own */
	CU_ASSERT_EQUAL(bin_check_queues(&b, 1), -ERR_CHECKSUM);
	CU_ASSERT_EQUAL(bin_check_queues(&b, 3), -ERR_CORRUPT);
	free(m.at);
}

/* Computed defaults need a reader of version 7; they belong to parametric binaries, and to parameters that are one number, known
 * to all, and not the root. */
static void computed_defaults(void)
{
	struct image m = make(rich, 0, true, NULL), old = make(bcast, 0, true, NULL), fixed = make(rich, 5, true, &w_define);
	struct bin_param *p;
	struct bin b;

	CU_ASSERT_EQUAL(((const struct bin_header *)(const void *)m.at)->min_reader, 7);
	CU_ASSERT_EQUAL(((const struct bin_header *)(const void *)old.at)->min_reader, 1);
	CU_ASSERT_EQUAL(((const struct bin_header *)(const void *)fixed.at)->min_reader, 1);
	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	CU_ASSERT_EQUAL_FATAL(b.nparams, 6);
	p = (struct bin_param *)(uintptr_t)b.params;
	CU_ASSERT(p[0].has_default == BIN_NUMBER && !p[2].has_default && p[4].has_default == BIN_COMPUTED &&
		  p[5].has_default == BIN_COMPUTED);
	for (int i = 0; i < 4; i++) {
		const struct bin_param was = p[i == 1 ? 0 : i == 2 ? 2 : 4];
		struct bin_param *q = &p[i == 1 ? 0 : i == 2 ? 2 : 4];

		if (i == 0)
			q->has_default = BIN_HAS;
		else if (i == 3)
			q->scope = BIN_ROOTONLY;
		else
			q->has_default = BIN_COMPUTED; /* of the root, and of a vector */
		repair(m.at, m.size);
		CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT);
		*q = was;
	}
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), 0);
	CU_ASSERT_EQUAL_FATAL(bin_open(&b, fixed.at, fixed.size), 0);
	free(m.at);
	free(old.at);
	free(fixed.at);
}

/* The function reverse needs a reader of version 10, also where the schedule is for a number of ranks and it is left in a length. */
static void reversed(void)
{
	static const char text[] = "schedule s implements MPI_Barrier reproducible\nrank r of p {\n  assert reverse(p, 40) > 0, \"a\"\n}\n";
	static const char length[] = "schedule s\nbuffer inout a[count]\nbuffer inout b[count]\n"
				     "rank r of p { copy a[0 +: reverse(count mod 4, 2) mod 2] into b[0 +: reverse(count mod 4, 2) mod 2] }\n";
	struct image m[] = { make(text, 0, false, NULL), make(length, 0, false, NULL), make(length, 1, false, NULL) };

	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(((const struct bin_header *)(const void *)m[i].at)->min_reader, BIN_REVERSE_READER);
		CU_ASSERT_EQUAL(bin_check(m[i].at, m[i].size), 0);
		free(m[i].at);
	}
}

/* The mark reproducible needs a reader of version 8, and a binary for a number of ranks keeps it. */
static void reproducible(void)
{
	static const char text[] = "schedule s implements MPI_Barrier reproducible\nrank r of p { }\n";
	struct image m[] = { make(text, 0, false, NULL), make(text, 1, false, NULL) };
	struct bin b;

	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(((const struct bin_header *)(const void *)m[i].at)->min_reader, BIN_REPRODUCIBLE_READER);
		CU_ASSERT_EQUAL_FATAL(bin_open(&b, m[i].at, m[i].size), 0);
		CU_ASSERT(b.meta->flags & BIN_F_REPRODUCIBLE);
		free(m[i].at);
	}
}

static void versions(void)
{
	struct image m = make_one(2);
	struct bin_header *h = (struct bin_header *)(void *)m.at;

	h->version = BIN_VERSION + 1;
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), 0); /* newer, but it says that we can read it */
	h->min_reader = BIN_VERSION + 1;
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_VERSION);
	h->check ^= 1; /* a newer format may compute it otherwise */
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_VERSION);
	h->min_reader = 0;
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT);
	h->min_reader = 1;
	h->version = 0;
	repair(m.at, m.size);
	CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT);
	free(m.at);
	_Alignas(8) char text[] = "num_ranks 1";

	CU_ASSERT_EQUAL(bin_check(text, sizeof text), -ERR_NOT_BIN);
}

static void misaligned(void)
{
	struct image m = make_one(0);
	unsigned char *copy = malloc(m.size + 8);
	struct bin b;

	for (size_t by = 1; by < 8; by++) {
		memcpy(copy + by, m.at, m.size);
		CU_ASSERT_EQUAL(bin_open(&b, copy + by, m.size), -ERR_ARG);
	}
	free(copy);
	free(m.at);
}

static void sections(void)
{
	static const uint64_t values[] = { 0,
					   1,
					   7,
					   8,
					   47,
					   48,
					   UINT32_MAX,
					   (uint64_t)UINT32_MAX + 1,
					   INT64_MAX,
					   (uint64_t)INT64_MAX + 1,
					   UINT64_MAX,
					   UINT64_MAX - 7,
					   UINT64_MAX - 47 };

	for (int i = 0; i < IMAGES; i++) {
		struct image m = make_one(i);
		uint32_t n = ((struct bin_header *)(void *)m.at)->nsections;

		for (uint32_t s = 0; s < n; s++)
			for (size_t v = 0; v < sizeof values / sizeof *values; v++)
				for (int field = 0; field < 5; field++) {
					unsigned char *copy = copy_of(m.at, m.size);
					struct bin_header *h = (struct bin_header *)(void *)copy;
					struct bin_section *t = (struct bin_section *)(void *)(h + 1) + s;
					struct bin_section old = *t;

					if (field == 0)
						t->off = values[v];
					else if (field == 1)
						t->len = values[v];
					else if (field == 2)
						t->off += values[v], t->len -= values[v];
					else if (field == 3)
						t->type = (uint32_t)values[v];
					else
						*t = ((struct bin_section *)(void *)(h + 1))[(s + 1) % n];
					repair(copy, m.size);
					if (t->off != old.off || t->len != old.len || t->type != old.type)
						CU_ASSERT_EQUAL(bin_check(copy, m.size), -ERR_CORRUPT);
					free(copy);
				}
		for (uint32_t count = 0; count < 70; count++) {
			unsigned char *copy = copy_of(m.at, m.size);

			((struct bin_header *)(void *)copy)->nsections = count;
			repair(copy, m.size);
			if (count != n)
				CU_ASSERT(bin_check(copy, m.size) < 0);
			free(copy);
		}
		((struct bin_header *)(void *)m.at)->nsections = UINT32_MAX;
		CU_ASSERT_EQUAL(bin_check(m.at, m.size), -ERR_CORRUPT);
		free(m.at);
	}
}

/* Rank sections with 32-bit fields, and the largest of the others. */
static void wide(void)
{
	for (int n = 32767; n <= 32770; n++) {
		size_t room = 64 + (size_t)n * 24, len = 0;
		char *text = malloc(room);
		struct bin b;

		len += (size_t)snprintf(text, room, "num_ranks 1\nrank 0 {\n");
		for (int i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, room - len, "l%d: calc 1\n", i);
		snprintf(text + len, room - len, "l0 requires l%d\n}\n", n - 1);
		struct image m = make(text, 0, false, NULL);
		struct bin_opened v;

		CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
		CU_ASSERT_EQUAL(bin_opened_at(&b, 0, &v), 0);
		CU_ASSERT_EQUAL(v.nops, (uint32_t)n);
		CU_ASSERT_EQUAL(v.wide, n > 32768);
		CU_ASSERT_EQUAL(v.pos, true);
		CU_ASSERT_EQUAL(run_rank(&b, 0, 1, 0), 0);
		free(m.at);
		free(text);
	}
}

static void space(void)
{
	struct image m = make_one(2);
	struct bin_op ops[8];
	struct bin_dep deps[8];
	uint64_t bufsize[1];
	struct bin b;

	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	struct bin_args a = { .rank = 0, .size = 5, .count = 3 };
	void *scratch = malloc(bin_scratch_size(&b, 8, 8));
	struct bin_space sp = { .ops = ops, .deps = deps, .bufsize = bufsize, .scratch = scratch };

	CU_ASSERT_EQUAL(bin_rank_ops(&b, &a, &sp), -ERR_SPACE);
	CU_ASSERT_EQUAL(sp.nops, 3);
	sp.ops_cap = sp.deps_cap = 8;
	CU_ASSERT_EQUAL(bin_rank_ops(&b, &a, &sp), 0);
	a.size = 6;
	CU_ASSERT_EQUAL(bin_rank_ops(&b, &a, &sp), -ERR_SIZE);
	a.size = 5;
	a.rank = 5;
	CU_ASSERT_EQUAL(bin_rank_ops(&b, &a, &sp), -ERR_ARG);
	a.rank = 0;
	a.count = -1;
	CU_ASSERT_EQUAL(bin_rank_ops(&b, &a, &sp), -ERR_ARG);
	a.count = 1;
	struct bin_arg root = { .known = true, .value = 5 };

	a.args = &root;
	CU_ASSERT_EQUAL(bin_rank_ops(&b, &a, &sp), -ERR_PARAM);
	CU_ASSERT_EQUAL(bin_check_rank(&b, b.ndir), -ERR_ARG);
	free(scratch);
	free(m.at);
}

/* ---- arithmetic ---- */

static void arithmetic(void)
{
	static const struct {
		int op;
		int64_t x, y;
		int err;
		int64_t want;
	} cases[] = {
		{ BIN_ADD, INT64_MAX, 1, ERR_OVERFLOW, 0 },
		{ BIN_ADD, INT64_MIN, -1, ERR_OVERFLOW, 0 },
		{ BIN_ADD, INT64_MAX, INT64_MIN, 0, -1 },
		{ BIN_SUB, INT64_MIN, 1, ERR_OVERFLOW, 0 },
		{ BIN_SUB, 0, INT64_MIN, ERR_OVERFLOW, 0 },
		{ BIN_SUB, -1, INT64_MIN, 0, INT64_MAX },
		{ BIN_MUL, INT64_MIN, -1, ERR_OVERFLOW, 0 },
		{ BIN_MUL, (int64_t)1 << 32, (int64_t)1 << 31, ERR_OVERFLOW, 0 },
		{ BIN_MUL, -((int64_t)1 << 32), (int64_t)1 << 31, 0, INT64_MIN },
		{ BIN_DIV, INT64_MIN, -1, ERR_OVERFLOW, 0 },
		{ BIN_DIV, INT64_MIN, 1, 0, INT64_MIN },
		{ BIN_DIV, 1, 0, ERR_DIVZERO, 0 },
		{ BIN_DIV, 7, 2, 0, 3 },
		{ BIN_DIV, -7, 2, 0, -4 },
		{ BIN_DIV, 7, -2, 0, -4 },
		{ BIN_DIV, -7, -2, 0, 3 },
		{ BIN_DIV, -8, 2, 0, -4 },
		{ BIN_DIV, INT64_MIN, INT64_MAX, 0, -2 },
		{ BIN_MOD, INT64_MIN, -1, 0, 0 },
		{ BIN_MOD, 1, 0, ERR_DIVZERO, 0 },
		{ BIN_MOD, 7, 3, 0, 1 },
		{ BIN_MOD, -7, 3, 0, 2 },
		{ BIN_MOD, 7, -3, 0, -2 },
		{ BIN_MOD, -7, -3, 0, -1 },
		{ BIN_MOD, -6, 3, 0, 0 },
		{ BIN_MOD, INT64_MIN, INT64_MAX, 0, INT64_MAX - 1 },
		{ BIN_POW, 0, 0, 0, 1 },
		{ BIN_POW, 2, 62, 0, (int64_t)1 << 62 },
		{ BIN_POW, 2, 63, ERR_OVERFLOW, 0 },
		{ BIN_POW, -2, 63, 0, INT64_MIN },
		{ BIN_POW, -2, 64, ERR_OVERFLOW, 0 },
		{ BIN_POW, 10, 18, 0, 1000000000000000000 },
		{ BIN_POW, 10, 19, ERR_OVERFLOW, 0 },
		{ BIN_POW, 3, INT64_MAX, ERR_OVERFLOW, 0 },
		{ BIN_POW, 1, INT64_MAX, 0, 1 },
		{ BIN_POW, -1, INT64_MAX, 0, -1 },
		{ BIN_POW, 0, INT64_MAX, 0, 0 },
		{ BIN_POW, 2, -1, ERR_DOMAIN, 0 },
		{ BIN_POW, INT64_MIN, 1, 0, INT64_MIN },
		{ BIN_POW, 3037000499, 2, 0, 9223372030926249001 },
		{ BIN_POW, 3037000500, 2, ERR_OVERFLOW, 0 },
		{ BIN_SHL, 1, 62, 0, (int64_t)1 << 62 },
		{ BIN_SHL, 1, 63, ERR_OVERFLOW, 0 },
		{ BIN_SHL, -1, 63, 0, INT64_MIN },
		{ BIN_SHL, 1, 64, ERR_DOMAIN, 0 },
		{ BIN_SHL, 1, -1, ERR_DOMAIN, 0 },
		{ BIN_SHL, 0, 63, 0, 0 },
		{ BIN_SHL, INT64_MAX, 1, ERR_OVERFLOW, 0 },
		{ BIN_SHL, INT64_MIN, 1, ERR_OVERFLOW, 0 },
		{ BIN_SHR, -1, 63, 0, -1 },
		{ BIN_SHR, -5, 1, 0, -3 },
		{ BIN_SHR, INT64_MAX, 62, 0, 1 },
		{ BIN_SHR, 1, 64, ERR_DOMAIN, 0 },
		{ BIN_SHR, 1, INT64_MIN, ERR_DOMAIN, 0 },
		{ BIN_BAND, -1, 6, 0, 6 },
		{ BIN_BOR, 5, 2, 0, 7 },
		{ BIN_XOR, -1, 5, 0, -6 },
		{ BIN_MIN, INT64_MIN, INT64_MAX, 0, INT64_MIN },
		{ BIN_MAX, INT64_MIN, INT64_MAX, 0, INT64_MAX },
		{ BIN_EQ, 3, 3, 0, 1 },
		{ BIN_NE, 3, 3, 0, 0 },
		{ BIN_LT, INT64_MIN, INT64_MAX, 0, 1 },
		{ BIN_LE, 3, 3, 0, 1 },
		{ BIN_NEG, INT64_MIN, 0, ERR_OVERFLOW, 0 },
		{ BIN_NEG, INT64_MAX, 0, 0, -INT64_MAX },
		{ BIN_NOT, 0, 0, 0, 1 },
		{ BIN_NOT, INT64_MIN, 0, 0, 0 },
		{ BIN_BNOT, INT64_MIN, 0, 0, INT64_MAX },
		{ BIN_ABS, INT64_MIN, 0, ERR_OVERFLOW, 0 },
		{ BIN_ABS, -INT64_MAX, 0, 0, INT64_MAX },
		{ BIN_LOG2, 0, 0, ERR_DOMAIN, 0 },
		{ BIN_LOG2, -1, 0, ERR_DOMAIN, 0 },
		{ BIN_LOG2, 1, 0, 0, 0 },
		{ BIN_LOG2, 7, 0, 0, 2 },
		{ BIN_LOG2, INT64_MAX, 0, 0, 62 },
		{ BIN_CEILLOG2, 0, 0, ERR_DOMAIN, 0 },
		{ BIN_CEILLOG2, 1, 0, 0, 0 },
		{ BIN_CEILLOG2, 8, 0, 0, 3 },
		{ BIN_CEILLOG2, 9, 0, 0, 4 },
		{ BIN_CEILLOG2, INT64_MAX, 0, 0, 63 },
		{ BIN_REVERSE, 0, 0, 0, 0 },
		{ BIN_REVERSE, 6, 4, 0, 6 },
		{ BIN_REVERSE, 1, 62, 0, (int64_t)1 << 61 },
		{ BIN_REVERSE, 16, 4, ERR_DOMAIN, 0 },
		{ BIN_REVERSE, -1, 4, ERR_DOMAIN, 0 },
		{ BIN_REVERSE, 1, 63, ERR_DOMAIN, 0 },
		{ BIN_LOWBIT, 0, 0, 0, 0 },
		{ BIN_LOWBIT, 12, 0, 0, 4 },
		{ BIN_LOWBIT, -12, 0, 0, 4 },
		{ BIN_LOWBIT, INT64_MIN, 0, ERR_OVERFLOW, 0 },
		{ BIN_POPCOUNT, -1, 0, 0, 64 },
		{ BIN_POPCOUNT, 0, 0, 0, 0 },
		{ BIN_POPCOUNT, INT64_MIN, 0, 0, 1 },
		{ BIN_END, 1, 1, ERR_CORRUPT, 0 },
		{ 0, 1, 1, ERR_CORRUPT, 0 },
		{ 63, 1, 1, ERR_CORRUPT, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t out = 0;
		int err = bin_arith(cases[i].op, cases[i].x, cases[i].y, &out);

		if (err != -cases[i].err || (!err && out != cases[i].want))
			fprintf(stderr, "# case %zu: %d, %lld\n", i, err, (long long)out);
		CU_ASSERT_EQUAL(err, -cases[i].err);
		if (!cases[i].err)
			CU_ASSERT_EQUAL(out, cases[i].want);
	}
}

/* Floor division against the definition: x = q y + m, 0 <= m < y or y < m <= 0. */
static void division(void)
{
	for (int64_t x = -20; x <= 20; x++)
		for (int64_t y = -20; y <= 20; y++) {
			int64_t q, m;

			if (!y)
				continue;
			CU_ASSERT_EQUAL(bin_arith(BIN_DIV, x, y, &q), 0);
			CU_ASSERT_EQUAL(bin_arith(BIN_MOD, x, y, &m), 0);
			CU_ASSERT_EQUAL(q * y + m, x);
			CU_ASSERT(y > 0 ? m >= 0 && m < y : m <= 0 && m > y);
		}
}

/* The least largest side, over all ways to write p as a product. */
static int64_t least(int64_t p, int64_t n)
{
	int64_t best = p;

	for (int64_t a = 1; n > 1 && a <= p; a++) {
		int64_t rest = p % a ? p : least(p / a, n - 1);

		if (p % a == 0 && (a > rest ? a : rest) < best)
			best = a > rest ? a : rest;
	}
	return best;
}

static void sides(void)
{
	static const struct {
		int64_t p, n;
		int err;
		int64_t want;
	} cases[] = {
		{ 1, 1, 0, 1 },
		{ 1, INT64_MAX, 0, 1 },
		{ UINT32_MAX, 1, 0, UINT32_MAX },
		{ UINT32_MAX, 2, 0, 65537 },
		{ UINT32_MAX, INT64_MAX, 0, 65537 },
		{ (int64_t)1 << 31, 31, 0, 2 },
		{ (int64_t)1 << 31, 30, 0, 4 },
		{ 4294967291, 3, 0, 4294967291 }, /* a prime */
		{ 1 << 20, 3, 0, 128 },
		{ 36, 3, 0, 4 },
		{ (int64_t)UINT32_MAX + 1, 2, ERR_DOMAIN, 0 },
		{ 0, 2, ERR_DOMAIN, 0 },
		{ -4, 2, ERR_DOMAIN, 0 },
		{ 4, 0, ERR_DOMAIN, 0 },
	};
	uint64_t steps = 0, before = 0;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t out = 0;

		CU_ASSERT_EQUAL(bin_side(cases[i].p, cases[i].n, &out, &steps), -cases[i].err);
		CU_ASSERT_EQUAL(out, cases[i].want);
		CU_ASSERT(steps - before < 200000);
		before = steps;
	}
	CU_ASSERT(steps > 65536); /* those of the prime are counted */
	for (int64_t p = 1; p <= 400; p++)
		for (int64_t n = 1; n <= 4; n++) {
			int64_t out;

			CU_ASSERT_EQUAL(bin_side(p, n, &out, &steps), 0);
			CU_ASSERT_EQUAL(out, least(p, n));
		}
}

/* ---- specialisation ---- */

struct tree {
	int n, from, level[16], peer[16];
	bool recv;
};

/* The loop of MPICH's binomial broadcast. */
static void binomial(int rank, int size, int root, struct tree *t)
{
	int relative = rank >= root ? rank - root : rank - root + size, mask = 1, bit = 0;

	*t = (struct tree){ 0 };
	for (; mask < size; mask <<= 1, bit++)
		if (relative & mask) {
			t->recv = true;
			t->from = rank - mask;
			if (t->from < 0)
				t->from += size;
			t->level[0] = bit;
			t->peer[0] = t->from;
			t->n = 1;
			break;
		}
	for (mask >>= 1, bit--; mask > 0; mask >>= 1, bit--)
		if (relative + mask < size) {
			int dst = rank + mask;

			t->peer[t->n] = dst >= size ? dst - size : dst;
			t->level[t->n++] = bit;
		}
}

/* Each op needs the next one: dependencies come in no order, and wait for instances that come later. */
static void sizes(void)
{
	static const char text[] = "schedule chain(n = 1)\nrank r of p {\n"
				   "  for i = 0 to n - 1 { c[i]: calc i; c[i] requires c[i + 1], c[i + 1], c[i + 2] }\n"
				   "  z: nop\n  z requires c[0]\n}\n";
	struct image m = make(text, 0, false, NULL);
	struct bin b;

	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	for (uint32_t n = 1; n < 20000; n += n < 300 ? 1 : 9999) {
		struct bin_arg arg = { .known = true, .value = n };
		struct bin_args a = { .size = 1, .args = &arg };
		struct ir_fault fault;
		struct ir_rank r;
		bool same = true;

		CU_ASSERT_EQUAL_FATAL(ir_rank_specialise(&b, &a, &r, &fault), 0);
		CU_ASSERT_EQUAL_FATAL(r.nops, n + 1);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t left = n - 1 - i, want = left < 2 ? left : 2;

			same &= r.ops[i].kind == BIN_OP_CALC && r.ops[i].len == i &&
				r.dep_at[i + 1] - r.dep_at[i] == want;
			for (uint32_t k = 0; same && k < want; k++)
				same &= r.deps[r.dep_at[i] + k] == i + 1 + k;
		}
		CU_ASSERT(same);
		CU_ASSERT_EQUAL(r.dep_at[n + 1] - r.dep_at[n], 1);
		CU_ASSERT_EQUAL(r.deps[r.dep_at[n]], 0);
		ir_rank_fini(&r);
		/* Fuel is counted to the instruction. */
		a.fuel = fault.steps;
		CU_ASSERT_EQUAL(ir_rank_specialise(&b, &a, &r, &fault), 0);
		ir_rank_fini(&r);
		a.fuel--;
		CU_ASSERT_EQUAL(ir_rank_specialise(&b, &a, &r, &fault), -ERR_FUEL);
	}
	free(m.at);
}

static void same_tree(const struct bin *b, int rank, int size, int root)
{
	struct bin_op ops[32];
	struct bin_dep deps[32];
	uint64_t bufsize[1];
	struct bin_arg arg = { .known = true, .value = root };
	struct bin_args a = { .rank = (uint32_t)rank, .size = (uint32_t)size, .count = 9, .args = &arg };
	struct bin_space sp = { .ops = ops, .deps = deps, .bufsize = bufsize, .ops_cap = 32, .deps_cap = 32 };
	struct tree t;

	sp.scratch = malloc(bin_scratch_size(b, 32, 32));
	CU_ASSERT_EQUAL(bin_rank_ops(b, &a, &sp), 0);
	free(sp.scratch);
	binomial(rank, size, root, &t);
	CU_ASSERT_EQUAL_FATAL(sp.nops, (uint32_t)t.n);
	CU_ASSERT_EQUAL(sp.ndeps, t.recv ? sp.nops - 1 : 0);
	CU_ASSERT_EQUAL(bufsize[0], 9);
	for (uint32_t i = 0; i < sp.nops; i++) {
		CU_ASSERT_EQUAL(ops[i].kind, t.recv && i == 0 ? BIN_OP_RECV : BIN_OP_SEND);
		CU_ASSERT_EQUAL(ops[i].peer, (uint32_t)t.peer[i]);
		CU_ASSERT_EQUAL(ops[i].level, t.level[i]);
		CU_ASSERT_EQUAL(ops[i].len, 9);
		CU_ASSERT_EQUAL(ops[i].off[0], 0);
	}
	for (uint32_t i = 0; i < sp.ndeps; i++) {
		CU_ASSERT_EQUAL(deps[i].op, i + 1);
		CU_ASSERT_EQUAL(deps[i].on, 0);
	}
}

static void binomial_parametric(void)
{
	struct image m = make(bcast, 0, false, NULL);
	struct bin b;

	CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
	for (int size = 1; size <= 64; size++)
		for (int root = 0; root < size; root++)
			for (int rank = 0; rank < size; rank++)
				same_tree(&b, rank, size, root);
	for (int size = (1 << 20) - 1; size <= (1 << 20) + 1; size++) /* as cheap as a small one */
		for (int rank = 0; rank < size; rank += 65535)
			same_tree(&b, rank, size, 12345);
	free(m.at);
}

static void binomial_concrete(void)
{
	for (int size = 1; size <= 64; size += size < 18 ? 1 : 15) {
		struct image m = make(bcast, (uint32_t)size, false, NULL);
		struct bin b;

		CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
		for (int root = 0; root < size; root++)
			for (int rank = 0; rank < size; rank++)
				same_tree(&b, rank, size, root);
		free(m.at);
	}
}

/* The ops of one rank, from a concrete and a parametric binary; offsets and sizes too. */
static void same_rank(const struct bin *b, const struct bin *c, const struct bin_args *a)
{
	struct ir_rank x, y;
	struct bin_args fixed = *a;

	fixed.args = b->meta->root == BIN_NONE ? NULL : &a->args[b->meta->root];
	CU_ASSERT_EQUAL_FATAL(ir_rank_specialise(b, a, &x, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(ir_rank_specialise(c, &fixed, &y, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(x.nops, y.nops);
	CU_ASSERT_EQUAL_FATAL(x.dep_at[x.nops], y.dep_at[y.nops]);
	CU_ASSERT(!memcmp(x.dep_at, y.dep_at, (x.nops + 1) * sizeof *x.dep_at));
	CU_ASSERT(!memcmp(x.deps, y.deps, x.dep_at[x.nops] * sizeof *x.deps));
	CU_ASSERT(!memcmp(x.bufsize, y.bufsize, b->nbuffers * sizeof *x.bufsize));
	for (uint32_t i = 0; i < x.nops; i++) {
		const struct bin_op *p = &x.ops[i], *q = &y.ops[i];

		CU_ASSERT(p->kind == q->kind && p->exec == q->exec && p->level == q->level &&
			  p->peer == q->peer && p->tag == q->tag && p->cpu == q->cpu && p->nic == q->nic &&
			  p->line == q->line && p->buf[0] == q->buf[0] && p->buf[1] == q->buf[1] &&
			  p->off[0] == q->off[0] && p->off[1] == q->off[1] && p->len == q->len);
	}
	ir_rank_fini(&x);
	ir_rank_fini(&y);
}

static void same_both_ways(void)
{
	for (uint32_t size = 1; size <= 9; size++)
		for (int k = 0; k < 2; k++) {
			if (k && size != 5) /* as many as w has */
				continue;
			struct image m = make(k ? rich : bcast, 0, true, NULL);
			struct image n = make(k ? rich : bcast, size, true, k ? &w_define : NULL);
			struct bin_arg args[6] = { { .known = true }, /* one for each parameter of rich */
						   { .known = true, .value = 2 },
						   { .known = true, .elem = w_values, .n = 5 } };
			struct bin_args a = { .size = size, .args = args };
			struct bin b, c;

			CU_ASSERT_EQUAL_FATAL(bin_open(&b, m.at, m.size), 0);
			CU_ASSERT_EQUAL_FATAL(bin_open(&c, n.at, n.size), 0);
			for (args[0].value = 0; args[0].value < size; args[0].value++)
				for (a.count = 0; a.count < 10; a.count += 3)
					for (a.rank = 0; a.rank < size; a.rank++)
						same_rank(&b, &c, &a);
			free(m.at);
			free(n.at);
		}
}

static const struct unit_test tests[] = {
	{ "truncated", truncated },
	{ "flipped", flipped },
	{ "flipped_and_repaired", flipped_and_repaired },
	{ "late_bufsize", late_bufsize },
	{ "words_and_repaired", words_and_repaired },
	{ "queues", queues },
	{ "versions", versions },
	{ "computed defaults", computed_defaults },
	{ "reproducible", reproducible },
	{ "reversed", reversed },
	{ "misaligned", misaligned },
	{ "sections", sections },
	{ "wide", wide },
	{ "space", space },
	{ "sizes", sizes },
	{ "arithmetic", arithmetic },
	{ "division", division },
	{ "sides", sides },
	{ "binomial_parametric", binomial_parametric },
	{ "binomial_concrete", binomial_concrete },
	{ "same_both_ways", same_both_ways },
	{ NULL, NULL },
};

const struct unit_suite suite_bin = { "bin", tests };
