/* SPDX-License-Identifier: BSD-3-Clause
 * collab: measures collaborative polling (Didelot et al., 2012) on four ranks. One rank computes while a message has
 * arrived that it must forward or reduce, and the others wait. The result is the time that this rank waits after it
 * has computed: if only its own thread makes progress, and if the others make progress for it. */
#include "bench/bench.h"
#include "include/mpix_sched.h"
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RANKS = 4, BUSY = 1 /* the rank that computes */, SAMPLES = 200, WARMUP = 5 };
enum mode { APP, COLLAB, MODES };
static const char *const mode_names[MODES] = { "app", "collab" };

struct shared {
	double ns[MODES][SAMPLES]; /* time that BUSY waits */
	double all_ns[MODES][SAMPLES]; /* from the start until the last rank has done */
	uint64_t done[RANKS];
	double work_ns; /* time in ns that BUSY computes */
	struct MPIX_Sched_stats stats[RANKS];
};

struct race {
	const char *schedule;
	size_t bytes;
	enum mode mode;
	struct shared *sh;
};

static const char *dir = "schedules";

static unsigned samples(void)
{
	return bench_options.quick ? SAMPLES / 10 : SAMPLES;
}

static int meet(struct member *m)
{
	char mine = 0, all[RANKS];

	return team_allgather(&mine, all, 1, m);
}

static void compute(double ns)
{
	const uint64_t t = bench_now();

	while ((double)(bench_now() - t) < ns)
		;
}

/* On two cores the rank that computes has one of them for itself, because the ranks that wait yield. */
static void pin(int rank)
{
	if (bench_cores() >= RANKS)
		bench_pin((unsigned)rank);
	else
		bench_pin(rank == BUSY);
}

/* Returns the data of a rank in start i. */
static double element(unsigned i, int rank)
{
	return (double)(i + (unsigned)rank);
}

static void fill(double *data, size_t n, double v)
{
	for (size_t k = 0; k < n; k++)
		data[k] = v;
}

static bool holds(const double *data, size_t n, double v)
{
	for (size_t k = 0; k < n; k++)
		if (data[k] != v)
			return false;
	return true;
}

struct buffers {
	double *mine, *result;
	size_t n;
	bool sums;
};

/* Runs one start with new data, and checks the result. Stores the time that BUSY waits in *wait_ns, and the time of all
 * ranks in *all_ns. */
static int run_once(struct member *m, MPIX_Sched_request req, const struct buffers *b, unsigned i, double *wait_ns,
		    double *all_ns)
{
	struct shared *sh = ((const struct race *)m->arg)->sh;
	const double sum = element(i, 0) * RANKS + RANKS * (RANKS - 1) / 2;
	uint64_t from, t;

	fill(b->mine, b->n, b->sums || m->rank == 0 ? element(i, m->rank) : -1);
	fill(b->result, b->n, -1);
	NEED(!meet(m));
	from = bench_now();
	CALL(MPIX_Sched_start(req));
	if (m->rank == BUSY)
		compute(sh->work_ns);
	t = bench_now();
	CALL(MPIX_Sched_wait(req));
	sh->done[m->rank] = bench_now();
	*wait_ns = (double)(sh->done[m->rank] - t);
	NEED(!meet(m));
	for (int r = 0; r < RANKS; r++)
		t = sh->done[r] > t ? sh->done[r] : t;
	*all_ns = (double)(t - from);
	NEED(b->sums ? m->rank || holds(b->result, b->n, sum) : holds(b->mine, b->n, element(i, 0)));
	return 0;
}

