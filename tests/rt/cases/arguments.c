/* SPDX-License-Identifier: BSD-3-Clause
 * Cases with wrong arguments, on one rank or on all. They check error codes and the texts of details. */
#include "tests/rt/cases/cases.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int disagree(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast), other = case_load(m, team_ring);
	int data[64], more[64];
	void *buffers[] = { data, more };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, 64, MPIX_SCHED_INT32), wrong;
	struct MPIX_Sched_param root = { "root", &(int64_t){ m->rank == 1 }, 1 };
	struct MPIX_Sched_param no_root = { "root", &(int64_t){ 99 }, 1 };
	struct MPIX_Sched_param unknown = { "rooot", &(int64_t){ 0 }, 1 };
	const bool odd = m->rank == 1;
	MPIX_Sched_request req = NULL;

	NEED(s && other);
	/* The arguments of one rank differ: all ranks get the same error with the same detail. */
	NEED(MPIX_Sched_init(odd ? other : s, m->group, &b, &req) == MPIX_SCHED_ERR_MISMATCH);
	NEED(case_detail_has(m, "rank 1 binds another schedule than rank 0"));
	wrong = b;
	wrong.count = odd ? 63 : 64;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_MISMATCH);
	NEED(case_detail_has(m, "rank 1 binds another count than rank 0"));
	wrong = b;
	wrong.basic = odd ? MPIX_SCHED_FLOAT : MPIX_SCHED_INT32;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_MISMATCH);
	wrong = b;
	wrong.params = &root;
	wrong.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_MISMATCH);
	NEED(case_detail_has(m, "rank 1 binds other parameters than rank 0"));
	/* The arguments of one rank are wrong: again all ranks get the same error. */
	wrong = b;
	wrong.buffers = odd ? (void *[]){ NULL, NULL } : buffers;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_ARG);
	NEED(case_detail_has(m, "rank 1: the buffer data is not given"));
	wrong = b;
	wrong.params = odd ? &unknown : NULL;
	wrong.nparams = odd;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_PARAM && case_detail_has(m, "rooot"));
	wrong.params = &no_root;
	wrong.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_FAULT && case_detail_has(m, "root"));
	/* After all these errors the group still works. */
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&other));
	return 0;
}

/* Two ranks bind the same count, but their local parameters make messages of different sizes, or unmatched messages; or one of them
 * cannot bind. */
static int sizes_differ(struct member *m)
{
	static const char text[] = "schedule s(local n)\n"
				   "buffer inout data[count]\n"
				   "rank r of p { if r == 0 { send data[0 +: n] to 1 } else if r == 1 { recv data[0 +: n] from 0 } }\n";
	static const char extra[] = "schedule s(local n)\n"
				    "buffer inout data[count]\n"
				    "rank r of p { for k = 1 to n { if r == 0 { send data to 1 } else if r == 1 { recv data from 0 tag k - 1 } } }\n";
	MPIX_Sched s = case_load(m, text), t = case_load(m, extra);
	int data[64];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 64, MPIX_SCHED_INT32);
	struct MPIX_Sched_param n = { "n", &(int64_t){ m->rank ? 20 : 10 }, 1 };
	struct MPIX_Sched_param two = { "n", &(int64_t){ 2 }, 1 };
	MPIX_Sched_request req;

	NEED(s && t);
	b.params = &n;
	b.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_MISMATCH && case_detail_has(m, "bytes"));
	b.params = &two;
	NEED(MPIX_Sched_init(t, m->group, &b, &req) == MPIX_SCHED_ERR_UNMATCHED && case_detail_has(m, "partner"));
	b.refusal = m->rank ? "it would rather not" : NULL;
	NEED(MPIX_Sched_init(m->rank ? NULL : s, m->group, &b, &req) == MPIX_SCHED_ERR_UNSUPPORTED);
	NEED(case_detail_has(m, "rank 1: it would rather not"));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&t));
	return 0;
}

static int never_called(void *arg)
{
	(void)arg;
	abort();
}

