/* SPDX-License-Identifier: BSD-3-Clause
 * Progress by threads other than the rank's own: communication cores, and what they share with ranks that help each other
 * (collab.c).
 *
 * Each process that has ranks placed on a communication core has a thread there, from the first request on that is bound to
 * it. The threads of one core pass a baton, so that one of them at a time polls; it makes progress for all ranks of the core
 * that it can reach. The baton only saves useless polling. The turn of a request ensures that only one thread at a time makes
 * progress on it. */
#include "runtime/comm.h"

#include "backends/services.h"
#include "runtime/heap/bell.h"
#include "util/clock.h"
#include "util/futex.h"
#include "util/thread.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- driving ---- */

static struct rt_hub *hub_of(const struct rt_driver *c)
{
	return &c->process->board->slots[c->slot].hub;
}

/* True if a thread that waits for the request has to wake: the request is complete, or has ops that only that thread may
 * carry out. */
static bool wakes_owner(const struct be_turn *t)
{
	return rt_turn_state(t) != RT_ACTIVE || atomic_load_explicit(&t->pending, memory_order_relaxed) & BE_APP;
}

void rt_comm_count(const struct mpix_sched_request *req, uint32_t step)
{
	atomic_fetch_add_explicit(&hub_of(req->driver)->active, step, memory_order_relaxed);
}

bool rt_drive(const struct rt_driven *it, uint64_t *moved, uint64_t *alarm)
{
	struct be_group *g = it->of->group;
	struct be_bound *b = it->bound;
	uint64_t before;
	bool wakes;
	int rc;

	if (rt_turn_state(b->turn) != RT_ACTIVE)
		return true;
	if (!rt_turn_take(b->turn, g->rank))
		return false;
	before = b->moved; /* read with the turn held: other threads of this process use this view, too */
	rc = rt_turn_state(b->turn) == RT_ACTIVE ? b->ops->progress(b, it->view ? BE_ANY : BE_ANY | BE_OWNER, 0) : 0;
	if (rc) {
		rt_turn_finish(b->turn, rc);
		rt_comm_count(it->of, -1u);
	} else if (alarm && b->ops->alarm(b) < *alarm) {
		*alarm = b->ops->alarm(b);
	}
	wakes = rc || (b->moved != before && wakes_owner(b->turn));
	*moved += b->moved - before;
	rt_turn_give(b->turn);
	if (wakes)
		be_ring(group_bells(g, it->rank));
	return true;
}

bool rt_inherit(struct mpix_sched_request *req)
{
	const struct be_group *g = req->group;
	uint32_t holder = atomic_load(&req->turn->holder);

	return holder && rt_rank_died(g->process, rt_root_rank(g, holder - 1)) &&
	       atomic_compare_exchange_strong(&req->turn->holder, &holder, g->rank + 1);
}

/* True if the thread has nothing to do, or has to end. */
static bool must_stop(const struct rt_driver *c)
{
	return atomic_load(&c->stop) || !atomic_load(&c->live);
}

/* Wakes threads that sleep on the bell of a core. */
static void ring_driver(const struct rt_driver *c)
{
	if (c->door->asks || !c->process->ordered)
		be_fence();
	be_ring_one(&c->door->bell[1], -1);
}

/* Makes the thread search for active requests again, and wakes it. */
static void wake_driver(const struct rt_driver *c)
{
	if (!c->door)
		return;
	atomic_fetch_add(&hub_of(c)->starts, 1);
	ring_driver(c);
}

/* ---- the baton ---- */

#define BATON_NS 100000000 /* interval of checks whether the holder of the baton is still alive */

#define CHANGE_NS 1000000 /* time that another thread gets to take a baton that was just passed */

/* Takes the baton. If this thread has just passed it, another one may take it first. Returns false if the thread has nothing
 * to do any more. The holder may just be falling asleep, and must wake to pass the baton on: either it sees `waiting` before
 * it sleeps, or the bell wakes it. */
