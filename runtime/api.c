/* SPDX-License-Identifier: BSD-3-Clause
 * Calls on requests: start, rebind, test, wait, free. One thread at a time makes progress on a request: the one that holds
 * its turn. A thread that waits makes progress on all active requests of the context, except those whose turn another
 * thread holds. */
#include "backends/services.h"
#include "runtime/active.h"
#include "runtime/board/board.h"
#include "runtime/comm.h"
#include "runtime/dump.h"
#include "runtime/wait.h"
#include "util/clock.h"

#include <limits.h>
#include <unistd.h>

int MPIX_Sched_init(MPIX_Sched sched, MPIX_Sched_group group, const struct MPIX_Sched_bind *bind,
		    MPIX_Sched_request *out)
{
	struct mpix_sched_request *req = NULL;
	int err;

	if (!group)
		return rt_invalid(sched ? sched->ctx : NULL);
	group->g.step = RT_INIT;
	err = rt_bind(sched, &group->g, out ? bind : NULL, &req);
	if (err)
		return -err;
	*out = req;
	return MPIX_SCHED_SUCCESS;
}

static bool is_active(MPIX_Sched_request req)
{
	return req && rt_state(req) >= RT_ACTIVE;
}

static bool is_done(MPIX_Sched_request req)
{
	return rt_state(req) == RT_DONE;
}

/* True if a communication core makes progress on the request. Then the rank's own threads carry out only the ops that
 * nobody else may. */
static inline bool has_comm_core(const struct mpix_sched_request *req)
{
	return req->helped && req->group->process->comm->progress == RT_THREAD &&
	       !atomic_load_explicit(&req->ctx->paused, memory_order_relaxed);
}

/* Returns which ops the rank's own threads carry out (bits of enum be_who). */
static inline unsigned own_part(const struct mpix_sched_request *req)
{
	return has_comm_core(req) ? BE_APP | BE_CALLS : BE_ALL;
}

/* Lowers the alarm of a thread that is about to sleep, so that it wakes in time to check the request again. The thread holds
 * the request's turn. */
static void note_alarm(struct rt_wait *w, const struct mpix_sched_request *req)
{
	uint64_t alarm = req->be->alarm(req->bound);

	if (alarm < w->alarm)
		w->alarm = alarm;
}

/* Wakes threads of this rank that wait for the request, and its communication core. */
static __attribute__((noinline)) void ring_own(const struct mpix_sched_request *req)
{
	if (!*req->single_threaded || req->helped)
		be_ring(req->bells);
}

/* Makes progress on those ops of a request that the rank's own threads carry out. Returns false if somebody else holds the
 * turn, who may not look at the request again before this thread sleeps. w: the wait, or NULL in a test. calls: BE_CALLS, or 0 if this thread must not call transports. */
static bool drive_part(struct mpix_sched_request *req, struct rt_wait *w, unsigned calls)
{
	uint64_t moved;

	if (rt_state(req) != RT_ACTIVE)
		return true;
	if (has_comm_core(req) && !(atomic_load_explicit(&req->turn->pending, memory_order_relaxed) & BE_APP))
		return true;
	if (!rt_take(req))
		return atomic_load(&req->watched_by_holder);
	moved = req->bound->moved;
	rt_advance(req, (own_part(req) & ~(unsigned)BE_CALLS) | calls);
	moved = req->bound->moved - moved;
	if (w && w->armed && !is_done(req))
		note_alarm(w, req);
	rt_give(req);
	if (moved && has_comm_core(req)) /* ops that have become ready may be for the communication core */
		ring_own(req);
	return true;
}

/* Makes progress on the active requests of a context, except `mine`, which may be NULL. w, calls: as for drive_part */
static void drive_context(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *mine, struct rt_wait *w,
			  unsigned calls)
{
	bool partly = false;

	if (pthread_mutex_trylock(&ctx->lock)) {
		partly = true;
		goto out;
	}
	for (size_t i = 0; i < ctx->requests.n; i++) {
		struct mpix_sched_request *req = ctx->requests.at[i];

		if (req == mine || rt_state(req) != RT_ACTIVE)
			continue;
		partly |= !drive_part(req, w, calls);
		if (is_done(req))
			ring_own(req);
	}
	pthread_mutex_unlock(&ctx->lock);
out:
	if (w)
		w->partly |= partly;
}

