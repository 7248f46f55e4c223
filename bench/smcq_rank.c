/* SPDX-License-Identifier: BSD-3-Clause
 * smcq_rank BINARY BYTES SECONDS: a rank under goalrun --backend smcq. Compares a broadcast that is lowered to
 * command queues and bound once with the same broadcast on the ranks' CPUs, which is bound anew for each call. The
 * two take turns for SECONDS seconds. Rank 0 prints the numbers that bench/smcq.sh describes. */
#include "backends/services.h"
#include "bench/bench.h"
#include "runtime/request.h"
#include "util/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000 /* most turns */
#define LEAST 3

enum { PERSISTENT, REBUILT, RATIO, START, PARTS };

struct side {
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched s;
	MPIX_Sched_request req;
	char *data;
};

static int rank, size;
static size_t bytes;
static double *us[PARTS];

static void must(const struct side *s, int rc, const char *what)
{
	char text[256] = "";

	if (!rc)
		return;
	MPIX_Sched_error_detail(s->ctx, text, sizeof text);
	fprintf(stderr, "smcq_rank: rank %d: %s: %s (%s)\n", rank, what, MPIX_Sched_error_string(rc), text);
	exit(1);
}

static void bind_side(struct side *s)
{
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = (void *[]){ s->data },
				     .nbuffers = 1,
				     .count = bytes,
				     .basic = MPIX_SCHED_BYTE };

	must(s, MPIX_Sched_init(s->s, s->group, &b, &s->req), "MPIX_Sched_init");
}

static void open_side(struct side *s, const char *backend, const char *path)
{
	if (setenv(env_table[ENV_GOAL_BACKEND].name, backend, 1))
		exit(1);
	must(s, MPIX_Sched_ctx_create(&s->ctx), "MPIX_Sched_ctx_create");
	must(s, MPIX_Sched_group_world(s->ctx, &s->group), "MPIX_Sched_group_world");
	must(s, MPIX_Sched_load(s->ctx, path, &s->s), "MPIX_Sched_load");
	must(s, MPIX_Sched_alloc(s->ctx, bytes, (void **)&s->data), "MPIX_Sched_alloc");
}

static void close_side(struct side *s)
{
	must(s, MPIX_Sched_dealloc(s->ctx, s->data), "MPIX_Sched_dealloc");
	must(s, MPIX_Sched_unload(&s->s), "MPIX_Sched_unload");
	must(s, MPIX_Sched_group_free(&s->group), "MPIX_Sched_group_free");
	must(s, MPIX_Sched_ctx_free(&s->ctx), "MPIX_Sched_ctx_free");
}

/* ---- turns ---- */

struct told {
	uint64_t from, to, longest; /* longest: a time of which the largest value of all ranks counts */
};

/* Returns the time in us from the moment when the first rank begins until the last rank is done. Stores the largest
 * `longest` of all ranks in *longest, in us. */
static double span(const struct side *s, struct told mine, double *longest)
{
	struct told all[256], t = mine;

	must(s, -group_allgather(&s->group->g, &mine, sizeof mine, all), "group_allgather");
	for (int r = 0; r < size; r++) {
		t.from = all[r].from < t.from ? all[r].from : t.from;
		t.to = all[r].to > t.to ? all[r].to : t.to;
		t.longest = all[r].longest > t.longest ? all[r].longest : t.longest;
	}
	*longest = (double)t.longest / 1e3;
	return (double)(t.to - t.from) / 1e3;
}

/* Synchronises the ranks before a measurement. */
static void line_up(const struct side *s)
{
	double none;

	span(s, (struct told){ 0 }, &none);
	span(s, (struct told){ 0 }, &none);
}

/* Returns the distance of the bytes that are set and checked: 1, or for long messages so much that each page has a few. */
static size_t step(void)
{
	return bytes > 65536 ? 1021 : 1;
}

static void mark(struct side *s, unsigned turn)
{
	for (size_t i = 0; i < bytes; i += step())
		s->data[i] = (char)(rank ? -1 : (int)turn % 100);
}

static void check(const struct side *s, unsigned turn)
{
	for (size_t i = 0; i < bytes; i += step())
		if (s->data[i] != (char)(turn % 100)) {
			fprintf(stderr, "smcq_rank: rank %d: byte %zu is wrong\n", rank, i);
			exit(1);
		}
}

static void persistent(struct side *s, unsigned turn)
{
	struct told t;

	mark(s, turn);
	line_up(s);
	t.from = bench_now();
	must(s, MPIX_Sched_start(s->req), "MPIX_Sched_start");
	t.longest = bench_now() - t.from;
	must(s, MPIX_Sched_wait(s->req), "MPIX_Sched_wait");
	t.to = bench_now();
	us[PERSISTENT][turn] = span(s, t, &us[START][turn]);
	check(s, turn);
}

static void rebuilt(struct side *s, unsigned turn)
{
	struct told t = { 0 };
	double none;

	mark(s, turn);
	line_up(s);
	t.from = bench_now();
	bind_side(s);
	must(s, MPIX_Sched_start(s->req), "MPIX_Sched_start");
	must(s, MPIX_Sched_wait(s->req), "MPIX_Sched_wait");
	must(s, MPIX_Sched_free(&s->req), "MPIX_Sched_free");
	t.to = bench_now();
	us[REBUILT][turn] = span(s, t, &none);
	check(s, turn);
}

/* Returns the time of the first bind. */
static double first(struct side *s)
{
	struct told t = { 0 };
	double none;

	line_up(s);
	t.from = bench_now();
	bind_side(s);
	t.to = bench_now();
	return span(s, t, &none);
}

int main(int argc, char **argv)
{
	struct side queues = { 0 }, cpus = { 0 };
	double init[LEAST], now, end;
	unsigned n = 0;

	if (argc != 4)
		return 2;
	bytes = (size_t)strtoull(argv[2], NULL, 10);
	for (int i = 0; i < PARTS; i++)
		if (!(us[i] = calloc(MOST, sizeof *us[i])))
			return 1;
	open_side(&queues, "smcq", argv[1]);
	open_side(&cpus, "shm", argv[1]);
	must(&queues, MPIX_Sched_group_rank(queues.group, &rank, &size), "MPIX_Sched_group_rank");
	if (size > 256)
		return 2;
	for (int i = 0; i < LEAST; i++) {
		if (i)
			must(&queues, MPIX_Sched_free(&queues.req), "MPIX_Sched_free");
		init[i] = first(&queues);
	}
	persistent(&queues, 0);
	rebuilt(&cpus, 0);
	span(&queues, (struct told){ .longest = bench_now() + (uint64_t)(strtod(argv[3], NULL) * 1e9) }, &end);
	do {
		persistent(&queues, n);
		rebuilt(&cpus, n);
		us[RATIO][n] = us[REBUILT][n] / us[PERSISTENT][n];
		span(&queues, (struct told){ .longest = bench_now() }, &now); /* all ranks get the same value of `now` */
	} while (++n < LEAST || (n < MOST && now < end));
	if (rank == 0)
		printf("%zu %u", bytes, n);
	for (int i = 0; i <= PARTS && rank == 0; i++) {
		const struct bench_stats st = i < PARTS ? bench_stats(us[i], n) : bench_stats(init, LEAST);

		printf(" %.2f:%.2f:%.2f", st.median, st.low, st.high);
	}
	if (rank == 0)
		printf("\n");
	must(&queues, MPIX_Sched_free(&queues.req), "MPIX_Sched_free");
	close_side(&cpus);
	close_side(&queues);
	return 0;
}