static bool take_baton(struct rt_driver *c, bool passed)
{
	const uint32_t me = c->process->comm->lead + 1;
	struct rt_hub *hub = hub_of(c);
	bool taken = false;

	atomic_fetch_add(&hub->waiting, 1);
	ring_driver(c);
	if (passed)
		futex_wait(&hub->baton, 0, CHANGE_NS);
	while (!taken && !must_stop(c)) {
		uint32_t holder = 0;

		taken = atomic_compare_exchange_strong(&hub->baton, &holder, me);
		if (taken)
			break;
		if (futex_wait(&hub->baton, holder, BATON_NS) && errno == ETIMEDOUT &&
		    rt_rank_died(c->process, holder - 1))
			taken = atomic_compare_exchange_strong(&hub->baton, &holder, me);
	}
	atomic_fetch_sub(&hub->waiting, 1);
	return taken;
}

/* Releases the baton and wakes a thread that waits for it. Returns true if there is one. */
static bool give_baton(struct rt_driver *c)
{
	atomic_store(&hub_of(c)->baton, 0);
	return futex_wake(&hub_of(c)->baton, 1) > 0;
}

/* ---- the thread ---- */

/* Findings of a round over the active requests (bits). */
enum {
	MOVED = 1,
	OPEN = 2, /* a request is still active */
	BUSY = 4, /* somebody else holds the turn of a request */
	STRAY = 8, /* there is a request whose peers ring the bell of another core */
	ELSEWHERE = 16 /* another process has to make progress */
};

/* Lists the requests that have become active. drive_active removes those that are not active any more. */
static void find_active(struct rt_driver *c, uint32_t starts)
{
	c->seen = starts;
	c->changed = false;
	c->active.n = 0;
	for (uint32_t i = 0; i < c->driven.n; i++) {
		const struct rt_driven *it = &c->driven.at[i];

		if (rt_turn_state(it->bound->turn) == RT_ACTIVE && !atomic_load(&it->of->ctx->paused))
			c->active.at[c->active.n++] = i;
	}
}

/* Makes progress on an active request. Returns what it has found. */
static unsigned drive_one(const struct rt_driven *it, uint64_t *alarm)
{
	const struct be_turn *t = it->bound->turn;
	uint64_t moved = 0;
	unsigned found = rt_drive(it, &moved, alarm) ? 0 : BUSY;

	found |= moved ? MOVED : 0;
	if (rt_turn_state(t) != RT_ACTIVE)
		return found;
	if (it->view && atomic_load_explicit(&t->pending, memory_order_relaxed) & BE_OWNER)
		found |= ELSEWHERE;
	return found | OPEN | (it->stray ? STRAY : 0);
}

/* Makes progress on all active requests once. Returns what it has found. */
static unsigned drive_active(struct rt_driver *c, uint64_t *alarm)
{
	uint32_t starts = atomic_load(&hub_of(c)->starts);
	unsigned found = 0;

	pthread_rwlock_rdlock(&c->lock);
	if (starts != c->seen || c->changed)
		find_active(c, starts);
	for (size_t k = 0; k < c->active.n;) {
		const unsigned one = drive_one(&c->driven.at[c->active.at[k]], alarm);

		found |= one;
		if (one & OPEN)
			k++;
		else
			c->active.at[k] = c->active.at[--c->active.n];
	}
	/* The hub also counts requests of groups to which no rank of this process belongs. */
	if (atomic_load_explicit(&hub_of(c)->active, memory_order_relaxed) > c->active.n)
		found |= ELSEWHERE;
	pthread_rwlock_unlock(&c->lock);
	return found;
}

#define YIELDS 100u /* iterations of yielding before a thread sleeps */
/* On a core without ranks a thread polls that long before it sleeps, if work came back so soon the last time: to wake it would take
 * the rank that starts the next request several microseconds. */
#define LINGER_NS 1000000u
#define SLEEP_NS 50000000u /* longest sleep while a request is active */
#define NAP_NS 1000000u /* longest sleep while something may happen for which no bell is rung */
#define IDLE_NS 3600000000000u

/* Records a sleep in the trace of one of the contexts that the thread serves. */
static void trace_sleep(struct rt_driver *c, uint64_t since)
{
	struct be_group *g;

	pthread_rwlock_rdlock(&c->lock);
	g = c->driven.n ? c->driven.at[0].of->group : NULL;
	if (g && group_traces(g))
		group_trace(g, (struct be_event){ .begin = since,
						  .end = clock_now_ns(),
						  .rank = g->rank,
						  .peer = BE_NOBODY,
						  .what = BE_EVENT_SLEEP });
	pthread_rwlock_unlock(&c->lock);
}

