/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives that do not block, against blocking ones: nbc SEED ROUNDS. All ranks draw the same calls from the seed, and each
 * draws for itself how it completes them. Calls with equal and different keys overlap, on two communicators in an order of each
 * rank's own, mixed with native requests, persistent ones and blocking collectives. First come cases in which a call that waited
 * for another rank would hang. */
#include "persistent.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 12, COUNT = 700, COLLS = 11 };
static int rank, size, cases, wrong;
static uint64_t common, own; /* states of the random numbers of all ranks, and of this one */

static unsigned draw(uint64_t *state, unsigned below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33) % below;
}

struct call {
	int coll, count, root, place;
	MPI_Comm comm;
	int n, me; /* of the communicator */
	MPI_Op op;
	MPI_Datatype type;
	int stride; /* of the type, in ints */
	int *send, *recv, *want;
	size_t room;
	MPI_Request request;
};

static MPI_Datatype gaps; /* one int of two */

static int *fill(const struct call *c, int salt)
{
	int *v = malloc(c->room * sizeof *v);

	for (size_t i = 0; i < c->room; i++)
		v[i] = (int)((i * 7 + (size_t)salt + (size_t)rank * 13) % 50);
	return v;
}

static void draw_call(struct call *c, MPI_Comm comm)
{
	static const int counts[] = { 0, 1, 2, 5, 64, 64, COUNT };

	memset(c, 0, sizeof *c);
	c->comm = comm;
	MPI_Comm_size(comm, &c->n);
	MPI_Comm_rank(comm, &c->me);
	c->coll = (int)draw(&common, COLLS);
	c->count = draw(&common, 4) ? counts[draw(&common, 7)] : (int)draw(&common, 40);
	c->root = (int)draw(&common, (unsigned)c->n);
	c->op = draw(&common, 2) ? MPI_SUM : MPI_MAX;
	c->place = !draw(&common, 3);
	c->type = MPI_INT;
	c->stride = 1;
	if (c->coll >= 9) /* scans: each rank decides */
		c->place = !draw(&own, 2);
	if (c->coll < 6 && draw(&own, 2)) {
		c->type = gaps;
		c->stride = 2;
	}
	if ((c->coll == 2 || c->coll == 3 || c->coll == 6) && c->me != c->root)
		c->place = 0;
	c->room = (size_t)(c->n * c->count * c->stride) + 3;
	c->send = fill(c, (int)draw(&common, 50));
	c->recv = fill(c, 11);
	c->want = malloc(c->room * sizeof *c->want);
}

/* What a call in place sends, for the blocking call: MPICH's are not right in place. */
static void *input(const struct call *c)
{
	return c->recv + (c->coll == 2 || c->coll == 4 ? c->me * c->count * c->stride : 0);
}

/* The blocking call with `want`, or the other with `recv`. */
static void call(struct call *c, int blocks)
{
	int *recv = blocks ? c->want : c->recv, n = c->count;
	void *send = !c->place || c->coll == 3 ? c->send : blocks ? input(c) : MPI_IN_PLACE;
	void *into = c->place && c->coll == 3 ? MPI_IN_PLACE : recv;
	MPI_Datatype t = c->type;
	MPI_Comm comm = c->comm;
	MPI_Request *r = &c->request;

#define EITHER(Name, name, ...) (blocks ? MPI_##Name(__VA_ARGS__, comm) : MPI_I##name(__VA_ARGS__, comm, r))
	if (blocks && c->coll == 0)
		MPI_Barrier(comm);
	else if (c->coll == 0)
		MPI_Ibarrier(comm, r);
	else if (c->coll == 1)
		EITHER(Bcast, bcast, recv, n, t, c->root);
	else if (c->coll == 2)
		EITHER(Gather, gather, send, n, t, recv, n, t, c->root);
	else if (c->coll == 3)
		EITHER(Scatter, scatter, c->send, n, t, into, n, t, c->root);
	else if (c->coll == 4)
		EITHER(Allgather, allgather, send, n, t, recv, n, t);
	else if (c->coll == 5)
		EITHER(Alltoall, alltoall, send, n, t, recv, n, t);
	else if (c->coll == 6)
		EITHER(Reduce, reduce, send, recv, n, t, c->op, c->root);
	else if (c->coll == 7)
		EITHER(Allreduce, allreduce, send, recv, n, t, c->op);
	else if (c->coll == 8)
		EITHER(Reduce_scatter_block, reduce_scatter_block, send, recv, n, t, c->op);
	else if (c->coll == 9)
		EITHER(Scan, scan, send, recv, n, t, c->op);
	else
		EITHER(Exscan, exscan, send, recv, n, t, c->op);
}

