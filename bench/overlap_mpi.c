/* SPDX-License-Identifier: BSD-3-Clause
 * overlap_mpi: measures for a collective of an MPI library what goalrun --overlap measures, with the same code. Ranks
 * are pinned as goalrun pins them. Threads that the library has made for progress run on the core that communicates.
 * overlap.sh starts this program with the launcher of the library. It prints one line: comm, compute and total in us,
 * and the overlap. */
#include "goalrun/work.h"
#include "include/mpix_sched.h"
#include "runtime/board/board.h"

#include <dirent.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* Persistent collectives are those of MPI 4.0, which Open MPI 5 has although it calls itself 3.1, or the extension of Open MPI 4
 * with the same arguments. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#define PERSISTENT(name) MPI_##name
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define HAS_PERSISTENT 1
#define PERSISTENT(name) MPIX_##name
#else
#define HAS_PERSISTENT 0
#endif

#define SPINS 256u /* iterations of spinning in a barrier, if ranks do not share cores */

enum kind { BLOCKING, NONBLOCKING, PERSISTENT_KIND, KINDS };
static const char *const kind_names[KINDS] = { "blocking", "nonblocking", "persistent" };

enum collective { BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, COLLECTIVES };
static const char *const collective_names[COLLECTIVES] = { "bcast", "reduce", "allreduce", "gather", "scatter" };

struct job {
	enum collective what;
	enum kind kind;
	int rank, size, count; /* doubles of a block */
	double *in, *out;
	size_t nin, nout; /* doubles */
	MPI_Request req;
	uint64_t starts, seq;
	struct rt_board *board;
	unsigned spins;
};

/* ---- data: small integers, which add up exactly ---- */

static double value(uint64_t start, int rank, size_t i)
{
	return (double)((start * 101 + (unsigned)rank * 13 + i * 7) & 255);
}

static double sum(const struct job *j, size_t i)
{
	double v = 0;

	for (int r = 0; r < j->size; r++)
		v += value(j->starts, r, i);
	return v;
}

/* Returns the right value of element i of `out`. */
static double wanted(const struct job *j, size_t i)
{
	const size_t n = (size_t)j->count;

	switch (j->what) {
	case BCAST:
		return value(j->starts, 0, i);
	case REDUCE:
	case ALLREDUCE:
		return sum(j, i);
	case GATHER:
		return value(j->starts, (int)(i / n), i % n);
	default:
		return value(j->starts, 0, (size_t)j->rank * n + i);
	}
}

static int fill(void *arg)
{
	struct job *j = arg;

	for (size_t i = 0; i < j->nin; i++)
		j->in[i] = value(j->starts, j->rank, i);
	for (size_t i = 0; i < j->nout; i++)
		j->out[i] = j->what == BCAST && j->rank == 0 ? value(j->starts, 0, i) : -1;
	return 0;
}

static int check(void *arg)
{
	struct job *j = arg;

	for (size_t i = 0; i < j->nout; i++)
		if (j->out[i] != wanted(j, i)) {
			fprintf(stderr, "overlap_mpi: rank %d: start %llu: element %zu is wrong\n", j->rank,
				(unsigned long long)j->starts, i);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	j->starts++;
	return 0;
}

/* ---- the collective ---- */

#define CALL(bcast, reduce, allreduce, gather, scatter, ...)                                                     \
	switch (j->what) {                                                                                       \
	case BCAST:                                                                                              \
		return bcast(j->out, j->count, MPI_DOUBLE, 0, MPI_COMM_WORLD __VA_OPT__(,) __VA_ARGS__);         \
	case REDUCE:                                                                                             \
		return reduce(j->in, j->out, j->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD __VA_OPT__(,)      \
			      __VA_ARGS__);                                                                      \
	case ALLREDUCE:                                                                                          \
		return allreduce(j->in, j->out, j->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD __VA_OPT__(,)      \
				 __VA_ARGS__);                                                                   \
	case GATHER:                                                                                             \
		return gather(j->in, j->count, MPI_DOUBLE, j->out, j->count, MPI_DOUBLE, 0,                      \
			      MPI_COMM_WORLD __VA_OPT__(,) __VA_ARGS__);                                         \
	default:                                                                                                 \
		return scatter(j->in, j->count, MPI_DOUBLE, j->out, j->count, MPI_DOUBLE, 0,                     \
			       MPI_COMM_WORLD __VA_OPT__(,) __VA_ARGS__);                                        \
	}

static int blocking(struct job *j)
{
	CALL(MPI_Bcast, MPI_Reduce, MPI_Allreduce, MPI_Gather, MPI_Scatter)
}

static int nonblocking(struct job *j)
{
	CALL(MPI_Ibcast, MPI_Ireduce, MPI_Iallreduce, MPI_Igather, MPI_Iscatter, &j->req)
}

static int init(struct job *j)
{
#if HAS_PERSISTENT
	CALL(PERSISTENT(Bcast_init), PERSISTENT(Reduce_init), PERSISTENT(Allreduce_init), PERSISTENT(Gather_init),
	     PERSISTENT(Scatter_init), MPI_INFO_NULL, &j->req)
#else
	(void)j;
	return -1;
#endif
}

static int start(void *arg)
{
	struct job *j = arg;

	switch (j->kind) {
	case BLOCKING:
		return blocking(j);
	case NONBLOCKING:
		return nonblocking(j);
	default:
		return MPI_Start(&j->req);
	}
}

static int test(void *arg)
{
	struct job *j = arg;
	int flag;

	return j->kind == BLOCKING ? 0 : MPI_Test(&j->req, &flag, MPI_STATUS_IGNORE);
}

static int wait_for_it(void *arg)
{
	struct job *j = arg;

	return j->kind == BLOCKING ? 0 : MPI_Wait(&j->req, MPI_STATUS_IGNORE);
}

/* ---- the ranks ---- */

/* Makes progress: a rank whose request is complete may still have to make progress for its peers. */
static int idle(void *arg)
{
	int flag;

	(void)arg;
	return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static int exchange(void *arg, const void *in, void *out, size_t size)
{
	struct job *j = arg;

	return rt_board_allgather(j->board, (uint32_t)j->rank, ++j->seq, in, size, out, j->spins, idle, j);
}

static int no_memory(void *arg)
{
	(void)arg;
	fputs("overlap_mpi: out of memory\n", stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	return 1;
}

static void pin(pid_t tid, unsigned cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(tid, sizeof one, &one)) {
		perror("overlap_mpi: sched_setaffinity");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* Pins this thread to one CPU, and all other threads of the process to the other CPU. */
static void pin_all(unsigned cpu, unsigned others)
{
	DIR *d = opendir("/proc/self/task");

	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name != '.' && atoi(e->d_name) != gettid())
			pin(atoi(e->d_name), others);
	if (d)
		closedir(d);
	pin(0, cpu);
}

static void *shared(size_t size, int rank)
{
	MPI_Win win;
	MPI_Aint ignored;
	int unit;
	void *p;

	MPI_Win_allocate_shared(rank ? 0 : (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p, &win);
	MPI_Win_shared_query(win, 0, &ignored, &unit, &p);
	if (rank == 0)
		memset(p, 0, size);
	MPI_Barrier(MPI_COMM_WORLD);
	return p;
}

/* Returns the CPU at index r mod n of a list of n CPUs. */
static unsigned cpu_of(const char *list, int r, int *n)
{
	const char *p = list;

	for (*n = 1; (p = strchr(p, ',')); p++)
		++*n;
	for (p = list, r %= *n; r; r--)
		p = strchr(p, ',') + 1;
	return (unsigned)atoi(p);
}

static int name(const char *const *names, int n, const char *s)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], s))
			return i;
	return -1;
}

