/* SPDX-License-Identifier: BSD-3-Clause
 * Binding: computes the ops of this rank, checks its buffers, agrees with the other ranks, and hands over to the backend.
 * An error of one rank is returned on all ranks. */
#include "backends/services.h"
#include "compiler/passes/passes.h"
#include "compiler/queues/armw.h"
#include "compiler/verify/verify.h"
#include "format/check.h"
#include "runtime/active.h"
#include "runtime/comm.h"
#include "runtime/heap/moved.h"
#include "runtime/reduce.h"
#include "runtime/specialise.h"
#include "runtime/trace.h"
#include "util/hash64.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Record that each rank posts at binding. It shares one cache line of the board with the number of its round. The first
 * fields must be the same on all ranks. */
struct contract {
	int16_t err; /* error of this rank's own preparation, or 0 */
	uint16_t version;
	uint32_t schedule; /* checksum of the image */
	uint64_t count; /* number of basic elements per block */
	uint64_t params;
	uint8_t backend, basic, op;
	/* These may differ between ranks: */
	uint8_t inplace : 1;
	uint8_t alike : 1; /* the rank promises that all bind alike */
	uint8_t spares : 6; /* blocks that it has made for later binds */
	uint32_t comm_core; /* number of the communication core that serves the rank */
	struct rt_offer offer;
};
_Static_assert(offsetof(struct rt_record, data) + sizeof(struct contract) <= 64, "a second line costs each rank a miss for each other one");
#define COMMON (offsetof(struct contract, op) + 1) /* bytes that are compared */
#define USER_OP 254u /* contract.op for an operation of the program, plus 1 if it commutes */
_Static_assert(RT_STOCK_MOST < 1 << 6, "a contract has six bits for the spares");
_Static_assert(MPIX_SCHED_BUILTINS < USER_OP && MPIX_SCHED_BASICS <= UINT8_MAX, "a contract has a byte for each");

static const struct {
	size_t off, size;
	const char *what;
} clauses[] = {
#define CLAUSE(field, what) { offsetof(struct contract, field), sizeof(((struct contract *)0)->field), what }
	CLAUSE(version, "runs another version of the library"), CLAUSE(schedule, "binds another schedule"),
	CLAUSE(backend, "has another backend"),
	CLAUSE(count, "binds another count"),			CLAUSE(basic, "binds another basic datatype"),
	CLAUSE(op, "binds another operation"),			CLAUSE(params, "binds other parameters"),
#undef CLAUSE
};

/* Collects the contracts of all ranks, after this rank has posted its own. Returns 0 if they agree and no rank has an error. */
static int compare_contracts(struct be_group *g, const struct contract *mine)
{
	const struct contract *all = group_room(g);
	int err = group_collect(g, sizeof *mine, group_room(g));

	for (uint32_t r = 0; r < g->size && !err; r++)
		if (all[r].err)
			return group_agree(g, mine->err);
	for (uint32_t r = 1; r < g->size && !err; r++) {
		if (!memcmp(&all[r], &all[0], COMMON))
			continue;
		for (size_t i = 0; i < sizeof clauses / sizeof *clauses && !err; i++)
			if (memcmp((const char *)&all[r] + clauses[i].off, (const char *)&all[0] + clauses[i].off,
				   clauses[i].size) != 0)
				err = group_error(g, -ERR_MISMATCH, "rank %u %s than rank 0", r, clauses[i].what);
	}
	return err;
}

const struct be_handle *group_handle(struct be_group *g, uint32_t rank)
{
	return &((const struct contract *)group_room(g))[rank].offer.handle;
}

void *group_block(struct be_group *g, size_t size, uint64_t *off, bool *ready)
{
	*ready = g->takes;
	if (!g->takes)
		return rt_heap_alloc_row(g->ctx->heap, size, 1 + g->spares, off);
	*off = group_handle(g, g->rank)->off;
	return g->ctx->heap->base + *off;
}

void *group_spare(const struct be_group *g, void *block, size_t size, uint32_t i)
{
	return i < g->spares ? (char *)block + (i + 1) * rt_heap_room(size) : NULL;
}

/* ---- ops ---- */

/* Applies the passes of the binary to the rank's ops. Passes that judge a tree by its root also need the root's ops. These
 * are computed here, unless they depend on parameters that only the root knows. */
