/* SPDX-License-Identifier: BSD-3-Clause
 * A thread that makes progress for a program that does not: it has started a request, and computes, or is blocked in another
 * call of MPI, while other ranks wait for its part. While no request is active, the thread sleeps. Otherwise it looks once
 * in TICK_NS. Only if a request that it saw the last time is still active, nobody waits for it here, so it makes progress. It
 * calls nothing of the MPI library, but at MPI_THREAD_MULTIPLE for transports (transport.c) and operations of the user (reduce.c):
 * below that it makes no progress while a request with such an operation is active. */
#include "mpi/inner.h"

#include "util/thread.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 1000000
#define SOON_NS 50000 /* until it looks again, when it has begun to help; twice as long each time, up to TICK_NS */
#define IDLE_TICKS 20 /* without a start: then it sleeps until the next one */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wakes;
	pthread_t thread;
	pid_t pid; /* process whose thread it is: a forked child has none; 0: none */
	bool ends;
	pthread_mutex_t turn; /* held during progress */
	int calls; /* active requests during which it may make none */
} helper = { .turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wakes = PTHREAD_COND_INITIALIZER };

struct gm_helper gm_helper;

/* Waits at most ns. Returns false if the thread has to end. */
static bool rest(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&helper.lock);
	while (!helper.ends && pthread_cond_timedwait(&helper.wakes, &helper.lock, &t) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&helper.lock);
	return !helper.ends;
}

/* Makes progress, and returns how many requests are active. */
static int make_progress(void)
{
	int active = 0;

	pthread_mutex_lock(&helper.turn);
	if (helper.calls) {
		active = helper.calls;
	} else {
		gm_lib.progress(gm_ctx(), &active);
		active += gm_nbc_progress();
	}
	pthread_mutex_unlock(&helper.turn);
	return active;
}

void gm_helper_stays_out(int step)
{
	pthread_mutex_lock(&helper.turn);
	helper.calls += step;
	pthread_mutex_unlock(&helper.turn);
}

/* Sleeps until a request is started, unless that has happened after `seen` starts. A thread that has started one and did not
 * see that this one sleeps has its count visible after the first rest, which is longer than any store takes. */
static void sleep_long(uint64_t seen)
{
	atomic_store(&gm_helper.sleeps, true);
	if (rest(TICK_NS)) {
		pthread_mutex_lock(&helper.lock);
		while (!helper.ends && atomic_load(&gm_helper.starts) == seen)
			pthread_cond_wait(&helper.wakes, &helper.lock);
		pthread_mutex_unlock(&helper.lock);
	}
	atomic_store(&gm_helper.sleeps, false);
}

static void *help(void *arg)
{
	uint64_t seen = 0;
	unsigned idle = 0;
	long ns = TICK_NS;

	(void)arg;
	while (rest(ns)) {
		const uint64_t starts = atomic_load(&gm_helper.starts);
		int active = 0;

		if (starts == seen)
			active = make_progress();
		ns = !active ? TICK_NS : ns == TICK_NS && !idle ? SOON_NS : 2 * ns < TICK_NS ? 2 * ns : TICK_NS;
		idle = starts != seen ? 0 : idle + 1;
		seen = starts;
		if (!active && idle > IDLE_TICKS)
			sleep_long(seen);
	}
	return NULL;
}

void gm_helper_begin(void)
{
	if (helper.pid == getpid())
		return;
	pthread_mutex_lock(&helper.lock);
	if (helper.pid != getpid()) {
		helper.ends = false;
		if (!thread_start(&helper.thread, help, NULL))
			helper.pid = getpid();
	}
	pthread_mutex_unlock(&helper.lock);
}

void gm_helper_end(void)
{
	if (!helper.pid || helper.pid != getpid())
		return;
	pthread_mutex_lock(&helper.lock);
	helper.ends = true;
	pthread_cond_broadcast(&helper.wakes);
	pthread_mutex_unlock(&helper.lock);
	pthread_join(helper.thread, NULL);
	helper.pid = 0;
}

void gm_helper_wake(void)
{
	pthread_mutex_lock(&helper.lock);
	pthread_cond_broadcast(&helper.wakes);
	pthread_mutex_unlock(&helper.lock);
}