#define PASS_SPINS 2u /* iterations without progress before another process gets the baton */
#define KEEP_TURNS 100u /* iterations before another process gets the baton even if there is progress */
/* Times that the baton is passed without progress, plus 2 per rank, before the threads sleep. */
#define PASSES 64u

/* Announces that the thread is about to sleep. */
static void arm_driver(struct rt_driver *c)
{
	atomic_fetch_add_explicit(&c->process->board->sleepers, 1, memory_order_acq_rel);
	c->heard = rt_bell_arm(&c->door->bell[1], c->door->asks);
	c->armed = true;
	c->asked = false;
}

static void disarm_driver(struct rt_driver *c)
{
	if (c->armed) {
		rt_bell_disarm(&c->door->bell[1]);
		atomic_fetch_sub_explicit(&c->process->board->sleepers, 1, memory_order_relaxed);
	}
	c->armed = false;
}

/* Sleeps until the bell is rung, unless that has happened since the thread armed it. */
static void sleep_on(struct rt_driver *c, unsigned found, uint64_t alarm)
{
	const uint64_t now = clock_now_ns();
	uint64_t ns = found & (BUSY | STRAY) ? NAP_NS : found & OPEN ? SLEEP_NS : IDLE_NS;

	if (alarm < now + ns)
		ns = alarm > now ? alarm - now : 0;
	if (rt_bell_sleep(&c->door->bell[1], c->heard, ns))
		atomic_store_explicit(&hub_of(c)->idle, 0, memory_order_relaxed);
	c->lingers = clock_now_ns() - c->idle_since < LINGER_NS;
	trace_sleep(c, now);
	disarm_driver(c);
}

/* True if the thread goes on polling, although it has found nothing for `spun` iterations. */
static bool polls_on(const struct rt_driver *c, unsigned spun)
{
	return spun < c->spins + YIELDS || (c->spins && c->lingers && clock_now_ns() - c->idle_since < LINGER_NS);
}

/* Makes progress on all active requests: spins, yields the CPU to others, and sleeps when nothing moves. Returns false when
 * there is nothing to do any more, and true when another process has to make progress.
 *
 * Before a thread sleeps, it arms the bell and checks all requests once more. Requests that only other processes may serve
 * must be checked by those: so the thread passes the baton once more, and sleeps if nothing has moved when it has the baton
 * again. tests/spin/baton.pml is the Promela program of this protocol. */
static bool run_driver(struct rt_driver *c)
{
	struct rt_hub *hub = hub_of(c);

	for (unsigned spun = 0, rounds = 0; !must_stop(c); rounds++) {
		uint64_t alarm = UINT64_MAX;
		const unsigned found = drive_active(c, c->armed ? &alarm : NULL);
		const bool others = found & ELSEWHERE && atomic_load(&hub->waiting);
		const bool quiet = atomic_load_explicit(&hub->idle, memory_order_relaxed) >= PASSES + 2 * c->process->size;
		/* If another thread has to make progress, this one does not spin: the other thread may run on the same CPU
		 * and wait for the baton. */
		const unsigned spins = found & ELSEWHERE ? 0 : c->spins;

		if (found & MOVED) {
			spun = 0;
			disarm_driver(c);
			atomic_store_explicit(&hub->idle, 0, memory_order_relaxed);
			if (found & ELSEWHERE && rounds >= KEEP_TURNS)
				return true;
		} else if (c->armed && others && !c->asked) {
			c->asked = true;
			return true;
		} else if (c->armed && (quiet || !others)) {
			sleep_on(c, found, alarm);
			spun = 0;
			if (found & ELSEWHERE)
				return true;
		} else if (spun < PASS_SPINS) {
			if (!spun)
				c->idle_since = clock_now_ns();
			rt_relax(spun++, spins);
		} else if (others && !quiet) {
			disarm_driver(c); /* if it was armed, something has moved since */
			atomic_fetch_add_explicit(&hub->idle, 1, memory_order_relaxed);
			return true;
		} else if (!others && polls_on(c, spun)) {
			rt_relax(spun++, spins);
		} else {
			arm_driver(c);
		}
	}
	return false;
}