static int apply_passes(struct mpix_sched_request *req, const struct bin_args *a)
{
	const struct bin *b = &req->sched->image->bin;
	const char *list = bin_str(b, b->meta->passes);
	struct ir_refusal why = { 0 };
	struct pass_ctx c = passes_ctx(b, a);
	struct bin_args there = *a;
	struct ir_rank ops = { 0 };
	int err = 0;

	c.refused = &why;
	there.rank = c.root;
	if (c.root != a->rank && passes_need_root(list)) {
		err = ir_rank_specialise(b, &there, &ops, NULL);
		c.root_ops = err ? NULL : &ops;
	}
	err = err == -ERR_NOMEM ? err : passes_run_rank(list, &req->rank, &c);
	ir_rank_fini(&ops);
	return err ? group_error(req->group, err, "the schedule's passes: %s", *why.text ? why.text : err_text(err)) : 0;
}

#define READY_RANKS 64u /* ranks in the largest group in which a rank computes the ops of all others */
#define READY_FUEL 200000u /* steps that computing the ops of all ranks may take */

/* True if this rank can compute the ops of all ranks: no rank has parameters of its own, and there are not too many ranks. */
static bool knows_all(const struct bin *b, const struct bin_args *a)
{
	for (uint32_t i = 0; i < b->nparams; i++)
		if (b->params[i].scope == BIN_LOCAL && strcmp(bin_str(b, b->params[i].name), "inplace") != 0)
			return false;
	return a->size <= READY_RANKS;
}

/* Finds the recvs whose senders need no signal that the recv has started. This depends on the ops of all ranks. A rank that
 * does not know these lets the senders get signals, which only costs time. */
static int find_safe(struct mpix_sched_request *req, const struct bin_args *a)
{
	const struct bin *b = &req->sched->image->bin;
	struct bin_args all = *a;
	struct ir_fault fault = { 0 };
	struct ir_graph g = { 0 };
	const struct pass_ctx c = passes_ctx(b, a);
	bool *safe = mem_calloc(req->rank.nops, sizeof *safe);
	uint32_t rank = 0;
	int err;

	all.fuel = READY_FUEL;
	err = safe ? ir_graph_specialise(b, &all, &g, &rank, &fault) : -ERR_NOMEM;
	err = err ? err : passes_run_graph(bin_str(b, b->meta->passes), &g, &c, NULL);
	if (!err && g.ranks[a->rank].nops == req->rank.nops)
		err = verify_recvs(&g, a->rank, req->be->early / req->type->layout.basic, safe);
	ir_graph_fini(&g);
	req->safe = err ? NULL : safe;
	if (err)
		free(safe);
	return err == -ERR_NOMEM ? rt_fail(req->ctx, err) : 0;
}

/* Returns a hash of the rank's messages, in their order: peers find their ends by it. */
static uint64_t hash_messages(const struct mpix_sched_request *req)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < req->rank.nops; i++) {
		const struct bin_op *o = &req->rank.ops[i];

		if (!bin_is_message(o->kind))
			continue;
		hash = hash64(hash + ((uint64_t)o->peer << 1 | bin_sends(o->kind)));
		hash = hash64(hash + (uint64_t)o->tag);
		hash = hash64(hash + o->len * req->type->layout.basic);
	}
	return hash;
}

static int specialise_request(struct mpix_sched_request *req, const struct MPIX_Sched_bind *bind, struct contract *c)
{
	const struct bin *b = &req->sched->image->bin;
	struct be_group *g = req->group;
	struct bin_args a = { .rank = g->rank, .size = g->size };
	struct bin_arg *args;
	uint32_t bad = 0;
	int err = rt_specialise(req->sched, req->type, bind, &a, &args, &req->rank, &c->params);

	c->count = (uint64_t)a.count;
	c->inplace = req->inplace = rt_inplace(b, bind);
	if (err)
		goto out;
	if (b->target)
		req->dir_row = bin_dir_row(b, g->rank, bin_root(b, args));
	if (b->meta->passes)
		err = apply_passes(req, &a);
	if (err)
		goto out;
	err = ir_rank_positions(&req->rank, NULL, &bad);
	if (err)
		err = group_error(g, err, "%s (op %u)", err_text(err), bad);
	if (!err && req->be->puts && knows_all(b, &a))
		err = find_safe(req, &a);
out:
	free(args);
	return err;
}

