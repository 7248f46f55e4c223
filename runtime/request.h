/* SPDX-License-Identifier: BSD-3-Clause
 * Requests: a schedule bound to buffers and a group (bind.c, api.c). */
#ifndef RUNTIME_REQUEST_H
#define RUNTIME_REQUEST_H

#include "compiler/ir/ir.h"
#include "runtime/context.h"
#include "runtime/group.h"
#include "runtime/kernels/kernels.h"
#include "runtime/sched.h"

#include <stdatomic.h>
#include <sys/single_threaded.h>

struct rt_driver;
struct rt_member;

enum rt_state {
	RT_IDLE,
	RT_BRIEF, /* listed (active.h): idle while `start_word` is set, else active. rt_state never returns this */
	RT_FAILED, /* failed for good */
	RT_ACTIVE,
	RT_DONE /* complete, but not yet tested or waited for */
};

/* A built-in reduction: the function, and the layout of the elements that it reduces. */
struct rt_reduce {
	rt_kernel *kernel;
	const struct be_layout *layout;
};

/* Bytes of memory that a request occupies on its rank, each 0 until the request is bound. */
struct rt_memory {
	_Atomic uint64_t shared; /* in the rank's heap, without scratch buffers */
	_Atomic uint64_t scratch; /* scratch buffers of the schedule, in the rank's heap */
	_Atomic uint64_t private;
};

struct mpix_sched_request {
	/* What a start needs comes first: the program may have driven it out of the caches. */
	_Atomic uint64_t *_Atomic start_word; /* be_bound.start_word while the request is idle, if it is listed; else NULL */
	struct be_turn *turn; /* turn of the request, from `bound`; NULL until `bound` is made */
	uint64_t epoch;
	const _Atomic uint32_t *sleepers; /* of this node, on the board */
	const char *single_threaded; /* __libc_single_threaded, which would else have to be found in one more line */
	struct mpix_sched_ctx *ctx;
	struct be_bound *bound;
	const struct be_ops *be;
	struct be_group *group;
	struct rt_driver *driver; /* driver that makes progress on the bound request; NULL if it is not helped */
	bool helped; /* other threads than the rank's own make progress on it, too (be_bind.helped) */
	bool makes_pages; /* some huge pages under its buffers may not be made yet */
	bool crowded; /* ranks outnumber cores in the group */
	bool counted, listed; /* see active.h; they belong to the thread that uses the request */
	/* A thread that is about to sleep in its wait for the request holds the turn, and will look at the request once more. So other
	 * threads of the rank may sleep although they could not take the turn. */
	_Atomic bool watched_by_holder;
	const struct be_bells *bells; /* of this rank */
	struct mpix_sched *sched;
	const struct mpix_sched_type *type;
	struct mpix_sched_type *given; /* type, if the caller passed a datatype; else NULL. Holds a reference */
	struct mpix_sched_op *op; /* the user's operation; NULL: reduce.kernel is used */
	struct rt_reduce reduce, plain; /* reduce: for elements of type; plain: for contiguous basic elements */
	size_t fragment; /* bytes of a fragment of large copies, in which a waiting rank joins; 0: not split (be_bind.fragment) */
	bool *awaited; /* by rank: true for one that waits for the request are for, see note_awaited. NULL unless crowded */
	struct rt_member *members; /* data that each rank published, by rank; NULL except during binding */
	VEC(struct be_bound *) views; /* views of requests of ranks in other processes, bound together with this one */
	struct ir_rank rank;
	uint32_t dir_row; /* the rank's part in a binary for command queues (be_bind.dir_row) */
	unsigned armw; /* enum bin_armw of the reduction (be_bind.armw) */
	bool *safe; /* by op: true for a recv whose sender needs no signal (be_bind.safe) */
	struct be_buffer *buffers, *spare; /* spare: memory for the buffers of the next rebind */
	char **scratch; /* by buffer: heap memory of a scratch buffer, or NULL */
	uint32_t nbuffers;
	bool inplace; /* the caller passed MPIX_SCHED_IN_PLACE for the buffer that allows it */
	size_t *sizes; /* elements in each of the caller's buffers, 0 for a buffer that it did not pass; NULL: unknown */
	char *reduce_tmp; /* copy of an operand, for b = b op a with a user's operation */
	char *reduce_block; /* allocated block of reduce_tmp; it begins at the lowest byte of the first element */
	struct rt_memory memory;
	uint64_t id; /* identifier of the request, the same on all ranks (be_bind.request) */
	uint64_t dump_after; /* ns of waiting after which the pending ops are printed; 0: never */
	uint64_t watched, since; /* the last epoch in which rt_dump_due was called, and the time of the first call in it, ns */
	uint32_t passes; /* of the context, at the last test of the request */
	uint64_t checked; /* the last epoch in which a wait checked whether the request can still complete */
	/* Duration of the last wait, and moving average; ns, after the first brief spin. The average excludes the time of waking up. */
	uint64_t last_ns, mean_ns;
	/* Adaptive spinning in waits (wait.c): the next epoch that may have it, and how many epochs after the last one that is */
	uint64_t spins_from;
	uint32_t spins_apart;
	struct rt_page page; /* the next huge page to make, if makes_pages is true */
};