/* Makes progress whenever the thread has the baton, until there is nothing to do. */
static void serve_in_turns(struct rt_driver *c)
{
	bool passed = false;

	while (take_baton(c, passed)) {
		const bool passes = run_driver(c);

		passed = give_baton(c) && passes;
	}
	disarm_driver(c);
}

static bool wait_for_work(struct rt_driver *c)
{
	pthread_mutex_lock(&c->gate);
	while (must_stop(c) && !atomic_load(&c->stop))
		pthread_cond_wait(&c->opened, &c->gate);
	pthread_mutex_unlock(&c->gate);
	return !atomic_load(&c->stop);
}

/* Pins the calling thread. If the CPU is not, or no longer, in the cpuset, the thread runs where its process may. */
static void pin_thread(int32_t cpu)
{
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	cpu_set_t *set = cpu < 0 ? NULL : CPU_ALLOC((size_t)cpu + 1);

	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	(void)sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

static void *driver_main(void *arg)
{
	struct rt_driver *c = arg;

	prctl(PR_SET_NAME, "goal-comm");
	pin_thread(c->cpu);
	while (wait_for_work(c))
		serve_in_turns(c);
	return NULL;
}

/* Starts the thread of a core, with all signals blocked: they are for the application's threads. */
static int start_thread(struct mpix_sched_ctx *ctx, struct rt_driver *c)
{
	int err = 0;

	pthread_mutex_lock(&c->gate);
	if (!c->door)
		c->door = rt_door_of(c->process, c->slot);
	if (!c->door) {
		pthread_mutex_unlock(&c->gate);
		return rt_error(ctx, -ERR_SYS, "the heap of rank %u cannot be mapped", c->slot);
	}
	if (!c->running) {
		err = thread_start(&c->thread, driver_main, c);
		c->running = !err;
	}
	pthread_mutex_unlock(&c->gate);
	return err ? rt_error(ctx, -ERR_SYS, "pthread_create: %s", strerror(err)) : 0;
}

static void stop_thread(struct rt_driver *c)
{
	pthread_mutex_lock(&c->gate);
	atomic_store(&c->stop, true);
	pthread_cond_signal(&c->opened);
	pthread_mutex_unlock(&c->gate);
	wake_driver(c);
	futex_wake(&hub_of(c)->baton, INT_MAX);
	pthread_join(c->thread, NULL);
}

void rt_comm_free(struct rt_process *l)
{
	struct rt_comm *comm = l->comm;

	for (uint32_t k = 0; comm && k < comm->ndrivers; k++) {
		struct rt_driver *c = &comm->drivers[k];
		const bool forked = comm->pid != getpid();

		if (c->running && !forked)
			stop_thread(c);
		VEC_FREE(&c->driven);
		VEC_FREE(&c->active);
		if (forked) /* a child has no threads, but what they wait for looks as if they did */
			continue;
		pthread_mutex_destroy(&c->gate);
		pthread_cond_destroy(&c->opened);
		pthread_rwlock_destroy(&c->lock);
	}
	free(comm);
}

/* ---- requests ---- */

/* Recounts the requests that are not paused, and wakes the thread. The caller has changed the list and holds its lock. */
static void update_live(struct rt_driver *c)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->driven.n; i++)
		n += !atomic_load(&c->driven.at[i].of->ctx->paused);
	c->changed = true;
	pthread_mutex_lock(&c->gate);
	atomic_store(&c->live, n);
	pthread_cond_signal(&c->opened);
	pthread_mutex_unlock(&c->gate);
	wake_driver(c);
}