static void lay_out(struct job *j)
{
	const size_t n = (size_t)j->count, all = n * (size_t)j->size;

	j->nin = j->what == BCAST ? 0 : j->what == SCATTER ? (j->rank ? 0 : all) : n;
	j->nout = j->what == GATHER ? (j->rank ? 0 : all) : j->what == REDUCE && j->rank ? 0 : n;
	j->in = malloc((j->nin + 1) * sizeof *j->in);
	j->out = malloc((j->nout + 1) * sizeof *j->out);
	if (!j->in || !j->out)
		no_memory(j);
}

int main(int argc, char **argv)
{
	struct job j = { .req = MPI_REQUEST_NULL };
	struct work_bench b = { .arg = &j,
				.exchange = exchange,
				.fill = fill,
				.start = start,
				.test = test,
				.wait = wait_for_it,
				.check = check,
				.no_memory = no_memory };
	int what, kind, cpus, provided;
	unsigned others;
	double us[WORK_PARTS], overlap, *scratch;
	struct work_spans *spans;

	if (argc != 9) {
		fputs("usage: overlap_mpi COLLECTIVE KIND BYTES ITERS TESTS WORK-USEC CPU[,CPU...] COMM-CPU[,CPU...]\n", stderr);
		return 2;
	}
	/* This is what a program without threads of its own asks for; the environment of an MPI library may raise it. */
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.size);
	what = name(collective_names, COLLECTIVES, argv[1]);
	kind = name(kind_names, KINDS, argv[2]);
	if (what < 0 || kind < 0 || (kind == PERSISTENT_KIND && !HAS_PERSISTENT)) {
		fprintf(stderr, "overlap_mpi: this library has no %s %s\n", argv[2], argv[1]);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	j.what = (enum collective)what;
	j.kind = (enum kind)kind;
	j.count = (int)(atol(argv[3]) / (long)sizeof(double));
	b.ranks = (uint32_t)j.size;
	b.iters = (size_t)atol(argv[4]);
	b.warmup = 10;
	b.tests = (uint64_t)atol(argv[5]);
	b.work_us = atof(argv[6]);
	others = cpu_of(argv[8], j.rank, &cpus);
	pin_all(cpu_of(argv[7], j.rank, &cpus), others);
	b.crowded = j.size > cpus;
	j.spins = b.crowded ? 0 : SPINS;
	lay_out(&j);
	j.board = shared(rt_board_size(b.ranks) + 64, j.rank);
	j.board = (struct rt_board *)(((uintptr_t)j.board + 63) / 64 * 64);
	spans = shared(b.ranks * b.iters * sizeof *spans, j.rank);
	scratch = malloc(b.iters * sizeof *scratch);
	if (!scratch)
		no_memory(&j);
	if (j.rank == 0)
		j.board->size = b.ranks;
	MPI_Barrier(MPI_COMM_WORLD);
	if (j.kind == PERSISTENT_KIND)
		init(&j);
	if (work_measure(&b, spans + (size_t)j.rank * b.iters))
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	if (j.rank == 0) {
		overlap = work_overlap(spans, b.ranks, b.iters, scratch, us);
		printf("%.2f %.2f %.2f %.4f\n", us[WORK_COMM], us[WORK_COMPUTE], us[WORK_BOTH], overlap);
	}
	if (j.kind == PERSISTENT_KIND)
		MPI_Request_free(&j.req);
	MPI_Finalize();
	return 0;
}
