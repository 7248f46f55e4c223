/* SPDX-License-Identifier: BSD-3-Clause
 * Calls at the border of what MPI allows: displacements that are addresses, buffers that do not count, and calls that are wrong, for
 * which the MPI library returns an error class. */
#include "persistent.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 10, STARTS = 3 };
static int rank, size, bad;

#define CHECK(cond) check(cond, #cond)
static void check(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "odd: rank %d: false: %s\n", rank, what);
	bad = 1;
}

/* A halo exchange on a ring, of variables that lie anywhere. */
static void addresses(void)
{
	static int out[2][N], in[2][N];
	int left = (rank + size - 1) % size, right = (rank + 1) % size, counts[2] = { N, N };
	MPI_Datatype types[2] = { MPI_INT, MPI_INT };
	MPI_Aint from[2], to[2];
	MPI_Request request;
	MPI_Comm ring;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){ 1 }, 0, &ring);
	for (int i = 0; i < 2; i++) {
		MPI_Get_address(out[i], &from[i]);
		MPI_Get_address(in[i], &to[i]);
	}
	MPI_Neighbor_alltoallw_init(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, ring, MPI_INFO_NULL, &request);
	for (int s = 0; s < STARTS; s++) {
		for (int i = 0; i < N; i++) {
			out[0][i] = rank * 100 + i + s;
			out[1][i] = rank * 100 + i + s + 50;
			in[0][i] = in[1][i] = -1;
		}
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (int i = 0; i < N; i++)
			CHECK(in[0][i] == left * 100 + i + s + 50 && in[1][i] == right * 100 + i + s);
	}
	MPI_Request_free(&request);
	MPI_Comm_free(&ring);
}

/* Many elements with gaps that are half as large */
static void gaps(void)
{
	enum { MANY = 1000 };
	static struct { float re, im, gap; } x[MANY];
	MPI_Datatype type;
	MPI_Request request;

	MPI_Type_create_resized(MPI_C_FLOAT_COMPLEX, 0, sizeof(*x), &type);
	MPI_Type_commit(&type);
	for (int i = 0; i < MANY; i++) {
		x[i].re = x[i].im = rank ? -1 : (float)i;
		x[i].gap = (float)(7 + rank);
	}
	MPI_Bcast_init(x, MANY, type, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < MANY; i++)
		CHECK(x[i].re == (float)i && x[i].im == (float)i && x[i].gap == (float)(7 + rank));
	MPI_Request_free(&request);
	MPI_Type_free(&type);
}

/* The first rank's result does not count, so it needs no buffer. */
static void no_result(void)
{
	int mine = rank + 1, sum = -1;
	MPI_Request request;

	MPI_Exscan_init(&mine, rank ? &sum : NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(!rank || sum == rank * (rank + 1) / 2);
	MPI_Request_free(&request);
}

/* A rank sends itself more than it has room for. The call is wrong; whatever becomes of it, the memory behind the room stays. */
static void overlong(void)
{
	enum { ROOM = 100 };
	int send[N] = { 0 }, *recv = malloc((size_t)(size + ROOM) * sizeof *recv), behind = 0;
	MPI_Request request;

	for (int i = 0; i < size + ROOM; i++)
		recv[i] = -1;
	if (MPI_Allgather_init(send, N, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS) {
		if (MPI_Start(&request) == MPI_SUCCESS)
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Request_free(&request);
	}
	for (int i = size; i < size + ROOM; i++)
		behind += recv[i] != -1;
	CHECK(!behind);
	free(recv);
}

/* The same on the last rank alone, so that the others are told why nobody is served. */
static void alone(void)
{
	int send[N] = { 0 }, *recv = malloc((size_t)size * N * sizeof *recv);
	MPI_Request request;

	if (MPI_Gather_init(send, rank < size - 1 ? 1 : N, MPI_INT, recv, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL,
			    &request) == MPI_SUCCESS)
		MPI_Request_free(&request);
	free(recv);
}

#ifdef OPEN_MPI /* it looks at the arguments before it calls a component */
static void wrong(void)
{
}
#else
#define WRONG(class, call) \
	do { \
		MPI_Request request; \
\
		CHECK(class_of(call) == (class)); \
	} while (0)

static int class_of(int code)
{
	int class = MPI_SUCCESS;

	MPI_Error_class(code, &class);
	return class;
}

/* The same wrong call on all ranks */
static void wrong(void)
{
	static int a[64], b[64], negative[64];
	const MPI_Comm comm = MPI_COMM_WORLD;
	const MPI_Info info = MPI_INFO_NULL;

	for (int i = 0; i < 64; i++)
		negative[i] = -1;
	WRONG(MPI_ERR_COUNT, MPI_Bcast_init(a, -1, MPI_INT, 0, comm, info, &request));
	WRONG(MPI_ERR_ROOT, MPI_Bcast_init(a, 1, MPI_INT, size, comm, info, &request));
	WRONG(MPI_ERR_TYPE, MPI_Bcast_init(a, 1, MPI_DATATYPE_NULL, 0, comm, info, &request));
	WRONG(MPI_ERR_BUFFER, MPI_Bcast_init(NULL, 1, MPI_INT, 0, comm, info, &request));
	WRONG(MPI_ERR_BUFFER, MPI_Allreduce_init(a, a, 1, MPI_INT, MPI_SUM, comm, info, &request));
	WRONG(MPI_ERR_OP, MPI_Allreduce_init(a, b, 1, MPI_INT, MPI_OP_NULL, comm, info, &request));
	WRONG(MPI_ERR_OP, MPI_Allreduce_init(a, b, 1, MPI_DOUBLE, MPI_BAND, comm, info, &request));
	WRONG(MPI_ERR_TYPE, MPI_Alltoall_init(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, comm, info, &request));
	WRONG(MPI_ERR_COUNT, MPI_Alltoallv_init(a, negative, negative, MPI_INT, b, negative, negative, MPI_INT, comm, info, &request));
	WRONG(MPI_ERR_COMM, MPI_Barrier_init(MPI_COMM_NULL, info, &request));
	/* What is wrong at the root only, the MPI library reports there. */
	WRONG(rank ? MPI_SUCCESS : MPI_ERR_COUNT, MPI_Gather_init(a, 1, MPI_INT, b, -1, MPI_INT, 0, comm, info, &request));
	WRONG(rank ? MPI_SUCCESS : MPI_ERR_BUFFER, MPI_Gather_init(a, 1, MPI_INT, a, 1, MPI_INT, 0, comm, info, &request));
}
#endif

/* A broadcast from the first rank to the others by an intercommunicator, which the MPI library serves */
static void between(void)
{
	int x = rank ? -1 : 7;
	MPI_Comm side, inter;
	MPI_Request request;

	MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &side);
	MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank ? 0 : 1, 5, &inter);
	MPI_Bcast_init(&x, 1, MPI_INT, rank ? 0 : MPI_ROOT, inter, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(x == 7);
	MPI_Request_free(&request);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&side);
}

