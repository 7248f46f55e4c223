/* SPDX-License-Identifier: BSD-3-Clause
 * A program of MPI-4 with persistent collectives, which knows nothing of goalsched. See goalmpi(7). */
#include <mpi.h>

#if MPI_VERSION < 4
#include <goal_mpi4.h> /* Open MPI 4.1 has the calls under other names */
#endif

#include <stdio.h>

#define COUNT 100000
#define STARTS 20

int main(int argc, char **argv)
{
	static double mine[COUNT], sum[COUNT];
	double parameters[4] = { 0 };
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int rank, size, wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Bcast_init(parameters, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	MPI_Allreduce_init(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
	for (int step = 0; step < STARTS; step++) {
		for (int i = 0; i < COUNT; i++)
			mine[i] = rank + step;
		for (int i = 0; i < 4; i++)
			parameters[i] = rank ? -1 : step * 10 + i;
		MPI_Startall(2, requests);
		/* Here the program computes: the collectives go on. */
		MPI_Waitall(2, requests, statuses);
		for (int i = 0; i < COUNT; i++)
			wrong += sum[i] != size * (size - 1) / 2 + size * step;
		for (int i = 0; i < 4; i++)
			wrong += parameters[i] != step * 10 + i;
	}
	for (int i = 0; i < 2; i++)
		MPI_Request_free(&requests[i]);
	if (!rank)
		printf("%d starts of 2 collectives on %d ranks, %d wrong elements\n", STARTS, size, wrong);
	MPI_Finalize();
	return wrong != 0;
}
