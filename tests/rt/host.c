/* SPDX-License-Identifier: BSD-3-Clause
 * host RUNS [SEED]: rank 0, which hosts the communication of all, frees its groups, exits or is killed, while the ranks
 * communicate in two groups, of which one is without it. The others go on in that group with the right data, or get an
 * error that names rank 0; they get it within 1 s from the group with rank 0 when that is killed. Prints a line. */
#include "tests/rt/team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 4, FIRST = 20, REST = 100 /* epochs: with rank 0, and without it */, LIMIT = 20 /* s */ };
enum how { LEAVES, EXITS, KILLED, HOWS };

static const char *const hows[HOWS] = { "leaves", "exits", "is killed" };

struct plan {
	enum how how;
	size_t count;
	bool heap;
	useconds_t after;
};

struct shared {
	struct team team;
	_Atomic int running, over; /* ranks that have begun, or are done */
	_Atomic int wrong;
	_Atomic int goal; /* the last epoch of the group without rank 0 */
	double heard[RANKS]; /* of the death */
};

struct bound {
	MPIX_Sched_request req;
	int64_t *data, *add;
	size_t count;
	int rank; /* in its group */
	int epoch;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int memory(struct member *m, const struct plan *p, int64_t **out)
{
	*out = NULL;
	if (p->heap)
		CALL(MPIX_Sched_alloc(m->ctx, p->count * sizeof **out, (void **)out));
	else
		*out = calloc(p->count, sizeof **out);
	NEED(*out);
	return 0;
}

static int bind(struct member *m, MPIX_Sched_group group, const struct plan *p, struct bound *b)
{
	struct MPIX_Sched_bind with = { .struct_size = sizeof with,
					.nbuffers = 2,
					.count = p->count,
					.basic = MPIX_SCHED_INT64,
					.builtin = MPIX_SCHED_SUM };
	MPIX_Sched s;
	int size;

	b->count = p->count;
	if (memory(m, p, &b->data) || memory(m, p, &b->add))
		return 1;
	void *buffers[] = { b->data, b->add };

	with.buffers = buffers;
	CALL(MPIX_Sched_group_rank(group, &b->rank, &size));
	CALL(MPIX_Sched_load_mem(m->ctx, "chain.goal", team_sum_chain, strlen(team_sum_chain), &s));
	CALL(MPIX_Sched_init(s, group, &with, &b->req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int start(struct member *m, struct bound *b, int epoch)
{
	for (size_t i = 0; i < b->count; i++) {
		b->data[i] = b->rank ? -1 : epoch + (int64_t)i;
		b->add[i] = b->rank * 1000;
	}
	CALL(MPIX_Sched_start(b->req));
	return 0;
}

static int check(struct member *m, const struct bound *b, int epoch)
{
	for (size_t i = 0; i < b->count; i++)
		NEED(b->data[i] == epoch + (int64_t)i + b->rank * (b->rank + 1) / 2 * 1000);
	return 0;
}

static int died(struct member *m, int rc)
{
	char text[512];

	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	if (rc != MPIX_SCHED_ERR_DEAD || !strstr(text, "rank 0"))
		fprintf(stderr, "rank %d: status %d: %s\n", m->rank, rc, text);
	NEED(rc == MPIX_SCHED_ERR_DEAD && strstr(text, "rank 0"));
	return 0;
}

static int turn(struct member *m, struct bound *b)
{
	int rc;

	if (start(m, b, ++b->epoch))
		return 1;
	rc = MPIX_Sched_wait(b->req);
	return rc ? died(m, rc) : check(m, b, b->epoch);
}

/* Epochs in both groups, until rank 0 is gone. */
static int together(struct member *m, struct shared *sh, const struct plan *p, struct bound *all, struct bound *some)
{
	while (p->how == KILLED || all->epoch < FIRST) {
		int rc;

		if (start(m, all, ++all->epoch) || (some->req && turn(m, some)))
			return 1;
		rc = MPIX_Sched_wait(all->req);
		if (rc) {
			NEED(p->how == KILLED);
			sh->heard[m->rank] = now();
			return died(m, rc);
		}
		if (check(m, all, all->epoch))
			return 1;
		atomic_fetch_add(&sh->running, all->epoch == 1);
	}
	return 0;
}

/* Epochs of the group without it: so many more than the first rank had that came here. */
static int apart(struct member *m, struct shared *sh, struct bound *some)
{
	int none = 0;

	atomic_compare_exchange_strong(&sh->goal, &none, some->epoch + REST);
	while (some->epoch < atomic_load(&sh->goal))
		if (turn(m, some))
			return 1;
	return 0;
}

static int use(struct member *m, struct shared *sh, const struct plan *p)
{
	struct bound all = { 0 }, some = { 0 };
	MPIX_Sched_group group = NULL, sub = NULL;

	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &group));
	CALL(MPIX_Sched_group_split(group, m->rank ? 0 : MPIX_SCHED_UNDEFINED, 0, &sub));
	if (bind(m, group, p, &all) || (sub && bind(m, sub, p, &some)) || together(m, sh, p, &all, &some))
		return 1;
	if (m->rank == 0 || p->how != KILLED)
		CALL(MPIX_Sched_free(&all.req));
	CALL(MPIX_Sched_group_free(&group));
	if (m->rank && apart(m, sh, &some))
		return 1;
	if (m->rank)
		CALL(MPIX_Sched_free(&some.req));
	if (sub)
		CALL(MPIX_Sched_group_free(&sub));
	return 0;
}

static void be(struct shared *sh, const struct plan *p, int rank)
{
	struct member m = { .team = &sh->team, .rank = rank, .size = RANKS };
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = use(&m, sh, p);
	if (rc)
		atomic_fetch_add(&sh->wrong, 1);
	else if (rank == 0 || p->how != KILLED) /* else a request that has failed is bound yet */
		MPIX_Sched_ctx_free(&m.ctx);
	atomic_fetch_add(&sh->over, rank > 0);
	/* Rank 0 frees and stays; what the others find out is not to be each other's end. */
	while ((rank || p->how == LEAVES) && atomic_load(&sh->over) < RANKS - 1)
		usleep(1000);
	_exit(0);
}

static int one(const struct plan *p)
{
	struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[RANKS];
	double since = now(), killed = 0;
	int bad = 0;

	if (sh == MAP_FAILED)
		return 1;
	sh->team.size = RANKS;
	for (int r = 0; r < RANKS; r++)
		if ((pids[r] = fork()) == 0)
			be(sh, p, r);
	while (atomic_load(&sh->over) < RANKS - 1 && now() < since + LIMIT && !bad) {
		usleep(500);
		if (p->how == KILLED && !killed && atomic_load(&sh->running) == RANKS) {
			usleep(p->after);
			kill(pids[0], SIGKILL);
			killed = now();
		}
		bad = atomic_load(&sh->wrong);
	}
	if (atomic_load(&sh->over) < RANKS - 1 && !bad)
		bad = printf("a rank hangs\n");
	for (int r = 1; r < RANKS && killed && !bad; r++)
		if (sh->heard[r] > killed + 1)
			bad = printf("rank %d hears of it after %.3f s\n", r, sh->heard[r] - killed);
	if (bad)
		printf("rank 0 %s, %zu elements in the %s\n", hows[p->how], p->count, p->heap ? "heap" : "process");
	for (int r = 0; r < RANKS; r++) {
		if (bad)
			kill(pids[r], SIGKILL);
		waitpid(pids[r], NULL, 0);
	}
	munmap(sh, sizeof *sh);
	return bad != 0;
}

int main(int argc, char **argv)
{
	const int runs = argc > 1 ? atoi(argv[1]) : 9;
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	const size_t counts[] = { 1, 700, 50000 };
	int bad = 0;

	for (int i = 0; i < runs; i++) {
		struct plan p = { .how = (enum how)(i % HOWS),
				  .count = counts[i / HOWS % 3],
				  .heap = rand_r(&seed) % 2,
				  .after = (useconds_t)(rand_r(&seed) % 20000) };

		bad += one(&p);
		fflush(stdout);
	}
	printf("%s host %d runs\n", bad ? "FAIL" : "ok", runs);
	return bad != 0;
}
