/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcasts on all ranks, with schedules that the user may have chosen: choice [FILE]. Prints what MPI_Bcast_init says if it
 * fails, else how many results were wrong. FILE: the schedule for the second request, by its MPI_Info. */
#include "persistent.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	char text[MPI_MAX_ERROR_STRING];
	int rank, data, wrong = 0, all, length;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int k = 0; k < 2; k++) {
		MPI_Info info = MPI_INFO_NULL;
		MPI_Request request;
		MPI_Status status;
		int err;

		if (k && argc > 1) {
			MPI_Info_create(&info);
			MPI_Info_set(info, "goal_schedule", argv[1]);
		}
		err = MPI_Bcast_init(&data, 1, MPI_INT, 0, MPI_COMM_WORLD, info, &request);
		if (info != MPI_INFO_NULL)
			MPI_Info_free(&info);
		if (err) {
			MPI_Error_string(err, text, &length);
			if (!rank)
				printf("choice: request %d: %s\n", k, text);
			continue;
		}
		for (int i = 0; i < 5; i++) {
			data = rank ? -1 : i;
			MPI_Start(&request);
			MPI_Wait(&request, &status);
			wrong += data != i;
		}
		MPI_Request_free(&request);
	}
	MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("choice: %d wrong\n", all);
	MPI_Finalize();
	return 0;
}
