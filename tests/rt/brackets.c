/* SPDX-License-Identifier: BSD-3-Clause
 * brackets SCHEDULE MEMORY processes|threads RANKS COUNT[,COUNT...] [NAME=VALUE]...: whether the elements of a reduction have the
 * same bits if the contributions are the same. On each rank all elements of the input are one random double, so that all
 * elements of a result are the same sum. Prints for each rank the bits of its results, one for each start, and "differ" in
 * place of the bits if two elements or counts differ. MEMORY is heap or private. */
#include "tests/rt/team.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STARTS = 3, PARAMS = 8, COUNTS = 8 };

static const char *schedule;
static bool heap;
static size_t counts[COUNTS], ncounts;
static struct MPIX_Sched_param given[PARAMS];
static int64_t values[PARAMS];
static size_t ngiven;

/* The results of all ranks, in memory that processes share. */
static struct results {
	int found[STARTS]; /* 0 without elements, 1 if all have the same bits, or 2 */
	uint64_t bits[STARTS];
} *results;

/* What a rank binds for one count. */
struct bound {
	size_t size[2];
	double *data[2];
	int64_t vector[2][TEAM_MAX], number[2];
	struct MPIX_Sched_param params[PARAMS];
	size_t nparams;
};

static void add_param(struct bound *b, const char *name, const int64_t *value, size_t n)
{
	b->params[b->nparams++] = (struct MPIX_Sched_param){ name, value, n };
}

static bool is_a(const char *name)
{
	const char *file = strrchr(schedule, '/');

	return strstr(file ? file : schedule, name) != NULL;
}

/* A sum over the neighbours of a ring, as a grid of one dimension or as a graph. */
static void set_neighbours(const struct member *m, struct bound *b)
{
	if (is_a("cartesian")) {
		b->number[0] = 1;
		b->number[1] = m->size;
		b->vector[0][0] = 1;
		add_param(b, "ndims", &b->number[0], 1);
		add_param(b, "dims", &b->number[1], 1);
		add_param(b, "periods", b->vector[0], 1);
		return;
	}
	b->number[0] = 2;
	b->vector[0][0] = b->vector[1][0] = (m->rank + m->size - 1) % m->size;
	b->vector[0][1] = b->vector[1][1] = (m->rank + 1) % m->size;
	add_param(b, "indegree", &b->number[0], 1);
	add_param(b, "outdegree", &b->number[0], 1);
	add_param(b, "sources", b->vector[0], 2);
	add_param(b, "destinations", b->vector[1], 2);
}

/* Sets sizes and parameters, which depend on the collective. */
static void set_sizes(const struct member *m, struct bound *b, size_t count)
{
	*b = (struct bound){ .size = { count, count } };
	if (is_a("reduce_scatter_block")) {
		b->size[0] = count * (size_t)m->size;
	} else if (is_a("reduce_scatter")) {
		b->size[0] = 0;
		for (int r = 0; r < m->size; r++) {
			b->vector[0][r] = (int64_t)count * (r % 3) / 2;
			b->size[0] += (size_t)b->vector[0][r];
		}
		b->size[1] = (size_t)b->vector[0][m->rank];
		add_param(b, "recvcounts", b->vector[0], (size_t)m->size);
	} else if (is_a("neighbor")) {
		set_neighbours(m, b);
	}
	for (size_t i = 0; i < ngiven; i++)
		add_param(b, given[i].name, given[i].value, 1);
}

/* Returns the contribution of a rank: a random number of any magnitude from 2^-20 to 2^20. */
static double draw_value(int rank, int start)
{
	uint64_t x = (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u + (uint64_t)start * 0xd1342543de82ef95u;
	double value;

	for (int i = 0; i < 4; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	value = (double)(x >> 11) / (double)((uint64_t)1 << 33);
	for (unsigned i = (x >> 3) % 40; i; i--)
		value /= 2;
	return x >> 60 & 1 ? -value : value;
}

static void note_result(struct results *out, const struct bound *b, int start)
{
	for (size_t i = 0; i < b->size[1]; i++) {
		uint64_t bits;

		memcpy(&bits, &b->data[1][i], sizeof bits);
		if (!out->found[start])
			out->bits[start] = bits;
		else if (out->bits[start] != bits)
			out->found[start] = 2;
		out->found[start] = out->found[start] ? out->found[start] : 1;
	}
}

static int run_count(struct member *m, MPIX_Sched s, size_t count)
{
	const bool result = is_a("exscan") ? m->rank > 0 : !is_a("reduce_") || strstr(schedule, "allreduce") ||
						is_a("reduce_scatter") || is_a("neighbor_reduce") || !m->rank;
	struct MPIX_Sched_bind with = { .struct_size = sizeof with, .nbuffers = 2, .count = count, .basic = MPIX_SCHED_DOUBLE,
					.builtin = MPIX_SCHED_SUM };
	struct bound b;
	MPIX_Sched_request req;

	set_sizes(m, &b, count);
	for (int k = 0; k < 2; k++) {
		if (heap)
			CALL(MPIX_Sched_alloc(m->ctx, (b.size[k] + 1) * sizeof *b.data[k], (void **)&b.data[k]));
		else
			NEED((b.data[k] = calloc(b.size[k] + 1, sizeof *b.data[k])));
	}
	with.buffers = (void *[]){ b.data[0], b.data[1] };
	with.params = b.params;
	with.nparams = b.nparams;
	CALL(MPIX_Sched_init(s, m->group, &with, &req));
	for (int start = 0; start < STARTS; start++) {
		for (size_t i = 0; i < b.size[0]; i++)
			b.data[0][i] = draw_value(m->rank, start);
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		if (result)
			note_result(&results[m->rank], &b, start);
	}
	CALL(MPIX_Sched_free(&req));
	for (int k = 0; k < 2; k++) {
		if (heap)
			CALL(MPIX_Sched_dealloc(m->ctx, b.data[k]));
		else
			free(b.data[k]);
	}
	return 0;
}

static int run_rank(struct member *m)
{
	MPIX_Sched s;

	CALL(MPIX_Sched_load(m->ctx, schedule, &s));
	for (size_t i = 0; i < ncounts; i++)
		if (run_count(m, s, counts[i]))
			return 1;
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static void print_results(int size)
{
	for (int r = 0; r < size; r++) {
		if (!results[r].found[0])
			continue;
		printf("%d", r);
		for (int start = 0; start < STARTS; start++)
			if (results[r].found[start] == 2)
				printf(" differ");
			else
				printf(" %016" PRIx64, results[r].bits[start]);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	int size, err;

	if (argc < 6 || (size = atoi(argv[4])) < 1 || size > TEAM_MAX)
		return 2;
	schedule = argv[1];
	heap = !strcmp(argv[2], "heap");
	for (char *at = strtok(argv[5], ","); at && ncounts < COUNTS; at = strtok(NULL, ","))
		counts[ncounts++] = strtoul(at, NULL, 10);
	for (int i = 6; i < argc && ngiven < PARAMS - 4; i++) {
		char *is = strchr(argv[i], '=');

		if (!is)
			return 2;
		*is = 0;
		values[ngiven] = atoll(is + 1);
		given[ngiven] = (struct MPIX_Sched_param){ argv[i], &values[ngiven], 1 };
		ngiven++;
	}
	results = mmap(NULL, TEAM_MAX * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		return 2;
	err = team_run(size, !strcmp(argv[3], "threads"), run_rank, NULL);
	print_results(size);
	return err != 0;
}