/* ---- buffers ---- */

/* Finds the memory for buffer i of the schedule: one of the caller's buffers, or scratch memory. */
static int bind_buffer(struct mpix_sched_request *req, void *const *buffers, size_t n, uint32_t i,
		       struct be_buffer *out)
{
	const struct bin_buffer *b = &req->sched->image->bin.buffers[i];
	const char *name = bin_str(&req->sched->image->bin, b->name);
	struct be_group *g = req->group;
	const size_t per = req->type->layout.per;
	uint64_t off;
	int64_t low;
	size_t len;
	char *p;

	*out = (struct be_buffer){ .elements = req->rank.bufsize[i] };
	if (!rt_span(req->type, out->elements, &low, &len))
		return group_error(g, -ERR_OVERFLOW, "the buffer %s is too large", name);
	if (b->mode == BIN_SCRATCH && !len) {
		p = (char *)req; /* the buffer is empty, so any valid address will do */
	} else if (b->mode == BIN_SCRATCH) {
		p = rt_heap_alloc_scratch(req->ctx->heap, len, &off); /* ops write it before they read it */
		if (!p)
			return group_error(g, -ERR_NOMEM, "the shared heap has no %zu bytes for %s", len, name);
		req->scratch[i] = p;
	} else {
		const bool here = rt_in_place(buffers, n, i);

		if (here && !b->inplace)
			return group_error(g, -ERR_ARG, "the buffer %s cannot be in place", name);
		if (b->inplace && here != req->inplace)
			return group_error(g, -ERR_ARG, "the buffer %s was%s bound in place", name,
					   here ? " not" : "");
		if (here && len && rt_uses(&req->rank, i))
			return group_error(g, -ERR_ARG, "the buffer %s cannot be in place on this rank", name);
		if (here)
			return 0;
		if (i >= n || !buffers[i])
			return !rt_uses(&req->rank, i) ? 0 :
							 group_error(g, -ERR_ARG, "the buffer %s is not given", name);
		if (req->sizes && (out->elements + per - 1) / per > req->sizes[i])
			return group_error(g, -ERR_BOUNDS, "the buffer %s has %" PRIu64 " elements, the caller's has %zu",
					   name, (out->elements + per - 1) / per, req->sizes[i]);
		p = (char *)buffers[i] + low;
	}
	out->heap = rt_heap_bind(req->ctx->heap, p, len, &off) || rt_moved_bind(req->ctx->moved, p, len, &off);
	out->ptr = (out->heap ? req->ctx->heap->base + off : p) - low;
	out->heap_off = off - (uint64_t)low;
	return 0;
}

static void unbind_buffer(const struct mpix_sched_request *req, const struct be_buffer *b)
{
	if (b->heap)
		rt_heap_unbind(req->ctx->heap, b->heap_off + (uint64_t)req->type->low);
}

/* Counts the memory of a request that is bound. The schedule and the group are shared with other requests, so they do not count. */
static void count_memory(struct mpix_sched_request *req)
{
	const struct ir_rank *r = &req->rank;
	struct be_memory m = { 0 };
	uint64_t scratch = 0;

	req->be->memory(req->bound, &m);
	for (size_t i = 0; i < req->views.n; i++)
		req->views.at[i]->ops->memory(req->views.at[i], &m);
	m.private += mem_bytes(req) + mem_bytes(req->views.at) + mem_bytes(req->safe) + mem_bytes(req->awaited) + mem_bytes(req->reduce_block);
	m.private += mem_bytes(r->ops) + mem_bytes(r->dep_at) + mem_bytes(r->deps) + mem_bytes(r->bufsize);
	for (uint32_t i = 0; i < req->nbuffers; i++)
		scratch += req->scratch[i] ? rt_heap_bytes(req->ctx->heap, req->scratch[i]) : 0;
	atomic_store_explicit(&req->memory.shared, m.shared, memory_order_relaxed);
	atomic_store_explicit(&req->memory.scratch, scratch, memory_order_relaxed);
	atomic_store_explicit(&req->memory.private, m.private, memory_order_relaxed);
}

