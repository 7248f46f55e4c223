/* SPDX-License-Identifier: BSD-3-Clause
 * Trials of messages that are pulled or staged, whichever is faster.
 *
 * In a trial the message is first pulled for some epochs and then staged for some, and each rank measures how long it takes to
 * complete an epoch, from when all ranks that it exchanges such messages with have started. The last SM_TIMES epochs of each way
 * count. Before these each slot of the ring is used once, because a ring is fast only if it is in the caches, and in one epoch the
 * sender tries how to store chunks (fill.c). A message is as slow as the slower of its ends, so the sender tells the receiver what it has
 * measured. Messages of two ranks to each other thus go the same way.
 *
 * The epoch after those is by pull. When its bytes are announced, the receiver publishes its choice, and the sender sees that
 * because the send completes only when the receiver says so.
 *
 * The other work of a machine disturbs a trial as a whole, and one of the ways more than the other. A request starts with a trial,
 * when little is as it will be later. So there is another one after AGAIN epochs, then whenever there have been twice as many, and at
 * last every AGAIN_MOST epochs, and each choice counts the earlier trials, too. */
#include "backends/shm/sm.h"
#include "util/clock.h"

#define PULLED (SM_TIMES + 1) /* epochs of a trial by pull */
#define AGAIN ((uint64_t)37) /* more than a trial has, and prime: after a round number of starts a program often does something else */
#define AGAIN_MOST (8 * AGAIN)
#define LONG_TRIALS 3u /* epochs of a trial of a long message, which is pulled in the second and staged in the third */
/* Thousandths, about a tenth of the time: one epoch of each says little, and both ends have to make progress for a ring. */
#define LONG_GAIN 50

static bool is_long_trial(const struct sm_msg *m)
{
	return m->bytes >= SM_LONG;
}

uint64_t sm_trial_epochs(const struct sm_msg *m)
{
	return is_long_trial(m) ? LONG_TRIALS : PULLED + (m->ring.slots + m->chunks - 1) / m->chunks + 1 + SM_TIMES;
}

/* Returns the number of this epoch, counted from the begin of the latest trial. */
static inline uint64_t since_trial(const struct sm_bound *s)
{
	return s->epoch - s->learn.before;
}

bool sm_tries_fill(const struct sm_bound *s, const struct sm_msg *m)
{
	return m->mode == SM_LEARNED && !is_long_trial(m) && since_trial(s) == sm_trial_epochs(m) - SM_TIMES;
}

void sm_begin_trial(struct sm_bound *s)
{
	const uint64_t now = s->learn.again, next = now < AGAIN_MOST ? 2 * now : now + AGAIN_MOST;

	s->learn = (struct sm_learn){ .on = true, .before = now, .again = now ? next : AGAIN, .epochs = s->learn.epochs };
}

bool sm_ways_settled(const struct sm_bound *s)
{
	return s->learn.again == UINT64_MAX || since_trial(s) > s->learn.epochs + 1;
}

/* True if a message is pulled in epoch n of a trial. */
static bool is_pulled(const struct sm_msg *m, uint64_t n)
{
	return n <= (is_long_trial(m) ? LONG_TRIALS - 1 : PULLED);
}

void sm_find_way(const struct sm_bound *s, struct sm_msg *m)
{
	const uint64_t n = since_trial(s);

	if (n == 1)
		m->chosen = 0;
	if (n <= sm_trial_epochs(m)) {
		m->way = is_pulled(m, n) ? SM_PULL : SM_STAGED;
	} else if (n == sm_trial_epochs(m) + 1) {
		m->way = SM_PULL;
	} else {
		if (!m->chosen)
			m->chosen = (uint8_t)atomic_load_explicit(&m->out->way, memory_order_relaxed);
		m->way = m->chosen;
	}
}

/* Returns how long this rank has found an epoch to take in which the message is pulled, or staged; 0: it has not measured any. */
static uint64_t time_of(const struct sm_bound *s, const struct sm_msg *m, bool pulled)
{
	const uint64_t *t = s->learn.took[pulled];
	const uint64_t low = t[0] < t[1] ? t[0] : t[1], high = t[0] < t[1] ? t[1] : t[0];

	if (is_long_trial(m))
		return s->learn.brief[pulled];
	return t[2] < low ? low : t[2] > high ? high : t[2];
}

/* The same for both ends. */
static uint64_t trial_cost(const struct sm_bound *s, const struct sm_msg *m, bool pulled)
{
	const uint64_t mine = time_of(s, m, pulled), peers = m->in->took[pulled];

	return mine > peers ? mine : peers;
}

bool sm_chooses(const struct sm_bound *s, const struct sm_msg *m)
{
	return since_trial(s) == sm_trial_epochs(m) + 1 && !m->chosen;
}

/* The bytes of the epoch after the trials have been announced, and are not read yet. */
void sm_choose(const struct sm_bound *s, struct sm_msg *m)
{
	const int64_t pull = (int64_t)trial_cost(s, m, true), staged = (int64_t)trial_cost(s, m, false);

	/* An earlier trial counts half as much as the next. */
	m->gain /= 2;
	if (pull + staged)
		m->gain += (int)(1000 * (pull - staged) / (pull + staged));
	m->chosen = m->gain > (is_long_trial(m) ? LONG_GAIN : 0) ? SM_STAGED : SM_PULL;
	/* visible with the `done` of this epoch; pairs with the load in sm_find_way */
	atomic_store_explicit(&m->out->way, m->chosen, memory_order_relaxed);
}

/* True if all ranks with which this one exchanges learned messages have started the epoch. */
static bool all_started(const struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		const struct sm_msg *m = &s->msgs[s->head->descs[i].op];

		if (m->mode == SM_LEARNED && atomic_load_explicit(m->started, memory_order_relaxed) < s->epoch)
			return false;
	}
	return true;
}

/* Notes the time of an epoch in the place of the oldest of its way, and tells the receivers. */
static void record_trial(struct sm_bound *s, uint64_t took)
{
	const uint64_t n = since_trial(s);
	const bool pulled = n <= PULLED; /* of all that are not long */

	s->learn.took[pulled][n % SM_TIMES] = took;
	if (n <= LONG_TRIALS)
		s->learn.brief[n < LONG_TRIALS] = took;
	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		const struct sm_desc *e = &s->head->descs[i];
		const struct sm_msg *m = &s->msgs[e->op];

		/* visible with the announcement of a later epoch; pairs with the load in recv_learned */
		for (int way = 0; e->send && m->mode == SM_LEARNED && way < 2; way++)
			m->in->took[way] = time_of(s, m, way);
	}
}

int sm_progress_trial(struct sm_bound *s, unsigned who)
{
	const uint64_t now = clock_now_ns();
	int rc;

	if (!s->learn.since && all_started(s))
		s->learn.since = now;
	rc = dispatch_progress(&s->dispatcher, who);
	if (!rc)
		return 0;
	record_trial(s, s->learn.since ? clock_now_ns() - s->learn.since : 0); /* it may be complete before others have started */
	s->learn.since = 0;
	s->learn.on = since_trial(s) < s->learn.epochs;
	return rc;
}