/* Collective. Binds a schedule and adds the request to its context; if that fails, undoes all of it. If `sched` or `bind` is
 * NULL on one rank, all ranks return an error. */
int rt_bind(struct mpix_sched *sched, struct be_group *g, const struct MPIX_Sched_bind *bind,
	    struct mpix_sched_request **out);
/* Replaces the buffers of a request that is not active. On an error the old buffers stay. */
int rt_rebind(struct mpix_sched_request *req, void *const *buffers, size_t n);
/* Removes a request from its context and frees it. No other thread may use it any more. */
void rt_unbind(struct mpix_sched_request *req);

/* Takes the turn of a request, which may be another rank's: the exclusive right to make progress on it, until rt_turn_give.
 * Returns false if somebody else holds it. */
static inline bool rt_turn_take(struct be_turn *t, uint32_t rank)
{
	uint32_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&t->holder, &nobody, rank + 1, memory_order_acquire,
						       memory_order_relaxed);
}

static inline void rt_turn_give(struct be_turn *t)
{
	atomic_store_explicit(&t->holder, 0, memory_order_release);
}

static inline enum rt_state rt_turn_state(const struct be_turn *t)
{
	return atomic_load_explicit(&t->state, memory_order_acquire);
}

static inline void rt_turn_set(struct be_turn *t, enum rt_state state)
{
	atomic_store_explicit(&t->state, state, memory_order_release);
}

static inline enum rt_state rt_state(const struct mpix_sched_request *req)
{
	const enum rt_state state = rt_turn_state(req->turn);

	if (__builtin_expect(state != RT_BRIEF, 1))
		return state;
	return atomic_load_explicit(&req->start_word, memory_order_acquire) ? RT_IDLE : RT_ACTIVE;
}

/* Ends an epoch with result err, an error if it is negative. The caller holds the turn. */
static inline void rt_turn_finish(struct be_turn *t, int err)
{
	if (err < 0)
		atomic_store(&t->err, err);
	rt_turn_set(t, RT_DONE);
}

/* Takes the turn of the caller's own request. If no other thread can take it, plain loads and stores suffice: an atomic
 * read-modify-write would wait until earlier stores, such as data just sent, have left this CPU core. */
static inline bool rt_take(struct mpix_sched_request *req)
{
	_Atomic uint32_t *holder = &req->turn->holder;
	const uint32_t rank = req->group->rank;

	if (__builtin_expect(!*req->single_threaded || req->helped, 0))
		return rt_turn_take(req->turn, rank);
	if (atomic_load_explicit(holder, memory_order_relaxed))
		return false;
	atomic_store_explicit(holder, rank + 1, memory_order_relaxed);
	return true;
}

static inline void rt_give(struct mpix_sched_request *req)
{
	rt_turn_give(req->turn);
}

#endif