/* True if buffers are those that the request has, and where it has them. What a network has registered may be other memory by now. */
static bool has_buffers(const struct mpix_sched_request *req, const struct be_buffer *next)
{
	if (!req->be->near)
		return false;
	for (uint32_t i = 0; i < req->nbuffers; i++) {
		const struct be_buffer *b = &req->buffers[i];

		if (b->ptr != next[i].ptr || b->heap != next[i].heap || (b->heap && b->heap_off != next[i].heap_off))
			return false;
	}
	return true;
}

int rt_rebind(struct mpix_sched_request *req, void *const *buffers, size_t n)
{
	struct be_buffer *old = req->buffers, *next = req->spare;
	uint32_t made = 0;
	bool same;
	int err = 0;

	for (; made < req->nbuffers && !err; made++)
		if (req->scratch[made])
			next[made] = old[made];
		else
			err = bind_buffer(req, buffers, n, made, &next[made]);
	same = !err && has_buffers(req, next);
	err = err || same ? err : req->be->rebind(req->bound, next);
	for (uint32_t i = 0; i < made; i++)
		if (!req->scratch[i])
			unbind_buffer(req, err || same ? &next[i] : &old[i]);
	if (!err && !same) {
		req->buffers = next;
		req->spare = old;
		rt_huge_bind(req);
	}
	rt_active_end(req, req->bound->start_word);
	count_memory(req);
	return err;
}

/* ---- binding ---- */

