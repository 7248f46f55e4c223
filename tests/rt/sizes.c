/* SPDX-License-Identifier: BSD-3-Clause
 * The sizes of buffers: what an untrusted schedule may declare, what callers are told of them, and what they may say; and
 * how many ops it may have.
 * "sizes" runs the cases below. "sizes lies FILE COUNT TEXT [NAME=V,V]..." expects that FILE, whose buffers are those of
 * its collective for COUNT - 1, is not bound for COUNT on any of 2 ranks, and that the detail has TEXT. */
#include "tests/rt/team.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MOST 8 /* buffers, parameters, and values of one */
#define BYTES 65536 /* of any buffer */

struct lie {
	const char *file, *text;
	size_t count, nparams;
	struct MPIX_Sched_param params[MOST];
};

static char memory[TEAM_MAX][MOST][BYTES];

static int fails(struct member *m, int rc, int want, const char *text)
{
	char detail[512];

	MPIX_Sched_error_detail(m->ctx, detail, sizeof detail);
	if (rc != want || !strstr(detail, text))
		fprintf(stderr, "error %d (%s), not %d and \"%s\"\n", rc, rc ? detail : "", want, text);
	return rc != want || !strstr(detail, text);
}

static struct MPIX_Sched_bind bind_all(struct member *m, void **buffers, size_t count)
{
	for (int i = 0; i < MOST; i++)
		buffers[i] = memory[m->rank][i];
	return (struct MPIX_Sched_bind){ .struct_size = sizeof(struct MPIX_Sched_bind),
					 .buffers = buffers,
					 .nbuffers = MOST,
					 .count = count,
					 .builtin = MPIX_SCHED_BOR };
}

static int lies(struct member *m)
{
	const struct lie *l = m->arg;
	void *buffers[MOST];
	struct MPIX_Sched_bind b = bind_all(m, buffers, l->count - 1);
	MPIX_Sched_request req;
	MPIX_Sched s;
	size_t n;

	b.params = l->params;
	b.nparams = l->nparams;
	CALL(MPIX_Sched_load(m->ctx, l->file, &s));
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_get_buffer_size(s, 0, m->rank, m->size, &b, &n, NULL));
	b.count = l->count;
	NEED(!fails(m, MPIX_Sched_init(s, m->group, &b, &req), MPIX_SCHED_ERR_CLAIM, l->text));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int load(struct member *m, const char *text, MPIX_Sched *s)
{
	CALL(MPIX_Sched_load_mem(m->ctx, "sizes.goal", text, strlen(text), s));
	return 0;
}

/* ---- what is not significant ---- */

