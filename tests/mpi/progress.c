/* SPDX-License-Identifier: BSD-3-Clause
 * A rank that is blocked in a call of MPI does not stall others that wait for a collective which all have started. Each rank but
 * the root of the broadcast in turn starts it, and then blocks in a call that ends only after all others have completed that
 * collective. Whatever the algorithm is, some of these ranks have to forward data, or to reduce, while they are blocked.
 * progress CASE runs one case: bcast or allreduce, then -recv, -barrier, -probe or -fence. Three ranks or more. */
#include "persistent.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096 };
static int rank, size;
static char where[100];

static void hangs(int sig)
{
	(void)sig;
	if (write(2, where, strlen(where)) < 0)
		_exit(4);
	_exit(3);
}

static void at(const char *what, int start)
{
	snprintf(where, sizeof(where), "progress: rank %d hangs, %s, start %d\n", rank, what, start);
}

/* The data of start s; all ranks know what must come out. */
static void fill(int *data, int n, int s, int reduces)
{
	for (int i = 0; i < n; i++)
		data[i] = reduces ? s + i + rank : rank == 0 ? s * 1000 + i : -1;
}

static int right(const int *data, int n, int s, int reduces)
{
	for (int i = 0; i < n; i++)
		if (data[i] != (reduces ? size * (s + i) + size * (size - 1) / 2 : s * 1000 + i))
			return 0;
	return 1;
}

/* Blocks rank `one` until all others have completed the collective. */
static void block(const char *how, int one, MPI_Request *request, MPI_Win win)
{
	int token = 0, r, flag;

	if (rank != one)
		MPI_Wait(request, MPI_STATUS_IGNORE);
	if (strcmp(how, "barrier") == 0) {
		MPI_Barrier(MPI_COMM_WORLD);
	} else if (strcmp(how, "fence") == 0) {
		MPI_Win_fence(0, win);
	} else if (rank != one) {
		MPI_Send(&token, 1, MPI_INT, one, 5, MPI_COMM_WORLD);
	} else {
		for (r = 0; r < size - 1; r++) {
			for (flag = 0; strcmp(how, "probe") == 0 && !flag;)
				MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
			MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
	MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int run(const char *how, int reduces, int n)
{
	int *in = malloc(sizeof(int) * (size_t)n), *out = malloc(sizeof(int) * (size_t)n), s, bad = 0;
	MPI_Request request;
	MPI_Win win;

	MPI_Win_create(out, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	if (reduces)
		MPI_Allreduce_init(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	else
		MPI_Bcast_init(out, n, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (s = 0; s < 2 * (size - 1) && !bad; s++) {
		fill(reduces ? in : out, n, s, reduces);
		at("starts", s);
		alarm(60);
		if (rank == 0) /* the others have blocked before anything can come from it */
			usleep(10000);
		MPI_Start(&request);
		at("blocks or waits", s);
		block(how, 1 + s % (size - 1), &request, win);
		bad = !right(out, n, s, reduces);
	}
	if (bad)
		fprintf(stderr, "progress: rank %d has wrong data in start %d\n", rank, s - 1);
	MPI_Win_fence(0, win);
	MPI_Request_free(&request);
	MPI_Win_free(&win);
	free(in);
	free(out);
	return bad;
}

int main(int argc, char **argv)
{
	const char *dash = argc == 2 ? strchr(argv[1], '-') : NULL;
	int bad;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	signal(SIGALRM, hangs);
	if (!dash || size < 3) {
		fprintf(stderr, "usage: progress {bcast|allreduce}-{recv|barrier|probe|fence}, with at least 3 ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 2;
	}
	bad = run(dash + 1, argv[1][0] == 'a', 2) | run(dash + 1, argv[1][0] == 'a', MOST) |
		run(dash + 1, argv[1][0] == 'a', 16 * MOST);
	alarm(60);
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0 && !bad)
		printf("progress: %s ends\n", argv[1]);
	MPI_Finalize();
	return bad;
}
