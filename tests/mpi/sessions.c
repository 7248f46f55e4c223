/* SPDX-License-Identifier: BSD-3-Clause
 * A program with a session alone, which has neither MPI_COMM_WORLD nor MPI_COMM_SELF: requests whose data has gaps, with a
 * predefined operation, and with one of the program. The communicator is freed before the requests are. Prints a line. */
#include "persistent.h"

#include <stdio.h>

#ifdef MPI_SESSION_NULL
enum { REQUESTS = 3, STARTS = 5, N = 6 };

struct data {
	int pairs[2 * N], mine[N], sum[N], total[N];
};

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void make(MPI_Comm comm, struct data *d, MPI_Request *reqs)
{
	MPI_Datatype gaps;
	MPI_Op op;

	MPI_Type_vector(N, 1, 2, MPI_INT, &gaps);
	MPI_Type_commit(&gaps);
	MPI_Op_create(add, 1, &op);
	MPI_Bcast_init(d->pairs, 1, gaps, 0, comm, MPI_INFO_NULL, &reqs[0]);
	MPI_Allreduce_init(d->mine, d->sum, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &reqs[1]);
	MPI_Allreduce_init(d->mine, d->total, N, MPI_INT, op, comm, MPI_INFO_NULL, &reqs[2]);
#ifndef OPEN_MPI /* whose own requests, which serve operations of the program here, need them */
	MPI_Type_free(&gaps);
	MPI_Op_free(&op);
#endif
}

static int start(int rank, int size, int k, struct data *d, MPI_Request *reqs)
{
	int wrong = 0;

	for (int i = 0; i < 2 * N; i++)
		d->pairs[i] = rank ? -1 : 100 * k + i;
	for (int i = 0; i < N; i++)
		d->mine[i] = rank + i + k;
	MPI_Startall(REQUESTS, reqs);
	MPI_Waitall(REQUESTS, reqs, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2 * N; i++)
		wrong += d->pairs[i] != (rank && i % 2 ? -1 : 100 * k + i);
	for (int i = 0; i < N; i++)
		wrong += (d->sum[i] != size * (size - 1) / 2 + size * (i + k)) + (d->total[i] != d->sum[i]);
	return wrong;
}

int main(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	MPI_Request reqs[REQUESTS];
	struct data d;
	int rank, size, wrong = 0;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "goalsched", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	make(comm, &d, reqs);
	wrong += start(rank, size, 0, &d, reqs);
#ifndef OPEN_MPI /* for which the session ends with its last communicator */
	MPI_Comm_free(&comm);
#endif
	for (int k = 1; k < STARTS; k++)
		wrong += start(rank, size, k, &d, reqs);
	for (int i = 0; i < REQUESTS; i++)
		MPI_Request_free(&reqs[i]);
#ifdef OPEN_MPI
	MPI_Comm_free(&comm);
#endif
	MPI_Session_finalize(&session);
	printf("sessions: rank %d has %d wrong\n", rank, wrong);
	return wrong != 0;
}
#else
int main(void)
{
	puts("sessions: there are none");
	return 0;
}
#endif
