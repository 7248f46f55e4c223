/* SPDX-License-Identifier: BSD-3-Clause
 * The start of an epoch.
 *
 * A start issues the ready ops. Of long messages and long local ops that moves no bytes: it sets up what their polls need, and tells the
 * peers of messages by pull where the bytes are. When a program starts a long collective, its data have driven the code and the state
 * of ops out of the caches, and a start would mostly load them. So where all ready ops are long, what the peers were told stands for the
 * following epochs, and a start is brief: `started` says all that has changed, to all peers at once. All else has been prepared at the
 * end of the epoch before, and the first poll issues the ops. Where no fence is needed the runtime stores that word itself, and calls no
 * function here while nobody sleeps (be_bound.start_word).
 *
 * A start that has to tell the peers something else first takes back what stands. No reader is misled: a message by pull is complete at
 * its sender when the receiver has read it, and an invitation that is read too late finds no chunk that is not taken.
 * tests/spin/standing.pml is the Promela program. */
#include "backends/shm/answer.h"
#include "backends/shm/move.h"

/* Rings the bells of those that send to this rank; where stores need a fence, which comes before this, of all peers. */
static __attribute__((noinline)) void ring_peers(const struct sm_bound *s)
{
	const struct sm_desc *last = NULL;

	for (const struct sm_desc *e = s->head->descs, *end = e + s->head->ndescs; e < end && (s->fences || !e->send); last = e++)
		if (!last || last->peer != e->peer)
			be_ring_if(s->msgs[e->op].bells, false);
}

/* Called behind the store of `started`, and behind a fence where stores need one. */
static inline void ring_if_wanted(const struct sm_bound *s)
{
	atomic_signal_fence(memory_order_seq_cst); /* keeps the compiler from moving the load before the store, as in be_ring */
	if (__builtin_expect(atomic_load_explicit(&s->head->wanted, memory_order_relaxed) > s->epoch, 0))
		ring_peers(s);
}

/* Where stores need a fence before the bells are rung, one at the end of a start is for all of them. */
static __attribute__((noinline)) int start_fenced(struct sm_bound *s, unsigned who)
{
	int rc;

	s->quiet = true;
	rc = dispatch_start(&s->dispatcher, who);
	s->quiet = false;
	be_fence();
	if (s->tells)
		ring_peers(s);
	else
		ring_if_wanted(s);
	return rc;
}

static void add_bells(struct sm_bound *s, const struct be_bells *bells)
{
	bool listed = false;

	for (uint32_t i = 0; i < s->nstanding; i++)
		listed |= s->standing[i].at[0] == bells->at[0];
	if (!listed)
		s->standing[s->nstanding++] = *bells;
}

/* Lets a message stand, or takes that back. from: the first epoch, or 0 */
static void let_stand(struct sm_bound *s, struct sm_msg *m, uint64_t from)
{
	m->stands = from > 0;
	atomic_store_explicit(m->end == SM_SEND ? &m->in->stands : &m->out->stands, from, memory_order_relaxed);
	if (from)
		add_bells(s, m->bells);
}

/* Takes back what stands. The peers see that before they see that this rank has started. */
static void take_back(struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->b.nops && s->nstanding; i++)
		if (s->msgs[i].stands)
			let_stand(s, &s->msgs[i], 0);
	s->nstanding = 0;
}

/* True if all ready ops are long. */
static bool is_long_start(const struct sm_bound *s)
{
	const uint32_t *roots = s->dispatcher.ready, n = s->dispatcher.st->of[0].nroots;
	bool is_long = n > 0;

	for (uint32_t i = 0; i < n; i++)
		is_long &= !s->msgs[roots[i]].network && sm_is_long(s, roots[i]);
	return is_long;
}

/* Says that this rank has started the epoch under way. */
static inline void say_started(const struct sm_bound *s)
{
	/* Everything of the previous epoch has been read before this store; pairs with the load in sm_has_credit. */
	atomic_store_explicit(&s->head->started, s->epoch, memory_order_release);
}

static int start_issuing(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct sm_bound *s = (struct sm_bound *)bound;

	s->sh->epoch = epoch;
	sm_set_epoch(s, epoch);
	if (__builtin_expect(epoch > s->learn.again, 0))
		sm_begin_trial(s);
	say_started(s);
	if (__builtin_expect(s->fences, 0))
		return start_fenced(s, who);
	ring_if_wanted(s);
	return dispatch_start(&s->dispatcher, who);
}

/* A start whose epoch sm_begin_ahead has begun. */
static int start_briefly(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct sm_bound *s = (struct sm_bound *)bound;
	const struct be_bells *const end = s->standing + s->nstanding;

	(void)epoch;
	(void)who;
	say_started(s);
	if (__builtin_expect(s->fences, 0))
		be_fence();
	ring_if_wanted(s);
	for (const struct be_bells *b = s->standing; b < end; b++)
		be_ring_if(b, false);
	return 0;
}

/* True if a start of the backend does nothing but what this file does. */
static bool starts_alone(const struct sm_bound *s)
{
	return s->base.ops->start == sm_start;
}

/* Sets what starts the next epoch. A start finds that fastest in the request, unless the backend has something else to do as well. */
static void begin_by(struct sm_bound *s, be_start_fn *start)
{
	s->begin = start;
	s->base.start = starts_alone(s) ? start : s->base.ops->start;
	s->base.start_word = start == start_briefly && !s->fences ? &s->head->started : NULL;
}

static be_start_fn start_and_plan;

/* Has the next start tell the peers all that they have to know. */
static void plan_next(struct sm_bound *s)
{
	s->brief = false;
	begin_by(s, start_and_plan);
}

/* Finds out what the next starts have to do, when one has just issued the ready ops. The second time in a row it lets messages stand:
 * then the invitations of even and of odd epochs are the same. */
static void plan_starts(struct sm_bound *s)
{
	const uint32_t *roots = s->dispatcher.ready, n = s->dispatcher.st->of[0].nroots;
	const bool again = s->again;

	s->again = sm_ways_settled(s);
	if (!s->again)
		return;
	if (s->b.helped || s->trace || !starts_alone(s) || !is_long_start(s)) { /* in a trace an op is not received before it is sent */
		begin_by(s, start_issuing);
		return;
	}
	if (!again)
		return;
	s->brief = true;
	for (uint32_t i = 0; i < n; i++) {
		struct sm_msg *m = &s->msgs[roots[i]], *answer = m->end == SM_SEND ? sm_answer_to(s, m) : NULL;

		if (!sm_in_memory(s, roots[i]) || m->way != SM_PULL || !(m->end == SM_SEND ? m->now->begun : m->now->both))
			continue;
		let_stand(s, m, s->epoch + 1);
		if (answer)
			let_stand(s, answer, s->epoch + 1);
	}
}

static int start_and_plan(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct sm_bound *s = (struct sm_bound *)bound;
	int rc;

	plan_next(s);
	take_back(s);
	rc = start_issuing(bound, epoch, who);
	plan_starts(s);
	return rc;
}

void sm_plan_start(struct sm_bound *s)
{
	s->again = false;
	plan_next(s);
}

void sm_begin_ahead(struct sm_bound *s)
{
	if (s->epoch >= s->learn.again) { /* a trial begins */
		plan_next(s);
		return;
	}
	sm_next_epoch(s);
	dispatch_start_later(&s->dispatcher);
	begin_by(s, start_briefly);
}

int sm_start(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	return ((struct sm_bound *)bound)->begin(bound, epoch, who);
}