static void drive_others(const struct mpix_sched_request *mine, struct rt_wait *w)
{
	if (rt_active_others(mine))
		drive_context(mine->ctx, mine, w, BE_CALLS);
}

/* True if a rank that waits for the request makes progress for other ranks, too. */
static inline bool helps_others(const struct mpix_sched_request *req)
{
	return req->driver && req->driver->process->comm->progress == RT_COLLAB;
}

/* Longest sleep of a rank that helps others: the bells of other ranks do not wake it. */
#define HELP_NS 1000000u

static void help_others(const struct mpix_sched_request *mine, struct rt_wait *w)
{
	uint64_t soon;

	if (!rt_collab_help(mine) || !w || !w->armed)
		return;
	soon = clock_now_ns() + HELP_NS;
	w->alarm = w->alarm < soon ? w->alarm : soon;
}

/* False if a test of another request has made progress on all since the last test of this one. So a loop that tests each of n
 * requests makes progress on all n once, not n times. A count that another thread's store undoes lets a test make progress
 * once more, or once less. */
static bool others_due(struct mpix_sched_request *mine)
{
	const uint32_t passes = atomic_load_explicit(&mine->ctx->passes, memory_order_relaxed);
	const bool due = mine->passes == passes;

	mine->passes = passes + due;
	if (due)
		atomic_store_explicit(&mine->ctx->passes, mine->passes, memory_order_relaxed);
	return due;
}

/* Makes progress on the request `mine`, and then on all other active requests of its context. w: the wait for it, or NULL in a
 * test */
static void progress_all(struct mpix_sched_request *mine, struct rt_wait *w)
{
	if (!drive_part(mine, w, BE_CALLS) && w)
		w->partly = true;
	if (w || others_due(mine))
		drive_others(mine, w);
	if (helps_others(mine) && !is_done(mine))
		help_others(mine, w);
}

#define HEIR_SPINS 256u /* attempts to take a turn between two checks whether its holder is still alive */

static __attribute__((noinline, cold)) void hold_in_time(struct mpix_sched_request *req)
{
	for (unsigned spun = 1; !rt_take(req); spun++) {
		rt_relax(spun, req->helped ? req->group->spins : UINT_MAX);
		if (spun % HEIR_SPINS == 0 && req->helped && rt_inherit(req))
			break;
	}
}

/* Takes the turn of a request. Waits while somebody else holds it. */
static inline void hold_request(struct mpix_sched_request *req)
{
	if (!rt_take(req))
		hold_in_time(req);
}

/* Returns the error for a call that needs an idle request: the request is active, or has failed. */
static int not_idle(struct mpix_sched_request *req)
{
	int err;

	if (is_active(req))
		return rt_error(req->ctx, -ERR_STATE, "the request is active already");
	err = group_check(req->group);
	return err ? err : rt_error(req->ctx, -ERR_STATE, "the request has failed before");
}

/* Starts an idle request that is not listed. helped: that of the request, a constant in each call, so that starts without helpers take no step for them */
static inline __attribute__((always_inline)) void start_request(struct mpix_sched_request *req, bool helped)
{
	const bool held = __builtin_expect(!*req->single_threaded || helped, 0);
	int rc;

	if (held)
		hold_request(req); /* the last holder may not have given the turn back yet */
	if (helped && helps_others(req))
		rt_collab_here(req->group);
	rt_active_count(req, 1); /* may wait for earlier stores, so it comes before those for the peers */
	if (helped)
		rt_comm_count(req, 1);
	rc = req->bound->start(req->bound, ++req->epoch, helped ? own_part(req) : BE_ALL);
	rt_turn_set(req->turn, RT_ACTIVE);
	if (__builtin_expect(rc, 0))
		rt_finish_request(req, rc);
	rt_give(req);
	if (!rc && held)
		be_ring(req->bells); /* a sleeping thread does not know of the request yet */
	if (!rc && helped && has_comm_core(req))
		rt_comm_started(req);
}

static __attribute__((noinline)) void start_helped(struct mpix_sched_request *req)
{
	start_request(req, true);
}