/* True if MPI says what an element of the receive buffer holds. In reductions in place, only the result counts. */
static int defined(const struct call *c, size_t i)
{
	return c->coll != 8 || i < (size_t)c->count;
}

static void compare(struct call *c)
{
	cases++;
	for (size_t i = 0; i < c->room; i++) {
		if (!defined(c, i) || c->recv[i] == c->want[i])
			continue;
		fprintf(stderr, "nbc: rank %d: collective %d, count %d, root %d, place %d, stride %d of %d ranks: [%zu] is %d, not %d\n",
			rank, c->coll, c->count, c->root, c->place, c->stride, c->n, i, c->recv[i], c->want[i]);
		wrong = 1;
		break;
	}
	free(c->send);
	free(c->recv);
	free(c->want);
}

static void complete(int n, MPI_Request requests[])
{
	int index, flag = 0, some[MOST + 4], count;

	switch (draw(&own, 7)) {
	case 0:
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		break;
	case 1:
		while (!flag)
			MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
		break;
	case 2:
		for (MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE); index != MPI_UNDEFINED;)
			MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
		break;
	case 3:
		for (MPI_Waitsome(n, requests, &count, some, MPI_STATUSES_IGNORE); count != MPI_UNDEFINED;)
			MPI_Waitsome(n, requests, &count, some, MPI_STATUSES_IGNORE);
		break;
	case 4:
		for (MPI_Testsome(n, requests, &count, some, MPI_STATUSES_IGNORE); count != MPI_UNDEFINED;)
			MPI_Testsome(n, requests, &count, some, MPI_STATUSES_IGNORE);
		break;
	case 5:
		for (int i = n; i-- > 0;)
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		break;
	default:
		for (int i = 0; i < n; i++)
			for (flag = 0; !flag;)
				MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < n; i++)
		if (requests[i] != MPI_REQUEST_NULL) {
			fprintf(stderr, "nbc: rank %d: request %d is not null\n", rank, i);
			wrong = 1;
		}
}

/* Several calls on two communicators, and native messages, then all are completed. */
static void turn(MPI_Comm a, MPI_Comm b)
{
	struct call calls[MOST];
	MPI_Request requests[MOST + 4];
	const int n = 1 + (int)draw(&common, MOST), split = (int)draw(&common, (unsigned)n + 1), late = (int)draw(&own, 2);
	int in = -1, out = rank, k = 0;

	for (int i = 0; i < n; i++) {
		draw_call(&calls[i], i < split ? a : b);
		memcpy(calls[i].want, calls[i].recv, calls[i].room * sizeof(int));
		call(&calls[i], 1);
	}
	MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[k++]);
	for (int i = 0; i < n; i++)
		if (i < split || !late)
			call(&calls[i], 0);
	MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[k++]);
	for (int i = 0; i < n; i++)
		requests[k++] = i < split || !late ? calls[i].request : MPI_REQUEST_NULL;
	if (draw(&common, 2))
		MPI_Barrier(a);
	for (int i = split; i < n && late; i++) {
		call(&calls[i], 0);
		requests[2 + i] = calls[i].request;
	}
	complete(k, requests);
	wrong |= in != (rank + size - 1) % size;
	for (int i = 0; i < n; i++)
		compare(&calls[i]);
}