static int run_rank(struct member *m)
{
	const struct race *x = m->arg;
	struct shared *sh = x->sh;
	struct buffers b = { .n = x->bytes / sizeof(double), .sums = strstr(x->schedule, "reduce") };
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	const int64_t one = 1;
	const struct MPIX_Sched_param whole = { "segments", &one, 1 };
	MPIX_Sched_request req;
	MPIX_Sched s;
	char path[512];
	double wait_ns, all_ns;

	pin(m->rank);
	snprintf(path, sizeof path, "%s/%s.goal", dir, x->schedule);
	CALL(MPIX_Sched_load(m->ctx, path, &s));
	CALL(MPIX_Sched_get_info(s, &info));
	CALL(MPIX_Sched_alloc(m->ctx, x->bytes, (void **)&b.mine));
	CALL(MPIX_Sched_alloc(m->ctx, x->bytes, (void **)&b.result));
	void *buffers[] = { b.mine, m->rank ? NULL : b.result, NULL };
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = buffers,
					.nbuffers = info.nbuffers,
					.count = b.n,
					.basic = MPIX_SCHED_DOUBLE,
					.builtin = MPIX_SCHED_SUM,
					.params = &whole,
					.nparams = 1 };

	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	/* The computation takes twice as long as the whole collective alone, with the ranks' own threads. */
	for (unsigned i = 0; i < WARMUP; i++) {
		NEED(!run_once(m, req, &b, i, &wait_ns, &all_ns));
		if (m->rank == 0 && x->mode == APP && i == WARMUP - 1)
			sh->work_ns = 2 * all_ns;
	}
	for (unsigned i = 0; i < samples(); i++) {
		NEED(!run_once(m, req, &b, i, &wait_ns, &all_ns));
		if (m->rank == BUSY) {
			sh->ns[x->mode][i] = wait_ns;
			sh->all_ns[x->mode][i] = all_ns;
		}
	}
	sh->stats[m->rank].struct_size = sizeof *sh->stats;
	CALL(MPIX_Sched_stats(m->ctx, &sh->stats[m->rank]));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, b.mine));
	CALL(MPIX_Sched_dealloc(m->ctx, b.result));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static void report(const char *schedule, size_t bytes)
{
	struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bench_stats wait[MODES], all[MODES];
	char label[64];

	for (unsigned mode = 0; mode < MODES; mode++) {
		struct race x = { schedule, bytes, (enum mode)mode, sh };

		if (sh == MAP_FAILED || setenv("GOAL_PROGRESS", mode_names[mode], 1) || team_run(RANKS, false, run_rank, &x)) {
			fprintf(stderr, "collab: %s, %zu bytes, %s progress failed\n", schedule, bytes, mode_names[mode]);
			exit(1);
		}
		wait[mode] = bench_stats(sh->ns[mode], samples());
		all[mode] = bench_stats(sh->all_ns[mode], samples());
	}
	snprintf(label, sizeof label, "%s, %zu KiB", schedule, bytes >> 10);
	BENCH_ROW(label, sh->work_ns / 1e3, wait[APP].median / 1e3, wait[COLLAB].median / 1e3,
		  wait[APP].median / wait[COLLAB].median, 2, all[APP].median / 1e3, all[COLLAB].median / 1e3,
		  (double)(sh->stats[0].steals_local + sh->stats[0].steals_remote),
		  (double)(sh->stats[1].steals_local + sh->stats[1].steals_remote),
		  (double)(sh->stats[2].steals_local + sh->stats[2].steals_remote),
		  (double)(sh->stats[3].steals_local + sh->stats[3].steals_remote));
	munmap(sh, sizeof *sh);
}

static bool option(int c, const char *arg)
{
	(void)c;
	dir = arg;
	return true;
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv,
		    "usage: collab [-j] [-q] [-s DIR]\n"
		    "  -j  JSON          -q  fewer runs\n"
		    "  -s  where the schedules are\n",
		    "s:", option);
	bench_method("4 ranks are processes, with a core each, or rank 1 with one and the others with another; rank 1 computes "
		     "for twice as long as the collective takes with own threads, the others wait; all data are checked; "
		     "times are medians; steals: how often each rank made progress for another one, in all starts with collab");
	bench_table("what rank 1 waits after it has computed, us; all: until the last rank has done",
		    "collective,work,wait app,wait collab,ratio,at least,all app,all collab,steals 0,steals 1,steals 2,steals 3");
	report("bcast_chain", 64 << 10);
	report("bcast_chain", 1 << 20);
	report("reduce_chain", 64 << 10);
	report("reduce_chain", 1 << 20);
	return bench_end();
}