/* Starts a request that is not listed, or returns the error if it is not idle. */
static __attribute__((noinline)) int start_counted(struct mpix_sched_request *req)
{
	if (rt_state(req) != RT_IDLE)
		return -not_idle(req);
	if (__builtin_expect(req->helped, 0))
		start_helped(req);
	else
		start_request(req, false);
	return MPIX_SCHED_SUCCESS;
}

/* True if a thread of this node may sleep. Called right after a store for which it may wait, as be_ring_if. */
static inline bool anyone_sleeps(const _Atomic uint32_t *sleepers)
{
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(atomic_load_explicit(sleepers, memory_order_relaxed) != 0, 0);
}

/* Once start_word is NULL, the request is active. Nobody need hold it: who finds it active finds all that has been prepared. */
static inline void set_active(struct mpix_sched_request *req)
{
	atomic_store_explicit(&req->start_word, NULL, memory_order_release);
}

/* Wakes threads of this rank, which do not know of the request yet. */
static __attribute__((noinline, cold)) int start_ringing(struct mpix_sched_request *req)
{
	ring_own(req);
	return MPIX_SCHED_SUCCESS;
}

/* Goes on with a start by start_word where a thread sleeps: wakes the peers that wait for it. */
static __attribute__((noinline, cold)) int start_waking(struct mpix_sched_request *req)
{
	req->bound->start(req->bound, req->epoch, BE_ALL);
	set_active(req);
	return start_ringing(req);
}

