/* SPDX-License-Identifier: BSD-3-Clause
 * Which core communicates for which rank: what each rank asks for, and the choice for all ranks of a node. */
#include "runtime/comm.h"

#include "runtime/placement/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- settings of a rank ---- */

const char *const rt_progress_names[RT_PROGRESSES] = { "app", "thread", "collab" };

#define NO_CPU (-1) /* communication is not pinned */
#define CPU_ASKED (-2) /* the library chooses the CPU */

/* Finds the CPU for the communication of a rank: number (rank mod n) of the n numbers of GOAL_COMM_CPUS. */
static int find_cpu(struct mpix_sched_ctx *ctx, uint32_t rank, int32_t *cpu)
{
	const char *s = env_get(ENV_GOAL_COMM_CPUS);
	uint32_t n = 1;

	*cpu = CPU_ASKED;
	if (!*s)
		return 0;
	for (const char *p = s; *p; p++)
		n += *p == ',';
	for (uint32_t i = 0; i < n; i++) {
		char *end;
		long v;

		errno = 0;
		v = strtol(s, &end, 10);
		if (end == s || errno || v < NO_CPU || v > INT32_MAX || *end != (i + 1 < n ? ',' : '\0'))
			return rt_bad_env(ctx, ENV_GOAL_COMM_CPUS);
		if (i == rank % n)
			*cpu = (int32_t)v;
		s = end + 1;
	}
	return 0;
}

int rt_comm_ask(struct mpix_sched_ctx *ctx, uint32_t rank, struct rt_comm_config *w)
{
	const char *name = env_get(ENV_GOAL_PROGRESS);

	rt_cpus_get(&w->cpus);
	w->cpu = NO_CPU;
	for (w->progress = RT_APP; w->progress < RT_PROGRESSES; w->progress++)
		if (!strcmp(rt_progress_names[w->progress], name))
			return w->progress == RT_THREAD ? find_cpu(ctx, rank, &w->cpu) : 0;
	return rt_bad_env(ctx, ENV_GOAL_PROGRESS);
}

int rt_comm_compare(struct mpix_sched_ctx *ctx, const struct rt_comm_config *zero, const struct rt_comm_config *w, uint32_t rank)
{
	if (w->progress != zero->progress)
		return rt_error(ctx, -ERR_MISMATCH, "rank %u has %s progress, rank 0 %s progress", rank,
				rt_progress_names[w->progress], rt_progress_names[zero->progress]);
	if ((w->cpu == CPU_ASKED) != (zero->cpu == CPU_ASKED))
		return rt_error(ctx, -ERR_MISMATCH, "GOAL_COMM_CPUS is not set on all ranks");
	return 0;
}

/* ---- choice of the communication cores ---- */

/* Marks the cores on which any of the ranks may run. Launchers bind ranks before the library sees them, so one rank's CPUs
 * are not enough. */
static void use_all(struct topology *t, const struct rt_comm_config *all, uint32_t n)
{
	for (uint32_t i = 0; i < t->ncores; i++) {
		struct topology_core *c = &t->cores[i];

		c->usable = false;
		for (uint32_t k = 0; k < c->ncpus; k++)
			for (uint32_t r = 0; r < n && !c->usable; r++)
				c->usable = rt_cpus_have(&all[r].cpus, t->cpus[c->first + k]);
	}
}

/* Chooses CPUs for communication, if goalrun has not. A rank that gets no core for communication has a thread that is not
 * pinned. */
static int choose_cpus(struct mpix_sched_ctx *ctx, uint32_t n, const struct rt_comm_config *all, int32_t *cpu)
{
	struct placement_asked asked = { 0 };
	struct placement p;
	struct topology t;
	struct text why = { 0 };
	long cores;
	int err = rt_env(ctx, ENV_GOAL_COMM_CORES, &cores);

	if (err)
		return err;
	err = placement_parse(env_get(ENV_GOAL_PLACEMENT), &asked);
	if (err)
		return err == -ERR_NOMEM ? rt_fail(ctx, err) : rt_bad_env(ctx, ENV_GOAL_PLACEMENT);
	asked.comm_cores = cores;
	err = topology_load(&t, false, &why);
	if (!err) {
		use_all(&t, all, n);
		err = placement_make(&p, &t, &asked, n, &why);
		for (uint32_t r = 0; r < n && !err; r++)
			cpu[r] = t.here && p.comm[r] != p.core[r] ? (int32_t)t.cpus[t.cores[p.comm[r]].first] : NO_CPU;
		if (!err)
			placement_free(&p);
		topology_free(&t);
	}
	if (err)
		rt_error(ctx, err, "communication cannot be placed: %s", why.at && !why.err ? why.at : err_text(err));
	free(why.at);
	VEC_FREE(&asked.list);
	return err;
}

