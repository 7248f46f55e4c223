/* SPDX-License-Identifier: BSD-3-Clause
 * Waiting: spinning, yielding and sleeping (wait.c). */
#ifndef RUNTIME_WAIT_H
#define RUNTIME_WAIT_H

#include "runtime/request.h"
#include "util/clock.h"

/* How to go on after a brief spin: what GOAL_WAIT names. */
enum rt_policy { RT_SPIN, RT_YIELD, RT_BLOCK, RT_LEARN, RT_WAITS };
extern const char *const rt_wait_names[RT_WAITS];

/* That of the environment, or -ERR_ARG. */
int rt_policy(void);

/* Makes energy_lock. */
void rt_energy_init(struct mpix_sched_ctx *ctx);

/* What to do after a turn of waiting in which nothing came. */
enum rt_due {
	RT_AGAIN, /* the next turn */
	RT_LOOK, /* look at what costs system calls first: deaths, questions of the user */
	RT_SLEEP /* the same after rt_wait_sleep; the caller holds nothing that others need meanwhile */
};

/* A thread that waits. It has begun to wait, looks at all that it waits for, takes a step, looks again; where
 * a step wants it to sleep nothing has come since it said so to others. */
struct rt_wait {
	struct mpix_sched_request *req;
	uint64_t turn, pause; /* turns so far; the next that is more than a pause */
	uint64_t look; /* the turn of the next RT_LOOK */
	uint64_t until; /* the turn up to which it spins */
	uint64_t since; /* ns; 0: it is not traced */
	uint64_t began, looked; /* to do more than to spin, and the last RT_LOOK since, ns; 0: not yet */
	uint64_t alarm; /* look again then although nobody rings, ns; set by the caller while armed */
	uint32_t seen; /* of the bell */
	uint32_t sleeps;
	uint8_t policy; /* enum rt_policy */
	bool awake; /* it waits for more than the bell is for, and does not sleep */
	bool held; /* the caller has taken the request */
	bool armed; /* the bell */
	bool partly; /* set by the caller: it could not look at all that the bell is for */
};

#define RT_LOOK_TURNS 64u /* between two RT_LOOK; each may yield the core to a busy process */
#define RT_WAKE_NS 50000u /* about what it takes to sleep and to wake up */

/* RT_LEARN: whether the last waits say that it will take longer than to wake up. */
static inline bool rt_waits_long(const struct rt_wait *w)
{
	return w->policy == RT_LEARN && w->req->mean_ns > RT_WAKE_NS;
}

/* Begins to wait for a request of its context. */
static inline void rt_wait_begin(struct rt_wait *w, struct mpix_sched_request *req, bool held)
{
	const struct mpix_sched_ctx *ctx = req->ctx;

	w->req = req;
	w->turn = w->began = 0;
	w->since = ctx->trace ? clock_now_ns() : 0;
	w->look = RT_LOOK_TURNS;
	w->policy = (uint8_t)ctx->policy;
	w->until = rt_waits_long(w) ? 0 : req->group->spins;
	w->pause = w->until < w->look ? w->until : w->look;
	w->held = held;
	w->sleeps = 0;
	w->awake = w->armed = w->partly = false;
}

/* Whether this is a turn to spin. */
static inline bool rt_wait_spins(const struct rt_wait *w)
{
	return w->turn < w->until;
}

enum rt_due rt_wait_on(struct rt_wait *w);

/* A turn is over; or several, in which the caller has spun. */
static inline enum rt_due rt_wait_step(struct rt_wait *w, unsigned turns)
{
	w->turn += turns;
	if (w->turn >= w->pause)
		return rt_wait_on(w);
	if (turns == 1)
		be_pause();
	return RT_AGAIN;
}

/* After RT_SLEEP. */
void rt_wait_sleep(struct rt_wait *w);

void rt_wait_over(struct rt_wait *w);

/* It has come. */
static inline void rt_wait_end(struct rt_wait *w)
{
	if (w->began || w->since || w->req->mean_ns)
		rt_wait_over(w);
}

#endif