/* With an argument, nothing is called that is served. */
/* Each rank chooses whether it is in place, however often it was not before. */
static void scans(void)
{
	for (int k = 0; k < 20; k++) {
		const int in_place = k >= 12 && rank == size - 1;
		int in[N], out[N], want = k % 2 ? rank * (rank + 1) / 2 : (rank + 1) * (rank + 2) / 2;
		MPI_Request request;

		for (int i = 0; i < N; i++)
			in[i] = out[i] = rank + 1;
		if (k % 2)
			MPI_Exscan_init(in_place ? MPI_IN_PLACE : in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
		else
			MPI_Scan_init(in_place ? MPI_IN_PLACE : in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK((k % 2 && !rank) || out[N - 1] == want);
		MPI_Request_free(&request);
	}
}

/* What a program is told that is complete it may read, also where data was packed. */
static void told_early(void)
{
	int data[2 * N], flag;
	MPI_Datatype type;
	MPI_Request request;

	MPI_Type_vector(N, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Bcast_init(data, 1, type, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (int s = 0; s < STARTS; s++) {
		for (int i = 0; i < 2 * N; i++)
			data[i] = rank ? -1 : s + i;
		MPI_Start(&request);
		do
			MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
		while (!flag);
		for (int i = 0; i < 2 * N; i++)
			CHECK(data[i] == (i % 2 && rank ? -1 : s + i));
		data[0] = 7; /* the program's again: nobody else stores it any more */
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(data[0] == 7);
	}
	MPI_Request_free(&request);
	MPI_Type_free(&type);
}

static pthread_t own;
static int elsewhere;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	elsewhere |= !pthread_equal(own, pthread_self());
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

/* An operation of the program is called in its threads, unless it has said that MPI may be called in several. */
static void own_thread(void)
{
	int x[N] = { 0 }, sum[N], level;
	MPI_Request request;
	MPI_Op op;

	own = pthread_self();
	MPI_Query_thread(&level);
	MPI_Op_create(add, 1, &op);
	MPI_Allreduce_init(x, sum, N, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (int s = 0; s < 20; s++) {
		x[0] = s + rank;
		MPI_Start(&request);
		if (rank)
			usleep(10000);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(sum[0] == size * s + size * (size - 1) / 2);
	}
	CHECK(level == MPI_THREAD_MULTIPLE || !elsewhere);
	MPI_Request_free(&request);
	MPI_Op_free(&op);
}

/* A call that does not block has no buffer for its data: whoever serves it says so. */
static void no_buffer(void)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int class = MPI_SUCCESS;

	MPI_Barrier(MPI_COMM_WORLD); /* makes the group */
	MPI_Error_class(MPI_Ibcast(NULL, 40000, MPI_INT, 0, MPI_COMM_WORLD, &request), &class);
	CHECK(class == MPI_ERR_BUFFER);
}

/* MPI leaves out what it does with a null pointer; both libraries take it. Memory that is served comes before and after it. */
static void free_nothing(void)
{
	void *p[3];

	for (int i = 0; i < 3; i++)
		MPI_Alloc_mem(100, MPI_INFO_NULL, &p[i]);
	MPI_Free_mem(NULL);
	for (int i = 0; i < 3; i++)
		CHECK(MPI_Free_mem(p[i]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	if (argc > 1 && !strcmp(argv[1], "buffer")) {
		no_buffer();
	} else if (argc > 1) {
		between();
	} else {
		addresses();
		gaps();
		no_result();
		overlong();
		alone();
		scans();
		told_early();
		own_thread();
		free_nothing();
		wrong();
	}
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	MPI_Finalize();
	if (!bad && rank == 0)
		puts("odd: right");
	return bad;
}