static int arguments(struct member *m)
{
	MPIX_Sched_ctx ctx = NULL;
	MPIX_Sched s = NULL;
	MPIX_Sched_group g = NULL;
	MPIX_Sched_request req = NULL;
	MPIX_Sched_type type;
	struct MPIX_Sched_bind none = { 0 };
	void *p = NULL;
	int major, flag, index;

	NEED(MPIX_Sched_ctx_create(NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_ctx_free(&ctx) == 0);
	NEED(MPIX_Sched_load(m->ctx, "/nonexistent", &s) == MPIX_SCHED_ERR_SYS && case_detail_has(m, "/nonexistent"));
	NEED(MPIX_Sched_load_mem(m->ctx, "x", "schedule", 8, &s) == MPIX_SCHED_ERR_SYNTAX && case_detail_has(m, "x:1:"));
	NEED(MPIX_Sched_load_mem(m->ctx, "x", "\x89GSB\r\n\x1a\n", 8, &s) == MPIX_SCHED_ERR_TRUNCATED);
	NEED(MPIX_Sched_load_mem(m->ctx, "x", NULL, 8, &s) == MPIX_SCHED_ERR_ARG);
	/* The detail is that of the last call that has failed, not of an earlier one. */
	NEED(MPIX_Sched_load(m->ctx, NULL, &s) == MPIX_SCHED_ERR_ARG && case_detail_has(m, "an argument is invalid"));
	NEED(MPIX_Sched_group_split(m->group, -2, 0, &g) == MPIX_SCHED_ERR_ARG && case_detail_has(m, "a color is"));
	NEED(MPIX_Sched_select(m->group, &(struct MPIX_Sched_call){ 0 }, &s) == MPIX_SCHED_ERR_ARG);
	NEED(case_detail_has(m, "an argument is invalid"));
	NEED(!s);
	NEED(MPIX_Sched_group_create(m->ctx, 3, 2, team_allgather, m, &g) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_init(NULL, m->group, &none, &req) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_start(NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_wait(NULL) == 0 && MPIX_Sched_waitall(0, NULL) == 0);
	NEED(MPIX_Sched_test(NULL, &flag) == 0 && flag == 1);
	NEED(MPIX_Sched_waitany(0, NULL, &index) == 0 && index == MPIX_SCHED_UNDEFINED);
	NEED(MPIX_Sched_waitany(1, &req, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_testany(1, &req, &index, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_testall(1, NULL, &flag, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_testsome(1, &req, &index, NULL, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_waitsome((size_t)1 << 40, &req, &index, &index, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_request_get_status(NULL, &flag, &index) == 0 && flag == 1 && index == 0);
	NEED(MPIX_Sched_request_get_status(NULL, NULL, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_wait_until(m->ctx, NULL, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_wait_until(NULL, never_called, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_get_version(&major, &major, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 0, NULL, NULL, 0, &type) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ SIZE_MAX }, 0, &type) ==
	     MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ 0 }, 4, &type) ==
		     MPIX_SCHED_ERR_ARG && case_detail_has(m, "is empty"));
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_BYTE, 2, (int64_t[]){ 0, 0 },
				    (size_t[]){ (size_t)1 << 40, 1 }, 4, &type) == MPIX_SCHED_ERR_ARG &&
	     case_detail_has(m, "the datatype is too large"));
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_BYTE, 1, &(int64_t){ 0 }, &(size_t){ 1 }, INT64_MIN, &type) == MPIX_SCHED_ERR_ARG &&
	     case_detail_has(m, "the extent"));
	NEED(strcmp(MPIX_Sched_error_string(MPIX_SCHED_ERR_DEAD), "a rank of the group died") == 0);
	NEED(*MPIX_Sched_error_string(12345));
	NEED(strcmp(MPIX_Sched_error_string(INT_MIN), MPIX_Sched_error_string(INT_MAX)) == 0);
	/* Wrong sizes and addresses of memory of the heap. */
	NEED(MPIX_Sched_alloc(m->ctx, (size_t)1 << 60, &p) == MPIX_SCHED_ERR_NOMEM);
	NEED(MPIX_Sched_dealloc(m->ctx, &p) == MPIX_SCHED_ERR_ARG);
	for (size_t size = 0; size < 5000000; size = size * 3 + 1) {
		char *q;

		CALL(MPIX_Sched_alloc(m->ctx, size, &p));
		q = p;
		NEED((uintptr_t)p % 64 == 0);
		for (size_t i = 0; i < size; i++)
			NEED(q[i] == 0);
		memset(p, 0xff, size);
		NEED(MPIX_Sched_dealloc(m->ctx, q + 1) == MPIX_SCHED_ERR_ARG);
		CALL(MPIX_Sched_dealloc(m->ctx, p));
		NEED(MPIX_Sched_dealloc(m->ctx, p) == MPIX_SCHED_ERR_ARG);
	}
	return 0;
}

static bool refused(struct member *m, MPIX_Sched s, const struct MPIX_Sched_bind *b, int code,
		    const char *text)
{
	MPIX_Sched_request req = NULL;

	return MPIX_Sched_init(s, m->group, b, &req) == code && !req && case_detail_has(m, text);
}

/* Queries the declarations of a schedule, and binds arguments that contradict them. */
static int declared(struct member *m)
{
	static const char text[] = "schedule s(n = 2, w[2])\nbuffer in mine[count]\nbuffer inout both[n]\n"
				   "buffer scratch own[count]\nrank r of p { x: copy mine into own\n"
				   "  y: copy own[0 +: w[0]] into both[0 +: w[0]]\n y requires x }\n";
	static const char plain[] = "num_ranks 1\nrank 0 { calc 1 }\n";
	static const char *const names[] = { "mine", "both", "own" };
	static const char *const modes[] = { "in", "inout", "scratch" };
	MPIX_Sched s = case_load(m, text), p = case_load(m, plain);
	MPIX_Sched_request req = NULL;
	MPIX_Sched_type type;
	struct MPIX_Sched_param w = { "w", (int64_t[]){ 1, 5 }, 2 }, n = { "n", (int64_t[]){ 1, 2 }, 2 };
	int data[4] = { 41, 42, 43, 44 }, both[2] = { 0 }, major = -1, minor = -1, patch = -1;
	void *buffers[] = { data, both, NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 3, 4, MPIX_SCHED_INT32), wrong;
	const char *name, *mode;

	NEED(s && p);
	CALL(MPIX_Sched_get_version(&major, &minor, &patch));
	NEED(major == MPIX_SCHED_VERSION_MAJOR && minor == MPIX_SCHED_VERSION_MINOR);
	NEED(patch == MPIX_SCHED_VERSION_PATCH);
	for (uint32_t i = 0; i < 3; i++) {
		CALL(MPIX_Sched_get_buffer(s, i, &name, &mode));
		NEED(strcmp(name, names[i]) == 0 && strcmp(mode, modes[i]) == 0);
	}
	NEED(MPIX_Sched_get_buffer(s, 3, &name, &mode) == MPIX_SCHED_ERR_ARG);

	b.params = &w;
	b.nparams = 1;
	wrong = b;
	wrong.basic = (enum MPIX_Sched_basic)1000;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "no basic datatype 1000"));
	wrong = b;
	wrong.params = &n;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_PARAM, "n needs one value"));
	wrong.params = &(struct MPIX_Sched_param){ "w", NULL, 1 };
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_PARAM, "w needs values"));
	wrong.params = NULL;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "params is NULL"));
	wrong.nparams = 0;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_PARAM, ": w"));
	wrong = b;
	wrong.count = SIZE_MAX / 2;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "the count is too large"));
	wrong.count = SIZE_MAX / 4 - 1;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_OVERFLOW, "buffer mine is too large"));
	wrong.count = (size_t)1 << 50; /* the scratch buffer is too large for the shared heap */
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_NOMEM, "for own"));
	wrong = b;
	wrong.params = &(struct MPIX_Sched_param){ "w", (int64_t[]){ 3, 3 }, 2 };
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_BOUNDS, "(line 6)"));
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ 1 }, 4, &type));
	wrong = (struct MPIX_Sched_bind){ .struct_size = sizeof wrong, .type = type };
	NEED(refused(m, p, &wrong, MPIX_SCHED_ERR_ARG, "it takes no datatype"));
	CALL(MPIX_Sched_type_free(&type));

	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(both[0] == 41 && both[1] == 0);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&p));
	return 0;
}