__attribute__((aligned(64))) /* in one line of code, for requests that are listed */
int MPIX_Sched_start(MPIX_Sched_request req)
{
	_Atomic uint64_t *start_word;
	const _Atomic uint32_t *sleepers;

	if (!req)
		return MPIX_SCHED_ERR_ARG;
	start_word = atomic_load_explicit(&req->start_word, memory_order_relaxed);
	if (!start_word)
		return start_counted(req);
	sleepers = req->sleepers;
	atomic_store_explicit(start_word, ++req->epoch, memory_order_release);
	if (anyone_sleeps(sleepers))
		return start_waking(req);
	set_active(req);
	if (anyone_sleeps(sleepers))
		return start_ringing(req);
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_rebind(MPIX_Sched_request req, void *const *buffers, size_t n)
{
	int err;

	if (!req)
		return MPIX_SCHED_ERR_ARG;
	if (n && !buffers)
		return -rt_error(req->ctx, -ERR_ARG, "buffers is NULL");
	if (rt_state(req) != RT_IDLE)
		return -not_idle(req);
	hold_request(req);
	err = rt_rebind(req, buffers, n);
	rt_give(req);
	return -err;
}

int MPIX_Sched_startall(size_t n, const MPIX_Sched_request *reqs)
{
	int rc = MPIX_SCHED_SUCCESS;

	if (n && !reqs)
		return MPIX_SCHED_ERR_ARG;
	for (size_t i = 0; i < n && !rc; i++)
		if (reqs[i])
			rc = MPIX_Sched_start(reqs[i]);
	return rc;
}

/* Checks whether an active request can still complete, and fails it if not. Dumps the pending ops if a dump is due. Costs
 * system calls, so the caller does it only now and then. The caller holds the turn; this function gives it back. */
static void check_request(struct mpix_sched_request *req)
{
	struct be_group *g = req->group;
	bool dump = false;
	int err;

	/* From the second check of an epoch on, this thread makes progress on all ops, because the communication core may
	 * get no CPU time. The first check does not, because it may come at once. */
	if (req->helped && req->checked == req->epoch)
		rt_advance(req, BE_ALL);
	req->checked = req->epoch;
	if (rt_state(req) == RT_ACTIVE) {
		err = group_check(g);
		for (uint32_t r = 0; r < g->size && !err; r++)
			if (group_left(g, r) && req->be->waits_for(req->bound, r)) {
				rt_advance(req, BE_ALL); /* rank r may have sent before it left */
				if (!is_done(req) && req->be->waits_for(req->bound, r))
					err = group_error(g, -ERR_DEAD, "rank %u has left the group", r);
				break;
			}
		if (err)
			rt_finish_request(req, err);
		else if (!is_done(req))
			dump = rt_dump_due(req);
	}
	rt_give(req);
	if (dump)
		MPIX_Sched_dump(req->ctx, STDERR_FILENO);
	while (atomic_load(&req->turn->wanted))
		rt_relax(0, 0);
}

/* Ends the epoch of a complete request, so that it can be started again, and gives back its turn, which the caller holds. */
static inline int finish_epoch(struct mpix_sched_request *req)
{
	int err = atomic_load_explicit(&req->turn->err, memory_order_relaxed);

	if (__builtin_expect(req->makes_pages, 0))
		rt_huge_go_on(req);
	if (req->counted)
		rt_active_count(req, -1u);
	rt_active_end(req, err ? NULL : req->bound->start_word);
	if (__builtin_expect(err, 0))
		rt_turn_set(req->turn, RT_FAILED);
	rt_give(req);
	return -err;
}

static int complete_request(struct mpix_sched_request *req)
{
	hold_request(req); /* the last holder may not have given the turn back yet */
	return finish_epoch(req);
}

/* Iterations that a backend may spin before the waiting thread checks anything else. */
#define MOST_SPINS 16u
/* Interval of the checks in tests: a program that only tests must notice deaths, too. */
#define CHECK_NS 100000000u

/* Makes progress once on the active requests of an array. Returns how many are active, and in *done how many of those are
 * complete. w: the wait for them, or NULL in a test. */
static size_t poll_all(size_t n, const MPIX_Sched_request *reqs, size_t *done, struct rt_wait *w)
{
	const struct mpix_sched_ctx *last = NULL;
	size_t active = 0, pending = 0;
	uint64_t now;

	for (size_t i = 0; i < n; i++) {
		if (!is_active(reqs[i]))
			continue;
		active++;
		if (w && reqs[i]->fragment && !is_done(reqs[i]))
			reqs[i]->be->join(reqs[i]->bound);
		/* progress_all makes progress on all requests of a context, so neighbours in the array with the same context
		 * need only one call. */
		if (!is_done(reqs[i]) && reqs[i]->ctx != last) {
			last = reqs[i]->ctx;
			progress_all(reqs[i], w);
		}
	}
	for (size_t i = 0; i < n; i++)
		pending += is_active(reqs[i]) && !is_done(reqs[i]);
	if (pending) {
		now = clock_recent_ns();
		for (size_t i = 0; i < n; i++)
			if (is_active(reqs[i]) && !is_done(reqs[i]) && now > reqs[i]->group->checked + CHECK_NS) {
				hold_request(reqs[i]);
				check_request(reqs[i]);
				pending -= is_done(reqs[i]);
			}
	}
	*done = active - pending;
	return active;
}

/* Waits for a request on which a communication core makes progress. */
static __attribute__((noinline)) int wait_for_core(MPIX_Sched_request req)
{
	int index;

	return MPIX_Sched_waitany(1, &req, &index);
}

/* Ends the wait for a request whose turn the caller holds, and whose progress has returned rc: 1 or an error. */
static inline void note_result(struct mpix_sched_request *req, int rc)
{
	if (req->driver)
		rt_finish_request(req, rc);
	else if (rc < 0) /* finish_epoch overwrites all else that rt_finish_request would set */
		atomic_store(&req->turn->err, rc);
}

/* Waits until a request is complete. The caller holds its turn. */
static __attribute__((noinline)) void await_request(struct mpix_sched_request *req)
{
	struct rt_wait w;

	rt_wait_begin(&w, req, true);
	while (!is_done(req)) {
		bool alone = rt_wait_spins(&w) && !rt_active_others(req);
		int rc = req->be->progress(req->bound, BE_ALL, alone ? MOST_SPINS : 0);
		enum rt_due due;

		if (rc) {
			note_result(req, rc);
			break;
		}
		if (helps_others(req))
			help_others(req, &w);
		if (w.armed) {
			atomic_store(&req->watched_by_holder, true);
			note_alarm(&w, req);
		}
		drive_others(req, &w);
		due = rt_wait_step(&w, alone ? MOST_SPINS : 1);
		if (due == RT_AGAIN)
			continue;
		atomic_store(&req->watched_by_holder, false);
		if (due == RT_SLEEP) {
			rt_give(req);
			rt_wait_sleep(&w);
			hold_request(req);
		}
		check_request(req);
		hold_request(req);
	}
	if (w.armed)
		atomic_store(&req->watched_by_holder, false);
	rt_wait_finish(&w);
}

/* Polls a request without helpers for as long as a spin, or once where it does not spin, without what a wait keeps. Returns true if that
 * completes it. */
static inline bool completes_soon(struct mpix_sched_request *req)
{
	int rc;

	if (req->helped || rt_wait_counts(req) || rt_active_others(req))
		return false;
	rc = req->be->progress(req->bound, BE_ALL, req->crowded ? 0 : MOST_SPINS);
	if (rc)
		note_result(req, rc);
	return rc;
}

int MPIX_Sched_wait(MPIX_Sched_request req)
{
	if (!is_active(req))
		return MPIX_SCHED_SUCCESS;
	/* The communication core does most of the work, so it suffices to be woken at the end. */
	if (has_comm_core(req))
		return wait_for_core(req);
	/* This thread polls all the time, so it keeps the turn until the request is complete. */
	hold_request(req);
	if (!is_done(req) && !completes_soon(req))
		await_request(req);
	/* The last poll may have taken messages of other requests from the device. A thread that sleeps on the device's
	 * descriptor does not notice that, so it is woken. */
	if (req->ctx->heap->event >= 0)
		ring_own(req);
	return finish_epoch(req);
}

int MPIX_Sched_test(MPIX_Sched_request req, int *flag)
{
	size_t done;

	if (!flag)
		return rt_invalid(req ? req->ctx : NULL);
	*flag = poll_all(1, &req, &done, NULL) == done;
	return *flag && is_active(req) ? complete_request(req) : MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_progress(MPIX_Sched_ctx ctx, int *active)
{
	uint32_t n;

	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	n = rt_active_number(ctx);
	if (n)
		drive_context(ctx, NULL, NULL, 0);
	if (active)
		*active = (int)n;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_request_get_status(MPIX_Sched_request req, int *flag, int *error)
{
	size_t done;

	if (!flag)
		return rt_invalid(req ? req->ctx : NULL);
	*flag = poll_all(1, &req, &done, NULL) == done;
	if (error)
		*error = req && *flag ? -atomic_load(&req->turn->err) : MPIX_SCHED_SUCCESS;
	return MPIX_SCHED_SUCCESS;
}

/* True if two requests of an array are of different contexts. */
static bool are_of_several(size_t n, const MPIX_Sched_request *reqs)
{
	const struct mpix_sched_request *last = NULL;

	for (size_t i = 0; i < n; i++) {
		if (last && reqs[i] && reqs[i]->ctx != last->ctx)
			return true;
		last = reqs[i] ? reqs[i] : last;
	}
	return false;
}

/* Waits for requests of several contexts in the order in which they complete: while this rank waited for one, it would make no progress
 * on those of the other contexts, and the peers may wait for them. Returns the first error in the order of the array. */
static int wait_by_turns(size_t n, const MPIX_Sched_request *reqs)
{
	int first = MPIX_SCHED_SUCCESS, at = 0, index, rc;

	do {
		rc = MPIX_Sched_waitany(n, reqs, &index);
		if (rc && (!first || index < at)) {
			first = rc;
			at = index;
		}
	} while (index != MPIX_SCHED_UNDEFINED);
	return first;
}

int MPIX_Sched_waitall(size_t n, const MPIX_Sched_request *reqs)
{
	int first = MPIX_SCHED_SUCCESS;

	if ((n && !reqs) || n > INT_MAX)
		return MPIX_SCHED_ERR_ARG;
	if (n > 1 && are_of_several(n, reqs))
		return wait_by_turns(n, reqs);
	for (size_t i = 0; i < n; i++) {
		int rc = MPIX_Sched_wait(reqs[i]);

		if (rc && !first)
			first = rc;
	}
	return first;
}

int MPIX_Sched_testall(size_t n, const MPIX_Sched_request *reqs, int *flag, int *errors)
{
	int first = MPIX_SCHED_SUCCESS;
	size_t done;

	if (!flag || (n && !reqs))
		return MPIX_SCHED_ERR_ARG;
	*flag = poll_all(n, reqs, &done, NULL) == done;
	for (size_t i = 0; i < n && *flag; i++) {
		int rc = is_active(reqs[i]) ? complete_request(reqs[i]) : MPIX_SCHED_SUCCESS;

		if (rc && !first)
			first = rc;
		if (errors)
			errors[i] = rc;
	}
	return first;
}

static int test_any(size_t n, const MPIX_Sched_request *reqs, int *index, int *flag, struct rt_wait *w)
{
	size_t done, active;

	if (!index || !flag || (n && !reqs) || n > INT_MAX)
		return MPIX_SCHED_ERR_ARG;
	active = poll_all(n, reqs, &done, w);
	*flag = done || !active;
	*index = MPIX_SCHED_UNDEFINED;
	for (size_t i = 0; i < n && done; i++)
		if (is_active(reqs[i]) && is_done(reqs[i])) {
			*index = (int)i;
			return complete_request(reqs[i]);
		}
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_testany(size_t n, const MPIX_Sched_request *reqs, int *index, int *flag)
{
	return test_any(n, reqs, index, flag, NULL);
}

/* Begins to wait for any request of an array. At least one of them is active. */
static void begin_any(struct rt_wait *w, const MPIX_Sched_request *reqs, size_t n)
{
	size_t i = 0;

	while (!is_active(reqs[i]))
		i++;
	rt_wait_begin(w, reqs[i], false);
	while (++i < n)
		w->awake |= is_active(reqs[i]) && reqs[i]->ctx != w->req->ctx;
}

/* Waits for one iteration, or sleeps. poll_all checks for deaths. */
static void step_any(struct rt_wait *w)
{
	if (rt_wait_step(w, 1) == RT_SLEEP)
		rt_wait_sleep(w);
}

int MPIX_Sched_waitany(size_t n, const MPIX_Sched_request *reqs, int *index)
{
	struct rt_wait w;
	int flag = 0, rc = test_any(n, reqs, index, &flag, NULL);

	if (rc || flag)
		return rc;
	for (begin_any(&w, reqs, n); !rc && !flag; rc = test_any(n, reqs, index, &flag, &w))
		step_any(&w);
	rt_wait_finish(&w);
	return rc;
}

static int test_some(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices, int *errors, struct rt_wait *w)
{
	int first = MPIX_SCHED_SUCCESS;
	size_t done;

	if (!count || (n && (!reqs || !indices)) || n > INT_MAX)
		return MPIX_SCHED_ERR_ARG;
	if (!poll_all(n, reqs, &done, w)) {
		*count = MPIX_SCHED_UNDEFINED;
		return MPIX_SCHED_SUCCESS;
	}
	*count = 0;
	for (size_t i = 0; i < n && done; i++) {
		int rc;

		if (!is_active(reqs[i]) || !is_done(reqs[i]))
			continue;
		rc = complete_request(reqs[i]);
		if (rc && !first)
			first = rc;
		if (errors)
			errors[*count] = rc;
		indices[(*count)++] = (int)i;
	}
	return first;
}

int MPIX_Sched_testsome(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices, int *errors)
{
	return test_some(n, reqs, count, indices, errors, NULL);
}

int MPIX_Sched_waitsome(size_t n, const MPIX_Sched_request *reqs, int *count, int *indices, int *errors)
{
	struct rt_wait w;
	int rc = MPIX_Sched_testsome(n, reqs, count, indices, errors);

	if (rc || *count)
		return rc;
	for (begin_any(&w, reqs, n); !rc && !*count; rc = test_some(n, reqs, count, indices, errors, &w))
		step_any(&w);
	rt_wait_finish(&w);
	return rc;
}

int MPIX_Sched_wait_until(MPIX_Sched_ctx ctx, int (*done)(void *arg), void *arg)
{
	struct rt_wait w;

	if (!ctx || !done)
		return rt_invalid(ctx);
	for (rt_wait_begin_until(&w, ctx); !done(arg);)
		step_any(&w);
	rt_wait_over(&w);
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_free(MPIX_Sched_request *out)
{
	struct mpix_sched_request *req;
	struct mpix_sched_ctx *ctx;

	if (!out)
		return MPIX_SCHED_ERR_ARG;
	req = *out;
	if (!req)
		return MPIX_SCHED_SUCCESS;
	ctx = req->ctx;
	if (is_active(req)) {
		if (!atomic_load(&req->turn->err) && !group_check(req->group))
			return -rt_error(ctx, -ERR_STATE, "the request is active");
		complete_request(req);
	}
	rt_unbind(req);
	*out = NULL;
	return MPIX_SCHED_SUCCESS;
}