/* Larger than MPI says on the ranks that have none; unused is as good as none, and used memory is nobody's. */
static int root_only(struct member *m)
{
	static const char unused[] = "schedule g(root = 0) implements MPI_Gather\nbuffer in mine[count]\nbuffer out all[p * count]\n"
				     "rank r of p { send mine to root\n"
				     "  if r == root { for s = 0 to p - 1 { recv all[s * count +: count] from s } } }\n";
	static const char used[] = "schedule g(root = 0) implements MPI_Gather\nbuffer in mine[count]\nbuffer out all[p * count]\n"
				   "rank r of p { if r == root { copy mine into all[r * count +: count]\n"
				   "  for i = 1 to p - 1 { s = (r + i) mod p\n recv all[s * count +: count] from s } }\n"
				   "  else { a: copy mine into all[0 +: count]\n b: send all[0 +: count] to root\n b requires a } }\n";
	void *buffers[MOST];
	struct MPIX_Sched_bind b = bind_all(m, buffers, 5);
	MPIX_Sched_request req;
	MPIX_Sched s;
	size_t n = 1;

	NEED(!load(m, unused, &s));
	CALL(MPIX_Sched_get_buffer_size(s, 1, m->rank, m->size, &b, &n, NULL));
	NEED(n == (m->rank ? 0 : 5 * (size_t)m->size));
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	NEED(!load(m, used, &s));
	NEED(!fails(m, MPIX_Sched_init(s, m->group, &b, &req), MPIX_SCHED_ERR_CLAIM,
		    "the buffer all has 10 elements, in MPI_Gather it has 0"));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* In place the one buffer has no memory of its own; what is in place is the caller's to say, not the schedule's default. */
static int in_place(struct member *m)
{
	static const char text[] = "schedule a implements MPI_Allgather\n"
				   "buffer in mine[count] inplace all[r * count +: count]\nbuffer out all[p * count]\n"
				   "rank r of p { copy mine into all[r * count +: count]\n"
				   "  for i = 1 to p - 1 { send mine to (r + i) mod p\n"
				   "    recv all[((r + i) mod p) * count +: count] from (r + i) mod p } }\n";
	void *buffers[MOST];
	struct MPIX_Sched_bind b = bind_all(m, buffers, 3);
	const int64_t one = 1;
	const struct MPIX_Sched_param inplace = { "inplace", &one, 1 };
	MPIX_Sched_request req;
	MPIX_Sched s;
	size_t n[2];

	NEED(!load(m, text, &s));
	for (uint32_t k = 0; k < 2; k++)
		CALL(MPIX_Sched_get_buffer_size(s, k, m->rank, m->size, &b, &n[k], NULL));
	NEED(n[0] == 3 && n[1] == 3 * (size_t)m->size);
	b.params = &inplace;
	b.nparams = 1;
	NEED(!fails(m, MPIX_Sched_init(s, m->group, &b, &req), MPIX_SCHED_ERR_CLAIM,
		    "the buffer mine has 0 elements, in MPI_Allgather it has 3"));
	b.nparams = 0;
	buffers[0] = MPIX_SCHED_IN_PLACE;
	for (uint32_t k = 0; k < 2; k++)
		CALL(MPIX_Sched_get_buffer_size(s, k, m->rank, m->size, &b, &n[k], NULL));
	NEED(n[0] == 0 && n[1] == 3 * (size_t)m->size);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- asking, and saying ---- */

static const char own_text[] = "schedule own(root = 0, local extra = 0)\nbuffer inout data[r == root ? p * count : count + extra]\n"
			       "buffer scratch part[2 * count]\nrank r of p { nop }\n";

static int told(struct member *m)
{
	const int64_t root = 2, extra = 7, offset[] = { 0, 12 };
	const size_t length[] = { 2, 1 };
	const struct MPIX_Sched_param params[] = { { "root", &root, 1 }, { "extra", &extra, 1 } };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .count = 10, .basic = MPIX_SCHED_INT32, .params = params };
	size_t elements = 0, bytes = 0;
	MPIX_Sched_type t;
	MPIX_Sched s;

	NEED(!load(m, own_text, &s));
	CALL(MPIX_Sched_get_buffer_size(s, 0, 0, 4, &b, &elements, &bytes));
	NEED(elements == 40 && bytes == 160);
	CALL(MPIX_Sched_get_buffer_size(s, 1, 3, 4, &b, &elements, NULL));
	NEED(elements == 20);
	b.nparams = 2;
	CALL(MPIX_Sched_get_buffer_size(s, 0, 2, 4, &b, &elements, &bytes));
	NEED(elements == 40 && bytes == 160);
	CALL(MPIX_Sched_get_buffer_size(s, 0, 1, 4, &b, &elements, NULL));
	NEED(elements == 17);
	/* Three basic elements in each; 37 of them are in 13 whole ones. */
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 2, offset, length, 20, &t));
	b.type = t;
	CALL(MPIX_Sched_get_buffer_size(s, 0, 1, 4, &b, &elements, &bytes));
	NEED(elements == 13 && bytes == 12 * 20 + 16);
	CALL(MPIX_Sched_type_free(&t));
	b.type = NULL;
	NEED(MPIX_Sched_get_buffer_size(s, 2, 0, 4, &b, &elements, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_get_buffer_size(s, 0, 4, 4, &b, &elements, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_get_buffer_size(s, 0, 0, 4, NULL, &elements, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(elements == 13);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A rank's own buffer is too small: all hear of it. */
static int enforced(struct member *m)
{
	void *buffers[MOST];
	struct MPIX_Sched_bind b = bind_all(m, buffers, 10);
	size_t sizes[MOST] = { m->rank ? 10 : 10 * (size_t)m->size };
	MPIX_Sched_request req;
	MPIX_Sched s;

	NEED(!load(m, own_text, &s));
	b.sizes = sizes;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_rebind(req, buffers, MOST));
	CALL(MPIX_Sched_free(&req));
	sizes[0] -= m->rank == 1;
	NEED(!fails(m, MPIX_Sched_init(s, m->group, &b, &req), MPIX_SCHED_ERR_BOUNDS,
		    "rank 1: the buffer data has 10 elements, the caller's has 9"));
	/* Not given, as no op uses it, and not large enough when it is given. */
	buffers[0] = NULL;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	buffers[0] = memory[m->rank][0];
	if (m->rank == 1)
		NEED(!fails(m, MPIX_Sched_rebind(req, buffers, MOST), MPIX_SCHED_ERR_BOUNDS, "the caller's has 9"));
	CALL(MPIX_Sched_free(&req));
	/* As a program bound that was compiled before there were sizes: what is behind is not looked at. */
	b.struct_size = offsetof(struct MPIX_Sched_bind, sizes);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	b.struct_size--;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- how many ops there are ---- */

#define OPS(body) "schedule s\nbuffer inout data[count]\nrank r of p { " body " }\n"
#define SECONDS 15 /* of CPU that a text which is refused may take, which is 0.1 s but for sanitizers, */
#define MEGABYTES 200 /* and what may be taken by all of them */

/* Short texts that would fill the memory. */
static int endless(struct member *m)
{
	static const char *const texts[] = {
		OPS("for i = 0 to 1000000000 { nop }"),
		OPS("a: nop\n b: nop\n for i = 0 to 1000000000 { b requires a }"),
		OPS("for i = 0 to 1000000000 { l[i]: nop\n if i > 0 { l[i] requires l[i - 1] } }"),
		"schedule t\nbuffer inout data[count]\nrank r of p { }\n" OPS("for i = 0 to 1000000000 { c[i]: call t(data) }"),
		"schedule t\nbuffer inout data[count]\nrank r of p { nop }\n" OPS("for i = 0 to 1000000000 { call t(data) }"),
	};
	void *buffers[MOST];
	struct MPIX_Sched_bind b = bind_all(m, buffers, 1);
	struct rusage before, after;
	MPIX_Sched_request req;
	MPIX_Sched s;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		getrusage(RUSAGE_SELF, &before);
		NEED(!load(m, texts[i], &s));
		NEED(!fails(m, MPIX_Sched_init(s, m->group, &b, &req), MPIX_SCHED_ERR_SPACE,
			    "there are more than 4194304 ops on a rank, or 4 times as many dependencies: the environment variable "
			    "GOAL_MAX_OPS raises the limit"));
		getrusage(RUSAGE_SELF, &after);
		NEED(after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec - before.ru_stime.tv_sec <= SECONDS);
		NEED(after.ru_maxrss < MEGABYTES * 1024L);
		CALL(MPIX_Sched_unload(&s));
	}
	return 0;
}

/* As many as a rank of a large job has. */
static int large(struct member *m)
{
	static const char text[] = "schedule a\nbuffer in mine[p]\nbuffer out all[p]\nrank r of p {\n"
				   "  copy mine[r +: 1] into all[r +: 1]\n"
				   "  for i = 1 to p - 1 { to = (r + i) mod p\n send mine[to +: 1] to to\n"
				   "    from = (r - i) mod p\n recv all[from +: 1] from from } }\n";
	const struct MPIX_Sched_bind b = { .struct_size = sizeof b };
	MPIX_Sched s;
	size_t n;

	NEED(!load(m, text, &s));
	CALL(MPIX_Sched_get_buffer_size(s, 1, 77, 1 << 20, &b, &n, NULL));
	NEED(n == 1 << 20);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* GOAL_MAX_OPS is 40000. */
static int limited(struct member *m)
{
	static const char *const texts[] = { OPS("for i = 1 to 40001 { nop }"), OPS("for i = 1 to 40000 { nop }") };
	const struct MPIX_Sched_bind b = { .struct_size = sizeof b, .count = 3 };
	MPIX_Sched s;
	size_t n;

	NEED(!load(m, texts[0], &s));
	NEED(!fails(m, MPIX_Sched_get_buffer_size(s, 0, 0, 1, &b, &n, NULL), MPIX_SCHED_ERR_SPACE, "more than 40000 ops"));
	CALL(MPIX_Sched_unload(&s));
	NEED(!load(m, texts[1], &s));
	CALL(MPIX_Sched_get_buffer_size(s, 0, 0, 1, &b, &n, NULL));
	NEED(n == 3);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* It is "many". */
static int no_limit(struct member *m)
{
	const struct MPIX_Sched_bind b = { .struct_size = sizeof b };
	MPIX_Sched s;
	size_t n;

	NEED(!load(m, own_text, &s));
	NEED(!fails(m, MPIX_Sched_get_buffer_size(s, 0, 0, 1, &b, &n, NULL), MPIX_SCHED_ERR_ARG,
		    "the environment variable GOAL_MAX_OPS cannot be \"many\""));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct member *);
	int ranks;
	const char *most; /* GOAL_MAX_OPS */
} cases[] = {
	{ "endless", endless, 1, "0" }, /* before more memory is used */
	{ "large", large, 1, "0" },
	{ "limited", limited, 1, "40000" },
	{ "no_limit", no_limit, 1, "many" },
	{ "root_only", root_only, 2, "0" },
	{ "in_place", in_place, 3, "0" },
	{ "told", told, 1, "0" },
	{ "enforced", enforced, 3, "0" },
};

static bool run_lie(int argc, char **argv)
{
	static int64_t values[MOST][MOST];
	struct lie l = { .file = argv[0], .count = strtoul(argv[1], NULL, 10), .text = argv[2] };

	for (int i = 3; i < argc && l.nparams < MOST; i++) {
		char *p = strchr(argv[i], '=');
		struct MPIX_Sched_param *q = &l.params[l.nparams];

		*p = '\0';
		*q = (struct MPIX_Sched_param){ .name = argv[i], .value = values[l.nparams] };
		for (; p && q->n < MOST; p = strchr(p + 1, ','))
			values[l.nparams][q->n++] = strtoll(p + 1, NULL, 10);
		l.nparams++;
	}
	return !team_run(2, true, lies, &l);
}

int main(int argc, char **argv)
{
	bool right = true;

	if (argc >= 5 && !strcmp(argv[1], "lies"))
		return !run_lie(argc - 2, argv + 2);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		setenv("GOAL_MAX_OPS", cases[i].most, 1);
		bool ok = team_run(cases[i].ranks, true, cases[i].fn, NULL) == 0;

		printf("%s rt.sizes.%s\n", ok ? "ok" : "FAIL", cases[i].name);
		right &= ok;
	}
	return !right;
}
