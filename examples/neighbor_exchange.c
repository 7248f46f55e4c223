/* SPDX-License-Identifier: BSD-3-Clause
 * Jacobi iterations on a grid that is cut into stripes of rows. Each rank exchanges the rows at its borders by a
 * schedule of our own, neighbor_exchange.goal, and computes the inner rows meanwhile. It compares the result with
 * that of a computation of the whole grid. Run it with
 *
 *     goalrun -n 4 -- ./neighbor_exchange neighbor_exchange.goal */
#include <mpix_sched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 100 /* inner rows and columns; the border around them is fixed */
#define WIDTH (N + 2)
#define SWEEPS 50

static MPIX_Sched_ctx ctx;

/* Ends this rank if a call failed. goalrun then ends the other ranks, and its exit status is 1. */
static void must(const char *call, int rc)
{
	char text[1024];

	if (rc == MPIX_SCHED_SUCCESS)
		return;
	MPIX_Sched_error_detail(ctx, text, sizeof text);
	fprintf(stderr, "%s: %s: %s\n", call, MPIX_Sched_error_string(rc), text);
	exit(1);
}

/* Computes rows first to last of the next grid: each element is the mean of its four neighbours in the old grid. */
static void sweep(double (*next)[WIDTH], double (*old)[WIDTH], int first, int last)
{
	for (int i = first; i <= last; i++)
		for (int j = 1; j <= N; j++)
			next[i][j] = 0.25 * (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1]);
}

/* Sets a grid to its first values: 1 on the left border, 0 elsewhere. */
static void begin(double (*grid)[WIDTH], int rows)
{
	memset(grid, 0, (size_t)(rows + 2) * sizeof *grid);
	for (int i = 0; i < rows + 2; i++)
		grid[i][0] = 1;
}

int main(int argc, char **argv)
{
	static double whole[2][N + 2][WIDTH];
	double(*grid[2])[WIDTH]; /* row 0 and row rows + 1 are copies of the neighbours' rows, or the border */
	MPIX_Sched_group group;
	MPIX_Sched sched;
	MPIX_Sched_request req[2];
	int rank, size, rows, top;

	if (argc != 2) {
		fprintf(stderr, "usage: neighbor_exchange SCHEDULE\n");
		return 2;
	}
	must("ctx_create", MPIX_Sched_ctx_create(&ctx));
	must("group_world", MPIX_Sched_group_world(ctx, &group));
	must("group_rank", MPIX_Sched_group_rank(group, &rank, &size));
	must("load", MPIX_Sched_load(ctx, argv[1], &sched));
	if (size > N) {
		fprintf(stderr, "%d ranks are too many for %d rows\n", size, N);
		return 1;
	}
	rows = N / size + (rank < N % size);
	top = rank * (N / size) + (rank < N % size ? rank : N % size);

	/* A request is bound to its buffers. The two grids alternate, so each has a request of its own. */
	for (int g = 0; g < 2; g++) {
		must("alloc", MPIX_Sched_alloc(ctx, (size_t)(rows + 2) * sizeof *grid[g], (void **)&grid[g]));
		begin(grid[g], rows);
		begin(whole[g], N);

		/* The buffers are in the order of the schedule: first, last, above, below. */
		void *buffers[] = { grid[g][1], grid[g][rows], grid[g][0], grid[g][rows + 1] };
		const struct MPIX_Sched_bind bind = {
			.struct_size = sizeof bind,
			.buffers = buffers,
			.nbuffers = 4,
			.count = WIDTH,
			.basic = MPIX_SCHED_DOUBLE,
		};
		must("init", MPIX_Sched_init(sched, group, &bind, &req[g]));
	}

	for (int s = 0; s < SWEEPS; s++) {
		int old = s % 2, next = !old;

		must("start", MPIX_Sched_start(req[old]));
		/* The inner rows do not depend on the neighbours. Computing them reads rows that are being sent, which is
		 * allowed, and does not touch rows that are being received. */
		sweep(grid[next], grid[old], 2, rows - 1);
		must("wait", MPIX_Sched_wait(req[old]));
		sweep(grid[next], grid[old], 1, 1);
		if (rows > 1)
			sweep(grid[next], grid[old], rows, rows);

		sweep(whole[next], whole[old], 1, N);
	}
	for (int i = 1; i <= rows; i++)
		if (memcmp(grid[SWEEPS % 2][i], whole[SWEEPS % 2][top + i], sizeof *whole[0])) {
			fprintf(stderr, "rank %d: row %d is not that of the whole grid\n", rank, top + i);
			return 1;
		}
	if (rank == 0)
		printf("%d sweeps of a %d x %d grid on %d ranks, the same as on one\n", SWEEPS, N, N, size);

	for (int g = 0; g < 2; g++) {
		must("free", MPIX_Sched_free(&req[g]));
		must("dealloc", MPIX_Sched_dealloc(ctx, grid[g]));
	}
	must("unload", MPIX_Sched_unload(&sched));
	must("group_free", MPIX_Sched_group_free(&group));
	must("ctx_free", MPIX_Sched_ctx_free(&ctx));
	return 0;
}
