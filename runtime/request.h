/* SPDX-License-Identifier: BSD-3-Clause
 * Requests: a schedule bound to buffers and a group (bind.c, api.c). */
#ifndef RUNTIME_REQUEST_H
#define RUNTIME_REQUEST_H

#include "compiler/ir/ir.h"
#include "runtime/context.h"
#include "runtime/group.h"
#include "runtime/sched.h"

#include <stdatomic.h>
#include <sys/single_threaded.h>

struct rt_core;
struct rt_mate;

enum rt_state { RT_IDLE, RT_FAILED /* for good */, RT_ACTIVE, RT_DONE /* nobody has waited yet */ };

/* A reduction of the library's. */
struct rt_reduce {
	rt_kernel *kernel;
	const struct be_layout *layout;
};

struct mpix_sched_request {
	struct mpix_sched_ctx *ctx;
	struct be_group *group;
	struct mpix_sched *sched;
	const struct mpix_sched_type *type;
	struct mpix_sched_type *given; /* the same if it is the caller's, or NULL */
	struct mpix_sched_op *op; /* NULL: reduce.kernel */
	struct rt_reduce reduce, plain; /* plain: of basic elements one after the other */
	const struct be_ops *be;
	struct be_bound *bound;
	struct be_turn *turn; /* bound's; NULL until it is made */
	bool helped; /* others make progress on it as well: as be_bind, */
	size_t fragment; /* as this; a rank that waits joins in if it is not 0 */
	struct rt_core *core; /* these, once it is bound; else NULL */
	struct rt_mate *mates; /* by rank, while it is bound */
	VEC(struct be_bound *) views; /* of other processes' ranks */
	struct ir_rank rank;
	uint32_t entry; /* as be_bind.entry, */
	unsigned armw; /* as this, */
	bool *safe; /* and as this */
	struct be_buffer *buffers, *spare; /* spare: room to bind others, without an allocation */
	char **scratch; /* heap memory of scratch buffers, or NULL */
	uint32_t nbuffers;
	bool inplace; /* the caller bound the one buffer in place that may be */
	size_t *sizes; /* what the caller says that its buffers hold, 0 where nothing; NULL: it does not say */
	char *reduce_tmp; /* for b = b op a with a user's operation */
	uint64_t epoch;
	uint64_t id; /* as be_bind.request */
	uint64_t dump_after; /* ns of waiting until the pending ops are printed; 0: never */
	uint64_t watched, since; /* the epoch that a wait last looked at, and from when on */
	uint64_t looked; /* the epoch of the last look whether it can still complete */
	uint64_t last_ns, mean_ns; /* of waits, without a brief spin; of the mean waking up is taken off */
};

/* What a rank does with what is bound: an owned row of the schedule's parameters, or NULL, its ops, and a number that
 * differs where ranks give other parameters. a: rank and size are set. Errors are told. */
int rt_specialise(struct mpix_sched *s, const struct mpix_sched_type *type, const struct MPIX_Sched_bind *bind,
		  struct bin_args *a, struct bin_arg **row, struct ir_rank *out, uint64_t *params);

/* The bytes from the first to the last that n basic elements touch, and where they begin; false: there are too many. */
bool rt_span(const struct mpix_sched_type *t, uint64_t n, int64_t *low, size_t *len);

/* Collective. Binds and adds the request to the context's, or undoes what it did. sched or bind that are missing on one
 * rank are an error on all. */
int rt_bind(struct mpix_sched *sched, struct be_group *g, const struct MPIX_Sched_bind *bind,
	    struct mpix_sched_request **out);
/* Other buffers for a request that is not active. On an error the old ones stay. */
int rt_rebind(struct mpix_sched_request *req, void *const *buffers, size_t n);
/* A view of a rank's request, which is bound with this one. */
int rt_view(struct mpix_sched_request *req, uint32_t rank, struct be_bound **out);
/* Takes it out again and frees it; nobody may use it any more. */
void rt_unbind(struct mpix_sched_request *req);

/* Carries out all that is ready of a request, which the caller has taken. */
void rt_advance(struct mpix_sched_request *req);

/* Whether a rank may make progress on a request, which may be another's: then nobody else does until rt_turn_give. */
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

/* By who has the turn: the epoch is over, err < 0 tells how. */
static inline void rt_turn_finish(struct be_turn *t, int err)
{
	if (err < 0)
		atomic_store(&t->err, err);
	atomic_store_explicit(&t->state, RT_DONE, memory_order_release);
}

/* The same for one's own. Where there is no other thread, plain loads and stores do: an atomic read-modify-write would
 * wait until what was just sent has left this core. */
static inline bool rt_take(struct mpix_sched_request *req)
{
	_Atomic uint32_t *holder = &req->turn->holder;
	const uint32_t rank = req->group->rank;

	if (__builtin_expect(!__libc_single_threaded || req->helped, 0))
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