/* Scratch buffers at the end may be left out of `buffers`, and of `sizes`; other buffers that are used may not. */
static int trailing(struct member *m)
{
	static const char text[] = "schedule s\nbuffer in mine[count]\nbuffer out theirs[count]\n"
				   "buffer scratch one[count]\nbuffer scratch two[2 * count]\nrank r of p {\n"
				   "  a: copy mine into one\n  b: copy one into two[0 +: count]\n  c: copy two[0 +: count] into theirs\n"
				   "  b requires a\n  c requires b\n}\n";
	MPIX_Sched s = case_load(m, text);
	int mine[] = { 1, 2, 3, 4 }, theirs[4] = { 0 }, again[4] = { 0 };
	/* No element follows the two that are given: valgrind and the sanitizers see a read beyond them. */
	void *buffers[] = { mine, theirs }, *others[] = { mine, again };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, 4, MPIX_SCHED_INT32), wrong = b;
	const size_t sizes[] = { 4, 4 };
	MPIX_Sched_request req = NULL;
	size_t n;

	NEED(s);
	b.sizes = sizes;
	for (uint32_t i = 0; i < 4; i++) {
		CALL(MPIX_Sched_get_buffer_size(s, i, m->rank, m->size, &b, &n, NULL));
		NEED(n == (i == 3 ? 8 : 4));
	}
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(!memcmp(theirs, mine, sizeof mine));
	NEED(MPIX_Sched_rebind(req, others, 1) == MPIX_SCHED_ERR_ARG && case_detail_has(m, "the buffer theirs is not given"));
	CALL(MPIX_Sched_rebind(req, others, 2));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(!memcmp(again, mine, sizeof mine));
	CALL(MPIX_Sched_free(&req));
	wrong.nbuffers = 1;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "the buffer theirs is not given"));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Defaults that are expressions are computed when the schedule is bound, from this number of ranks and these parameters. */
