/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Alloc_mem of a program with persistent collectives: the memory is of the shared heap, for all that MPI allows to do with
 * it. Open MPI does not tell its pools which alignment a program asks for. With -DPLAIN it is a program without: its memory is the
 * MPI library's, and libgoalsched is not loaded. With -DMOVED the memory is malloc's, and moved to the heap (GOAL_MOVE=1). */
#include "persistent.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100000, STARTS = 4 };
static int rank, size, bad;

#define CHECK(cond) check(cond, #cond)
static void check(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "memory: rank %d: false: %s\n", rank, what);
	bad = 1;
}

/* True if the line of /proc/self/maps that has the address has the text, or with NULL if any line has it. */
static int mapped(const void *p, const char *text)
{
	char line[4096];
	unsigned long from, to;
	int found = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && !found && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (!p || ((uintptr_t)p >= from && (uintptr_t)p < to)))
			found = strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return found;
}

static int shared(const void *p)
{
	return mapped(p, "goal-heap");
}

#ifdef MOVED
enum { moved = 1 };
#define GIVE_BACK free
static void *get(MPI_Aint bytes, const char *alignment)
{
	char *p = malloc((size_t)bytes);

	(void)alignment;
	memset(p, 3, (size_t)bytes);
	return p;
}
#else
enum { moved = 0 };
#define GIVE_BACK MPI_Free_mem
static void *get(MPI_Aint bytes, const char *alignment)
{
	MPI_Info info = MPI_INFO_NULL;
	void *p = NULL;

	if (alignment) {
		MPI_Info_create(&info);
		MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment);
	}
	MPI_Alloc_mem(bytes, info, &p);
	if (alignment)
		MPI_Info_free(&info);
	memset(p, 3, (size_t)bytes);
	return p;
}
#endif

#ifdef PLAIN
static void use(void)
{
	int *p = get(N, NULL);

	CHECK(!shared(p) && !mapped(NULL, "libgoalsched"));
	MPI_Free_mem(p);
}
#else
static void turns(MPI_Request *request, int *in, const int *out)
{
	for (int s = 0; s < STARTS; s++) {
		for (int i = 0; i < N; i++)
			in[i] = s * i + rank;
		MPI_Start(request);
		MPI_Wait(request, MPI_STATUS_IGNORE);
		for (int i = 0; i < N && !bad; i++)
			CHECK(out[i] == size * s * i + size * (size - 1) / 2);
	}
}

/* A window on the memory, and messages out of it */
static void natives(int *in, int *out)
{
	MPI_Win win;

	if (size == 1) /* Open MPI 4.1 puts nothing into a window of one rank. */
		return;
	memset(out, 0, N * sizeof *out);
	in[0] = rank + 5;
	MPI_Win_create(out, N * sizeof *out, sizeof *out, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(in, 1, MPI_INT, (rank + 1) % size, 7, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	CHECK(out[7] == (rank + size - 1) % size + 5);
	MPI_Sendrecv_replace(in, N, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(in[0] == (rank + size - 1) % size + 5);
}

/* Freed in an order that MPI allows: the memory first, as the request is not started any more. */
static void frees(void)
{
	int *in = get(N * sizeof *in, NULL), *out = get(N * sizeof *out, "64"), *other;
	MPI_Request request;

	CHECK(moved || (shared(in) && shared(out) && (uintptr_t)in % 64 == 0));
	MPI_Allreduce_init(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	CHECK(shared(in + N / 2) && shared(out + N / 2));
	turns(&request, in, out);
	natives(in, out);
	GIVE_BACK(in);
	other = get(N * sizeof *other, NULL);
	CHECK(moved || other != in);
	GIVE_BACK(out);
	MPI_Request_free(&request);
	GIVE_BACK(other);
}

static void others(void)
{
	void *aligned = get(N, "4096"), *ours = get(1, NULL), *none = &none;

#ifndef OPEN_MPI
	CHECK(!shared(aligned));
#endif
	CHECK(shared(ours));
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	/* MPICH 4.0 says that it has succeeded. */
	MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &none);
	CHECK(!none || !shared(none));
	MPI_Free_mem(aligned);
	MPI_Free_mem(ours);
	aligned = get(N, NULL);
	MPI_Free_mem(aligned);
}

static void use(void)
{
	for (int i = 0; i < 5; i++) {
		if (!moved)
			others();
		frees();
	}
}
#endif

#ifdef MOVED
/* Calls that do not block, from memory that is new each time and has the address of the last one. */
static void at_once(void)
{
	enum { LONG = 9 << 20 };

	for (int k = 0; k < 6; k++) {
		int *x = malloc(LONG * sizeof *x);
		MPI_Request request;

		for (int i = 0; i < LONG; i++)
			x[i] = rank ? -1 : i + k;
		MPI_Ibcast(x, LONG, MPI_INT, 0, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(x[0] == k && x[LONG / 2] == LONG / 2 + k && x[LONG - 1] == LONG - 1 + k);
		free(x);
	}
}
#else
static void at_once(void) {}
#endif

int main(int argc, char **argv)
{
	char *kept;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	use();
	at_once();
	kept = get(N, NULL);
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	MPI_Finalize();
	bad |= kept[N - 1] != 3; /* not freed, so it may be read still */
	if (!bad && rank == 0)
		puts("memory: right");
	return bad;
}