/* Finds the size of fragments of large copies, if a communication core carries them out. */
static int find_fragment(struct mpix_sched_request *req)
{
	long pages;
	int err = rt_env(req->ctx, ENV_GOAL_FRAGMENT, &pages);

	if (err)
		return err;
	if (req->helped && req->group->process->comm->progress == RT_THREAD)
		req->fragment = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* Prepares all that concerns this rank alone, and fills in its contract. */
static int prepare_request(struct mpix_sched_request *req, const struct MPIX_Sched_bind *bind, struct contract *c)
{
	const struct bin *b = &req->sched->image->bin;
	struct be_group *g = req->group;
	long seconds, on;
	int err = rt_env(req->ctx, ENV_GOAL_DUMP_AFTER, &seconds);

	err = err ? err : rt_trace_open(req->ctx);
	err = err ? err : find_fragment(req);
	err = err ? err : rt_env(req->ctx, ENV_GOAL_MOVE, &on);
	err = err ? err : rt_env(req->ctx, ENV_GOAL_HUGE, &on);
	if (err)
		return err;
	if (req->ctx->policy < 0)
		return rt_bad_env(req->ctx, ENV_GOAL_WAIT);
	err = rt_group_check_backend(g);
	if (err)
		return err;
	c->backend = (uint8_t)(rt_group_backend(g) - be_backends);
	if (seconds > 0)
		req->dump_after = (uint64_t)(seconds < 1000000000 ? seconds : 1000000000) * 1000000000u;
	/* The checksum of the header covers the checksums of all sections. Section DIR has those of all ranks' ops, so
	 * these are covered, too. */
	c->schedule = ((const struct bin_header *)req->sched->image->data)->check;
	c->version = MPIX_SCHED_VERSION_MAJOR << 8 | MPIX_SCHED_VERSION_MINOR;
	if (bind->type) {
		req->type = req->given = bind->type;
		atomic_fetch_add(&req->given->refs, 1);
	} else {
		enum MPIX_Sched_basic basic = b->meta->flags & BIN_F_PLAIN ? MPIX_SCHED_BYTE : bind->basic;

		req->type = rt_type_basic(basic);
		if (!req->type)
			return group_error(g, -ERR_ARG, "there is no basic datatype %d", (int)basic);
	}
	if ((b->meta->flags & BIN_F_PLAIN) && bind->type)
		return group_error(g, -ERR_ARG, "plain GOAL moves bytes: it takes no datatype");
	if (bind->op) {
		req->op = bind->op;
		atomic_fetch_add(&req->op->refs, 1);
	}
	if ((b->meta->flags & BIN_F_COMMUTATIVE) && req->op && !req->op->commutes)
		return group_error(g, -ERR_ARG, "the schedule changes the order of operands: it needs an operation that "
					       "commutes");
	c->basic = (uint8_t)req->type->basic;
	req->reduce.layout = &req->type->layout;
	req->plain.layout = &rt_type_basic(req->type->basic)->layout;
	req->id = rt_id(g->id, g->binds);
	if (b->target && !bind->op && (unsigned)bind->builtin < MPIX_SCHED_BUILTINS)
		req->armw = armw_of(bind->builtin, req->type->basic, NULL, 0);
	c->op = (uint8_t)(bind->op ? USER_OP + req->op->commutes : (unsigned)bind->builtin);
	c->alike = bind->alike && req->be->near && !req->helped;
	if ((bind->nbuffers && !bind->buffers) || (bind->nparams && !bind->params))
		return group_error(g, -ERR_ARG, "buffers or params is NULL");
	for (uint32_t i = 0; i < b->nbuffers && bind->sizes; i++)
		req->sizes[i] = i < bind->nbuffers ? bind->sizes[i] : 0;
	req->sizes = bind->sizes ? req->sizes : NULL;
	err = specialise_request(req, bind, c);
	if (err)
		return err;
	c->offer.messages = hash_messages(req);
	if (req->helped)
		c->comm_core = rt_comm_core(req);
	for (uint32_t i = 0; i < b->nbuffers && !err; i++)
		err = bind_buffer(req, bind->buffers, bind->nbuffers, i, &req->buffers[i]);
	return err ? err : rt_prepare_reduce(req, bind);
}

static int make_bound(struct mpix_sched_request *req, struct be_handle *handle)
{
	struct be_bind b = { .group = req->group,
			     .rank = req->group->rank,
			     .size = req->group->size,
			     .ops = req->rank.ops,
			     .nops = req->rank.nops,
			     .dep_at = req->rank.dep_at,
			     .deps = req->rank.deps,
			     .buffers = req->buffers,
			     .layout = &req->type->layout,
			     .armw = req->armw,
			     .helped = req->helped,
			     .fragment = req->fragment,
			     .request = req->id,
			     .safe = req->safe,
			     .bin = &req->sched->image->bin,
			     .dir_row = req->dir_row };
	int err;

	rt_set_reduce(&b, req);
	err = req->be->make(&b, &req->bound, handle);
	req->turn = err ? NULL : req->bound->turn;
	req->bells = group_bells(req->group, req->group->rank);
	return err;
}

static int make_view(struct mpix_sched_request *req, uint32_t rank, struct be_bound **out)
{
	struct be_bind like = { .group = req->group, .rank = rank, .size = req->group->size, .helped = true, .request = req->id };

	rt_set_plain_reduce(&like, req);
	return req->be->adopt(&like, &req->members[rank].handle, out);
}

static int make_views(struct mpix_sched_request *req)
{
	const struct be_group *g = req->group;
	int err = 0;

	for (uint32_t r = 0; r < g->size; r++) {
		struct be_bound *view;
		int rc;

		if (!rt_comm_drives(req, g->rank, r))
			continue;
		/* Creates all views, even after an error: the other ranks have counted them. */
		rc = make_view(req, r, &view);
		if (!rc && VEC_PUSH(&req->views, view)) {
			view->ops->unbind(view);
			rc = rt_fail(req->ctx, -ERR_NOMEM);
		}
		err = err ? err : rc;
	}
	return err;
}

/* Allocates a request, with memory for its arrays that are indexed by buffer. */
static struct mpix_sched_request *new_request(struct mpix_sched *sched, struct be_group *g)
{
	const uint32_t n = sched->image->bin.nbuffers;
	struct mpix_sched_request *req;

	req = mem_calloc(1, sizeof *req + n * (2 * sizeof *req->buffers + sizeof *req->scratch + sizeof *req->sizes));
	if (!req)
		return NULL;
	req->nbuffers = n;
	req->buffers = (struct be_buffer *)(void *)(req + 1);
	req->spare = req->buffers + n;
	req->scratch = (char **)(void *)(req->spare + n);
	req->sizes = (size_t *)(void *)(req->scratch + n);
	req->be = rt_group_backend(g) ? rt_group_backend(g)->ops : NULL;
	req->ctx = g->ctx;
	req->group = g;
	req->helped = g->process->comm && req->be && req->be->adopt;
	req->crowded = group_crowded(g);
	req->sleepers = g->tally.sleepers;
	req->single_threaded = &__libc_single_threaded;
	req->sched = sched;
	return req;
}

/* Notes which ranks the waits are for, where that matters: those that the request receives from, or sends to if there are none. */
static int note_awaited(struct mpix_sched_request *req)
{
	const struct bin_op *ops = req->rank.ops, *end = ops + req->rank.nops;
	bool receives = false;

	if (!req->crowded)
		return 0;
	req->awaited = mem_calloc(req->group->size, sizeof *req->awaited);
	if (!req->awaited)
		return rt_fail(req->ctx, -ERR_NOMEM);
	for (const struct bin_op *o = ops; o < end; o++)
		receives |= bin_recvs(o->kind);
	for (const struct bin_op *o = ops; o < end; o++)
		if ((receives ? bin_recvs(o->kind) : bin_sends(o->kind)) && o->peer < req->group->size)
			req->awaited[o->peer] = true;
	return 0;
}

/* Copies the data that the other ranks have published, for the rest of the binding. */
static int note_members(struct mpix_sched_request *req)
{
	const struct contract *all = group_room(req->group);

	req->members = mem_alloc(req->group->size * sizeof *req->members);
	for (uint32_t r = 0; r < req->group->size && req->members; r++)
		req->members[r] = (struct rt_member){ all[r].offer.handle, all[r].comm_core };
	return req->members ? 0 : rt_fail(req->ctx, -ERR_NOMEM);
}

/* Notes what the contracts of all ranks say about the rest of the binding. If some ranks bind in place and others do not, `safe` is
 * discarded, because each rank has computed it as if all ranks bound like itself. Returns true if all ranks promise to bind alike, and
 * have done so: they have made as many blocks for later binds. */
static bool note_contracts(struct mpix_sched_request *req)
{
	struct be_group *g = req->group;
	const struct contract *all = group_room(g);
	bool alike = true;

	for (uint32_t r = 0; r < g->size; r++) {
		if (req->safe && all[r].inplace != all[0].inplace)
			memset(req->safe, 0, req->rank.nops * sizeof *req->safe);
		alike &= all[r].alike && all[r].spares == all[0].spares;
	}
	if (req->be->near)
		rt_settled_find(g, &all->offer, sizeof *all);
	return alike;
}

/* ---- stocks ---- */

static struct rt_alike alike_of(const struct contract *c)
{
	return (struct rt_alike){ .count = c->count,
				  .params = c->params,
				  .messages = c->offer.messages,
				  .schedule = c->schedule,
				  .backend = c->backend,
				  .basic = c->basic,
				  .op = c->op,
				  .inplace = c->inplace };
}

/* Finds the stock of such binds; NULL if there is none. If it has blocks, the bind takes one of each rank, in place of an exchange of
 * contracts. Else the exchange is to fill it. */
static struct rt_stock *find_stock(struct be_group *g, const struct contract *c)
{
	const struct rt_alike alike = alike_of(c);
	struct contract *all = group_room(g);
	struct rt_stock *s = c->alike ? rt_stock_find(g, &alike) : NULL;

	g->takes = s && s->left;
	g->spares = g->takes ? 0 : rt_stock_want(s);
	if (g->takes) {
		rt_stock_take(g, s, &all->offer, sizeof *all);
		g->repeats = true;
		g->row = RT_SETTLED;
	}
	return s;
}

/* If there was an exchange, and the bind has repeated another, fills the stock; else frees the blocks that were made for it. After the
 * first of such binds, adds a stock. alike: the bind has succeeded, and all ranks promise to bind alike */
static void restock(struct be_group *g, struct rt_stock *stock, const struct contract *c, bool alike)
{
	const struct contract *all = group_room(g);
	const struct rt_alike like = alike_of(c);
	const bool filled = g->spares && alike && g->repeats && rt_stock_fill(g, stock, g->spares, &all->offer, sizeof *all);

	if (g->takes)
		return;
	if (g->spares && !filled && c->offer.handle.off) /* 0: no block was made */
		rt_stock_return(g, &c->offer.handle, g->spares);
	if (!stock && alike && g->settled[g->row].valid)
		rt_stock_add(g, &like);
}

/* Agrees with the other ranks. If the bind takes its block from a stock, they have agreed before, and do not wait here for this rank,
 * should it have an error nevertheless. *alike: all ranks promise to bind alike */
static int agree_to_bind(struct mpix_sched_request *req, struct be_group *g, const struct contract *c, bool *alike)
{
	int err;

	if (g->takes)
		return c->err ? group_unreachable(g, g->rank, "it cannot bind what it has bound before") : group_check(g);
	err = group_post(g, c, sizeof *c);
	err = err ? err : compare_contracts(g, c);
	*alike = !err && note_contracts(req);
	return err;
}

/* Adds the request to its context and takes references to all that it uses. Until here the caller's references suffice. err: of
 * the steps before */
static int enlist_request(struct mpix_sched_request *req, int err)
{
	rt_ctx_ref(req->ctx);
	atomic_fetch_add(&req->group->refs, 1);
	atomic_fetch_add(&req->sched->refs, 1);
	return err ? err : rt_fail(req->ctx, rt_ctx_add(req->ctx, req)); /* nobody finds a request that is not made */
}

/* Checks the arguments of MPIX_Sched_init. Afterwards *bind is a struct with all fields: the struct of an older caller is
 * copied to *whole. */
static int check_call(struct be_group *g, const struct mpix_sched *sched, const struct MPIX_Sched_bind **bind,
		      struct MPIX_Sched_bind *whole)
{
	const size_t size = *bind ? (*bind)->struct_size : 0;
	const struct MPIX_Sched_bind *all = rt_whole_bind(*bind, whole);

	if (all && all->refusal)
		return group_error(g, -ERR_UNSUPPORTED, "%s", all->refusal);
	if (!sched || !*bind)
		return group_error(g, -ERR_ARG, "MPIX_Sched_init needs a schedule, what to bind, and a place for the request");
	*bind = all;
	return all ? 0 : group_error(g, -ERR_ARG, "bind.struct_size is %zu, not %zu", size, sizeof *whole);
}

int rt_bind(struct mpix_sched *sched, struct be_group *g, const struct MPIX_Sched_bind *bind,
	    struct mpix_sched_request **out)
{
	struct MPIX_Sched_bind whole;
	int err = check_call(g, sched, &bind, &whole), rc;
	struct mpix_sched_request *req = err ? NULL : new_request(sched, g);
	struct rt_stock *stock = NULL;
	struct contract c = { 0 };
	bool alike = false;

	g->binds++;
	g->takes = false;
	g->spares = 0;
	if (!err)
		err = req ? prepare_request(req, bind, &c) : rt_fail(g->ctx, -ERR_NOMEM);
	if (!err)
		stock = find_stock(g, &c);
	err = err ? err : make_bound(req, &c.offer.handle);
	err = err ? err : note_awaited(req);
	err = req ? enlist_request(req, err) : err;
	c.err = (int16_t)err;
	c.spares = (uint8_t)g->spares & 63;
	rc = agree_to_bind(req, g, &c, &alike);
	err = !rc && req->helped ? note_members(req) : 0;
	rc = rc ? rc : req->be->bind(req->bound, req->members ? rt_comm_views(req) : 0, err);
	if (!rc && req->helped) {
		err = make_views(req);
		rc = group_agree(g, err ? err : rt_comm_join(req));
	}
	restock(g, stock, &c, !rc && alike);
	if (req) {
		free(req->members);
		req->members = NULL;
	}
	if (rc && req)
		rt_unbind(req);
	if (rc || !req)
		return rc;
	rt_huge_bind(req);
	count_memory(req);
	*out = req;
	return 0;
}

void rt_unbind(struct mpix_sched_request *req)
{
	struct mpix_sched_ctx *ctx = req->ctx;
	const bool owned = rt_process_owned(req->group->process);

	/* A forked child must not touch what the parent shares with its threads and with other ranks. */
	if (owned)
		rt_comm_leave(req);
	rt_ctx_remove(ctx, req);
	if (req->listed) /* no other thread finds the request any more, to which it looks active from here on */
		rt_active_list(req, false);
	if (req->bound && owned)
		req->be->unbind(req->bound);
	for (uint32_t i = 0; i < req->nbuffers; i++)
		unbind_buffer(req, &req->buffers[i]);
	for (uint32_t i = 0; i < req->nbuffers; i++)
		if (req->scratch[i])
			rt_heap_free(ctx->heap, req->scratch[i]);
	free(req->reduce_block);
	free(req->safe);
	free(req->awaited);
	ir_rank_fini(&req->rank);
	rt_type_unref(req->given);
	rt_op_unref(req->op);
	rt_sched_unref(req->sched);
	rt_group_unref(req->group);
	free(req);
	rt_ctx_unref(ctx);
}