static int computed(struct member *m)
{
	static const char text[] = "schedule s(n = p + 1, twice = 2 * n, local own = r * n)\n"
				   "buffer inout a[twice * count]\nbuffer inout b[own]\nrank r of p { }\n";
	MPIX_Sched s = case_load(m, text);
	const int64_t three = 3, big = INT64_MAX;
	struct MPIX_Sched_param n = { "n", &three, 1 }, twice = { "twice", &three, 1 }, huge = { "n", &big, 1 };
	struct MPIX_Sched_bind b = case_bind(NULL, 0, 5, MPIX_SCHED_INT32), wrong = b;
	size_t a = 0, own = 1;
	MPIX_Sched_request req = NULL;

	NEED(s);
	for (int i = 0; i < 3; i++) {
		const size_t p = (size_t)m->size, r = (size_t)m->rank, k = i == 1 ? 3 : p + 1;

		b.params = i == 1 ? &n : &twice;
		b.nparams = i != 0;
		CALL(MPIX_Sched_get_buffer_size(s, 0, m->rank, m->size, &b, &a, NULL));
		CALL(MPIX_Sched_get_buffer_size(s, 1, m->rank, m->size, &b, &own, NULL));
		NEED(a == 5 * (i == 2 ? 3 : 2 * k) && own == r * k);
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_free(&req));
	}
	wrong.params = &huge;
	wrong.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_OVERFLOW);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A name without a slash is that of an installed schedule, if no such file is in the current directory. */
static int installed(struct member *m)
{
	static const char *const missing[] = { "no_such.goal", "./bcast_binomial.goal", "schedules/../bcast_binomial.goal", "" };
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	MPIX_Sched s = NULL;

	CALL(MPIX_Sched_load(m->ctx, "allreduce_ring.goal", &s));
	CALL(MPIX_Sched_get_info(s, &info));
	NEED(!strcmp(info.name, "allreduce_ring"));
	CALL(MPIX_Sched_unload(&s));
	/* This one imports others, which are beside it. */
	CALL(MPIX_Sched_load(m->ctx, "allreduce_reduce_bcast.goal", &s));
	CALL(MPIX_Sched_unload(&s));
	for (size_t i = 0; i < ELEMENTS(missing); i++)
		NEED(MPIX_Sched_load(m->ctx, missing[i], &s) == MPIX_SCHED_ERR_SYS && case_detail_has(m, missing[i]));
	return 0;
}

/* Elements that lie so far apart that their place or their bytes do not fit 64 bits. */
static int far_apart(struct member *m)
{
	static const int64_t offsets[] = { 0, -8 };
	char byte = 0;
	void *buffers[] = { &byte };
	MPIX_Sched s = case_load(m, team_chain);

	NEED(s);
	for (size_t i = 0; i < ELEMENTS(offsets); i++) {
		struct MPIX_Sched_bind b = case_bind(buffers, 1, (1 << 23) + 1, MPIX_SCHED_DOUBLE);
		const size_t len = 1;
		size_t elements, bytes;
		MPIX_Sched_request req;

		CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_DOUBLE, 1, &offsets[i], &len, -(INT64_C(1) << 40), &b.type));
		NEED(MPIX_Sched_get_buffer_size(s, 0, 0, 1, &b, &elements, &bytes) == MPIX_SCHED_ERR_OVERFLOW);
		NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_OVERFLOW && case_detail_has(m, "the buffer data is too large"));
		CALL(MPIX_Sched_type_free(&b.type));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

const struct test_case argument_cases[] = {
	{ .name = "disagree", .fn = disagree, .sizes = { 2, 4 } },
	{ .name = "sizes_differ", .fn = sizes_differ, .sizes = { 2, 3 } },
	{ .name = "arguments", .fn = arguments, .sizes = { 1 } },
	{ .name = "declared", .fn = declared, .sizes = { 1 } },
	{ .name = "trailing", .fn = trailing, .sizes = { 1 } },
	{ .name = "far_apart", .fn = far_apart, .sizes = { 1 } },
	{ .name = "computed", .fn = computed, .sizes = { 1, 3 } },
	{ .name = "installed", .fn = installed, .sizes = { 1 } },
	{ .name = NULL },
};
