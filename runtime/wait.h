/* SPDX-License-Identifier: BSD-3-Clause
 * Waiting: spinning, yielding and sleeping (wait.c). */
#ifndef RUNTIME_WAIT_H
#define RUNTIME_WAIT_H

#include "runtime/request.h"
#include "util/clock.h"
#include "util/patience.h"

/* Policies of GOAL_WAIT: how a thread waits after a brief spin. */
enum rt_policy { RT_SPIN, RT_YIELD, RT_BLOCK, RT_LEARN, RT_WAITS };
extern const char *const rt_wait_names[RT_WAITS];

/* Returns the policy of GOAL_WAIT, or -ERR_ARG. */
int rt_policy(void);

/* Initialises ctx->energy_lock. */
void rt_energy_init(struct mpix_sched_ctx *ctx);

/* Next step of the caller after an iteration in which nothing arrived. */
enum rt_due {
	RT_AGAIN, /* the next iteration */
	RT_CHECK, /* first check for deaths and dumps, which costs system calls */
	RT_SLEEP /* call rt_wait_sleep, holding nothing that others need, and then check as for RT_CHECK */
};

/* State of a thread that waits. The caller makes progress on all that it waits for, calls rt_wait_step, and repeats. When a
 * step returns RT_SLEEP, nothing has arrived since the thread announced its sleep. */
struct rt_wait {
	struct mpix_sched_ctx *ctx;
	struct mpix_sched_request *req; /* NULL in MPIX_Sched_wait_until */
	uint64_t spun, pause; /* spun: iterations so far; pause: number of the next iteration that must call rt_wait_on */
	uint64_t next_check; /* iteration of the next RT_CHECK */
	uint64_t until; /* iteration up to which it spins */
	uint64_t since; /* start of the wait for the trace, ns; 0: the wait is not traced */
	uint64_t began, checked; /* when the first spin ended, and when the last RT_CHECK was, ns; 0: not yet */
	uint64_t alarm; /* time of the next check even if no bell is rung, ns; set by the caller while armed */
	struct patience patience; /* valid once the first spin has ended */
	uint32_t seen; /* count of the bell when it was armed */
	uint32_t sleeps;
	uint8_t policy; /* enum rt_policy */
	bool adapts; /* valid once the first spin has ended: the thread spins once more before it yields (wait.c) */
	bool awake; /* the thread also waits for events that do not ring this bell, so it never sleeps for long */
	bool held; /* the caller holds the request's turn */
	bool armed; /* the thread has announced that it is about to sleep */
	bool counted; /* while armed: it is one of the context's sleepers */
	bool partly; /* set by the caller if it could not check everything for which the bell is rung */
};

#define RT_CHECK_SPINS 64u /* iterations between two RT_CHECK; an iteration may yield the CPU to a busy process */
#define RT_WAKE_NS 50000u /* approximate time to fall asleep and to wake up */

/* True for RT_LEARN if the last waits suggest that this one takes longer than waking up. */
static inline bool rt_waits_long(const struct rt_wait *w)
{
	return w->policy == RT_LEARN && w->req && w->req->mean_ns > RT_WAKE_NS;
}

/* Begins to wait for a request. held: the caller holds its turn. */
static inline void rt_wait_begin(struct rt_wait *w, struct mpix_sched_request *req, bool held)
{
	struct mpix_sched_ctx *ctx = req->ctx;

	w->ctx = ctx;
	w->req = req;
	w->spun = w->began = 0;
	w->since = ctx->trace ? clock_now_ns() : 0;
	w->next_check = RT_CHECK_SPINS;
	w->policy = (uint8_t)ctx->policy;
	w->until = rt_waits_long(w) ? 0 : req->group->spins;
	w->pause = w->until < w->next_check ? w->until : w->next_check;
	w->held = held;
	w->sleeps = 0;
	w->awake = w->armed = w->partly = false;
}

/* True if a wait for a request that completes at once has to begin and end, too: it is traced, or changes the mean. */
static inline bool rt_wait_counts(const struct mpix_sched_request *req)
{
	return req->ctx->trace || req->mean_ns;
}

/* Begins a wait for requests of a context and for other things, which ring no bell. */
void rt_wait_begin_until(struct rt_wait *w, struct mpix_sched_ctx *ctx);

/* True if this iteration spins. */
static inline bool rt_wait_spins(const struct rt_wait *w)
{
	return w->spun < w->until;
}

enum rt_due rt_wait_on(struct rt_wait *w);

/* Ends an iteration, or several in which the caller has spun. */
static inline enum rt_due rt_wait_step(struct rt_wait *w, unsigned spins)
{
	w->spun += spins;
	if (w->spun >= w->pause)
		return rt_wait_on(w);
	if (spins == 1)
		be_pause();
	return RT_AGAIN;
}

/* Sleeps, after rt_wait_step has returned RT_SLEEP. */
void rt_wait_sleep(struct rt_wait *w);

/* As rt_wait_finish, also for waits without a request. */
void rt_wait_over(struct rt_wait *w);

/* Ends the wait: what it waited for has arrived. */
static inline void rt_wait_finish(struct rt_wait *w)
{
	if (w->began || w->since || w->req->mean_ns)
		rt_wait_over(w);
}

#endif