/* A persistent request is made while calls are outstanding. */
static void persistent(MPI_Comm comm)
{
	int in[2][5], out[3][5], sum = size * (size - 1) / 2;
	MPI_Request requests[3];

	for (int i = 0; i < 5; i++)
		in[0][i] = in[1][i] = rank + i;
	MPI_Iallreduce(in[0], out[0], 5, MPI_INT, MPI_SUM, comm, &requests[0]);
	MPI_Allreduce_init(in[0], out[1], 5, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
	MPI_Iallreduce(in[1], out[2], 5, MPI_INT, MPI_SUM, comm, &requests[2]);
	MPI_Start(&requests[1]);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 15; i++)
		wrong |= out[i / 5][i % 5] != sum + size * (i % 5);
	wrong |= requests[0] != MPI_REQUEST_NULL || requests[1] == MPI_REQUEST_NULL;
	MPI_Request_free(&requests[1]);
}

/* The call must not wait: the message that the other rank sends before its own call comes first. */
static void local(MPI_Comm comm, int count)
{
	int *buf = calloc((size_t)count, sizeof *buf), got = 0;
	MPI_Request request;

	buf[count - 1] = rank == 0 ? count : -1;
	if (rank == 1)
		MPI_Ssend(&rank, 1, MPI_INT, 0, 5, comm);
	MPI_Ibcast(buf, count, MPI_INT, 0, comm, &request);
	if (rank == 0)
		MPI_Recv(&got, 1, MPI_INT, 1, 5, comm, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	/* A rank is blocked in a native call, and another waits for its part, of a call that waits for two others. */
	for (int i = 0; i < 5; i++) {
		MPI_Request r[3];
		int v[3] = { 1, 2, 3 }, s[3] = { 0 };

		for (int k = 0; k < 3; k++)
			MPI_Iallreduce(&v[k], &s[k], 1, MPI_INT, MPI_SUM, comm, &r[k]);
		if (rank == 0)
			MPI_Recv(&got, 1, MPI_INT, 1, 6, comm, MPI_STATUS_IGNORE);
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
		if (rank == 1)
			MPI_Ssend(&rank, 1, MPI_INT, 0, 6, comm);
		for (int k = 0; k < 3; k++)
			wrong |= s[k] != size * v[k];
	}
	wrong |= buf[count - 1] != count || got != (rank == 0);
	free(buf);
}

/* A blocking collective: Open MPI does nothing in some of those on one rank. */
static void meet(MPI_Comm comm)
{
	int one = 1, sum;

	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

/* Communicators are freed with calls outstanding. */
static void frees(MPI_Comm comm)
{
	int v = rank, sums[4];
	MPI_Request requests[4];
	MPI_Comm dup;

	MPI_Comm_dup(comm, &dup);
	meet(dup);
	for (int i = 0; i < 4; i++)
		MPI_Iallreduce(&v, &sums[i], 1, MPI_INT, MPI_SUM, dup, &requests[i]);
	MPI_Comm_free(&dup);
	complete(4, requests);
	for (int i = 0; i < 4; i++)
		wrong |= sums[i] != size * (size - 1) / 2;
}

int main(int argc, char **argv)
{
	const int seed = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 20;
	MPI_Comm dup, half;

	alarm(100);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	common = (uint64_t)seed;
	own = (uint64_t)(seed * 100 + rank);
	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
	MPI_Type_commit(&gaps);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	meet(MPI_COMM_WORLD);
	meet(dup);
	meet(half);
	for (int i = 0; i < rounds && !wrong; i++) {
		if (size > 1 && i % 8 == 0) {
			local(MPI_COMM_WORLD, 3 + i);
			local(dup, 30000);
		}
		turn(MPI_COMM_WORLD, i % 2 ? dup : half);
		persistent(dup);
		frees(dup);
	}
	MPI_Type_free(&gaps);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&half);
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (!wrong && rank == 0)
		printf("nbc: %d calls right\n", cases);
	MPI_Finalize();
	return wrong;
}