bool rt_comm_drives(const struct mpix_sched_request *req, uint32_t by, uint32_t rank)
{
	const struct be_group *g = req->group;
	const struct rt_peer *peers = g->process->peers;
	const struct rt_member *members = req->members;
	const uint32_t lead = peers[rt_root_rank(g, by)].lead;

	if (peers[rt_root_rank(g, by)].node != peers[rt_root_rank(g, rank)].node ||
	    lead == peers[rt_root_rank(g, rank)].lead || members[by].comm_core != members[rank].comm_core)
		return false;
	for (uint32_t r = 0; r < by; r++)
		if (members[r].comm_core == members[by].comm_core && peers[rt_root_rank(g, r)].lead == lead)
			return false;
	return true;
}

uint32_t rt_comm_views(const struct mpix_sched_request *req)
{
	const struct be_group *g = req->group;
	uint32_t n = 0;

	for (uint32_t r = 0; r < g->size; r++)
		n += rt_comm_drives(req, r, g->rank);
	return n;
}

static struct rt_driven driven_of(struct mpix_sched_request *req, uint32_t rank, struct be_bound *bound)
{
	struct be_group *g = req->group;
	const uint32_t slot = rt_root_rank(g, rank);

	return (struct rt_driven){ .bound = bound,
				   .of = req,
				   .rank = rank,
				   .slot = slot,
				   .view = bound != req->bound,
				   .stray = req->members[rank].comm_core != g->process->comm->driver_of[slot] };
}

static int add_driven(struct rt_driver *c, struct mpix_sched_request *req)
{
	const size_t n = c->driven.n + 1 + req->views.n;
	size_t at = 0;

	if (VEC_RESERVE(&c->driven, n) || VEC_RESERVE(&c->active, n))
		return -ERR_NOMEM;
	c->driven.at[c->driven.n++] = driven_of(req, req->group->rank, req->bound);
	for (uint32_t r = 0; r < req->group->size; r++)
		if (rt_comm_drives(req, req->group->rank, r))
			c->driven.at[c->driven.n++] = driven_of(req, r, req->views.at[at++]);
	update_live(c);
	return 0;
}

int rt_comm_join(struct mpix_sched_request *req)
{
	struct rt_comm *comm = req->group->process->comm;
	struct rt_driver *c = &comm->drivers[rt_comm_core(req)];
	int err = comm->progress == RT_THREAD ? start_thread(req->ctx, c) : 0;

	if (err)
		return err;
	pthread_mutex_lock(&req->ctx->lock); /* set_paused reads `driver` under this lock */
	req->driver = c;
	pthread_mutex_unlock(&req->ctx->lock);
	pthread_rwlock_wrlock(&c->lock);
	err = add_driven(c, req);
	pthread_rwlock_unlock(&c->lock);
	return rt_fail(req->ctx, err);
}

static void remove_driven(struct rt_driver *c, const struct mpix_sched_request *req)
{
	size_t n = 0;

	pthread_rwlock_wrlock(&c->lock);
	for (size_t i = 0; i < c->driven.n; i++)
		if (c->driven.at[i].of != req)
			c->driven.at[n++] = c->driven.at[i];
	c->driven.n = n;
	update_live(c);
	pthread_rwlock_unlock(&c->lock);
}

void rt_comm_leave(struct mpix_sched_request *req)
{
	if (req->driver)
		remove_driven(req->driver, req);
	for (size_t i = 0; i < req->views.n; i++)
		req->views.at[i]->ops->unbind(req->views.at[i]);
	VEC_FREE(&req->views);
}

void rt_comm_started(struct mpix_sched_request *req)
{
	wake_driver(req->driver);
}

/* ---- pausing ---- */

static int set_paused(struct mpix_sched_ctx *ctx, bool paused)
{
	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	atomic_store(&ctx->paused, paused);
	pthread_mutex_lock(&ctx->lock);
	for (size_t i = 0; i < ctx->requests.n; i++) {
		struct rt_driver *c = ctx->requests.at[i]->driver;

		if (!c)
			continue;
		pthread_rwlock_wrlock(&c->lock); /* waits for the end of a round that has begun */
		update_live(c);
		pthread_rwlock_unlock(&c->lock);
	}
	pthread_mutex_unlock(&ctx->lock);
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_progress_pause(MPIX_Sched_ctx ctx)
{
	return set_paused(ctx, true);
}

int MPIX_Sched_progress_resume(MPIX_Sched_ctx ctx)
{
	return set_paused(ctx, false);
}