static int by_cpu(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Numbers the communication cores, by ascending CPU. Ranks with the same CPU share one. cpu[i] is the CPU of ranks[i]. */
static void number_drivers(struct rt_comm *comm, const uint32_t *ranks, const int32_t *cpu, int32_t *sorted, uint32_t n)
{
	memcpy(sorted, cpu, n * sizeof *cpu);
	qsort(sorted, n, sizeof *sorted, by_cpu);
	for (uint32_t i = 0; i < n; i++)
		if (!i || sorted[i] != sorted[i - 1])
			comm->drivers[comm->ndrivers++].cpu = sorted[i];
	for (uint32_t r = n; r-- > 0;) {
		uint32_t k = 0;

		while (comm->drivers[k].cpu != cpu[r])
			k++;
		comm->driver_of[ranks[r]] = k;
		comm->drivers[k].slot = ranks[r]; /* in descending order, so that the lowest rank stays */
	}
}

/* Returns how many iterations a core's thread may spin: 0 if ranks may run on the core, because spinning would take CPU time
 * from them. */
static unsigned spins_of(int32_t cpu, const struct rt_comm_config *all, uint32_t n)
{
	if (cpu < 0)
		return 0;
	for (uint32_t r = 0; r < n; r++)
		if (rt_cpus_have(&all[r].cpus, (uint32_t)cpu))
			return 0;
	return RT_SPINS;
}

static void init_driver(struct rt_driver *c, struct rt_process *l)
{
	pthread_rwlockattr_t attr;

	c->process = l;
	pthread_mutex_init(&c->gate, NULL);
	pthread_cond_init(&c->opened, NULL);
	pthread_rwlockattr_init(&attr);
	/* Threads that make progress take the lock again and again. A writer, which changes the list, must get it in
	 * between. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&c->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

int rt_comm_make(struct mpix_sched_ctx *ctx, struct rt_process *l, uint32_t lead, const struct rt_comm_config *all)
{
	const uint32_t n = l->nnode_ranks;
	struct rt_comm *comm;
	int32_t *cpu;
	int err = 0;

	if (all->progress == RT_APP)
		return 0;
	comm = mem_calloc(1, sizeof *comm + n * sizeof *comm->drivers + l->size * sizeof *comm->driver_of);
	cpu = mem_calloc(2 * (size_t)n, sizeof *cpu);
	if (comm) {
		comm->progress = all->progress;
		comm->pid = getpid();
		comm->lead = lead;
		comm->drivers = (struct rt_driver *)(void *)(comm + 1);
		comm->driver_of = (uint32_t *)(void *)(comm->drivers + n);
	}
	if (!comm || !cpu)
		err = rt_fail(ctx, -ERR_NOMEM);
	else if (all->cpu == CPU_ASKED)
		err = choose_cpus(ctx, n, all, cpu);
	else
		for (uint32_t r = 0; r < n; r++)
			cpu[r] = all[r].cpu;
	if (!err)
		number_drivers(comm, l->node_ranks, cpu, cpu + n, n);
	free(cpu);
	if (err) {
		free(comm);
		return err;
	}
	for (uint32_t k = 0; k < comm->ndrivers; k++) {
		init_driver(&comm->drivers[k], l);
		comm->drivers[k].spins = spins_of(comm->drivers[k].cpu, all, n);
	}
	l->comm = comm;
	return 0;
}

/* The ops of a rank that name a communication core all name the same one. If no op names one, the placement decides. */
uint32_t rt_comm_core(const struct mpix_sched_request *req)
{
	const struct be_group *g = req->group;
	const struct rt_comm *comm = g->process->comm;
	const struct ir_rank *r = &req->rank;

	for (uint32_t i = 0; i < r->nops; i++)
		if (r->ops[i].exec == BIN_COMM && r->ops[i].cpu)
			return (r->ops[i].cpu - 1) % comm->ndrivers;
	return comm->driver_of[rt_root_rank(g, g->rank)];
}
