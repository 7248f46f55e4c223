/* SPDX-License-Identifier: BSD-3-Clause
 * The calls of MPI_I* collectives: decides what is served, computes their keys, and copies the data that cannot be bound as it
 * is. The head of nbc.c says what these decisions may depend on. */
#include "mpi/nbc.h"

#include <stdlib.h>
#include <string.h>

/* Bound where a side has no data: an address that is valid. */
static char nothing[64];

static const struct gm_side *side_of(const struct gm_call *call, int side)
{
	return side == GM_SEND ? &call->send : &call->recv;
}

/* True for the collectives that are served. Those with counts for each rank have keys that are not the same on all ranks. */
static bool is_served(enum gm_coll coll)
{
	const struct gm_spec *s = &gm_specs[coll];

	return s->send != GM_VECTOR && s->recv != GM_VECTOR && !(s->flags & GM_NEAR);
}

/* True if MPI demands that all ranks are in place if one is. */
static bool all_in_place(const struct gm_spec *s)
{
	return s->recv != GM_NO && !(s->flags & (GM_SENDS | GM_RECEIVES | GM_EITHER));
}

static bool uses(const struct gm_call *call, int side, int rank)
{
	const struct gm_spec *s = &gm_specs[call->coll];
	const unsigned only_root = side == GM_SEND ? GM_SENDS : GM_RECEIVES;

	if ((side == GM_SEND ? s->send : s->recv) == GM_NO)
		return false;
	return !(s->flags & only_root) || rank == call->root;
}

/* Computes the key. Returns why the call is not served, or NULL. */
static const char *find_key(const struct gm_call *call, const struct gm_comm *c, struct gm_key *k)
{
	const struct gm_spec *spec = &gm_specs[call->coll];
	const bool send = uses(call, GM_SEND, c->rank) && call->send.buf != MPI_IN_PLACE;
	const struct gm_side *s = spec->flags & GM_REDUCES || send ? &call->send : &call->recv;
	MPI_Count size = 0;

	memset(k, 0, sizeof *k);
	k->coll = call->coll;
	k->basic = MPIX_SCHED_BYTE;
	k->root = spec->flags & GM_ROOT ? call->root : 0;
	k->in_place = all_in_place(spec) && call->send.buf == MPI_IN_PLACE;
	if (k->root < 0 || k->root >= c->size)
		return "the root is not valid";
	if (call->coll == GM_BARRIER)
		return NULL;
	if (s->count < 0 || s->type == MPI_DATATYPE_NULL || PMPI_Type_size_x(s->type, &size) || size < 0)
		return "the count or the datatype is not valid";
	else if (!(spec->flags & GM_REDUCES))
		k->count = (uint64_t)(s->count * size);
	else if (!gm_predefined(call->op))
		return "the operation is not predefined";
	else if (!gm_basic(s->type, &k->basic) || !gm_builtin(call->op, k->basic, &k->builtin))
		return "the operation is not defined for the datatype";
	else
		k->count = (uint64_t)s->count;
	return NULL;
}

/* The part of a side that is copied, because it has gaps or is in place where other ranks are not. */
struct copied {
	const struct gm_side *from;
	MPI_Count first, count; /* elements */
	bool packs, unpacks, raw;
};

/* Makes private memory for a side, and packs it. Schedules need no memory of the shared heap. */
static int copy_side(struct gm_request *r, int side, const struct copied *c)
{
	struct gm_stage *s = &r->stage[side];
	MPI_Aint lb, extent;
	MPI_Count size;
	int err = PMPI_Type_get_extent(c->from->type, &lb, &extent);

	err = err ? err : PMPI_Type_size_x(c->from->type, &size);
	if (err)
		return err;
	s->bias = c->from->buf == MPI_BOTTOM ? GM_BIAS : 0;
	s->user = (char *)c->from->buf + s->bias;
	s->comm = gm_local_comm(r->comm->comm);
	s->pieces = calloc(1, sizeof *s->pieces);
	s->types = calloc(1, sizeof(MPI_Datatype));
	s->mem = malloc((size_t)(c->count * (c->raw ? extent : size)) + 1);
	s->private = true;
	if (!s->pieces || !s->types || !s->mem)
		return MPI_ERR_NO_MEM;
	err = gm_stage_type(s, c->from->type);
	s->raw = c->raw;
	s->npieces = 1;
	s->pieces[0] = (struct gm_piece){
		.from = (MPI_Aint)(c->first * extent), .count = c->count, .packs = c->packs, .unpacks = c->unpacks
	};
	r->once->buffers[side] = s->mem;
	return err ? err : gm_stage_pack(s);
}

/* Finds the buffer of a side, and copies it if it has to be. */
static int take_side(struct gm_request *r, const struct gm_call *call, int side, const struct gm_key *k)
{
	const struct gm_side *s = side_of(call, side), *other = side_of(call, !side);
	const struct gm_spec *spec = &gm_specs[call->coll];
	const enum gm_blocks blocks = side == GM_SEND ? spec->send : spec->recv;
	const int rank = r->comm->rank;
	struct copied c = { .from = s, .packs = side == GM_SEND, .unpacks = side == GM_RECV, .raw = spec->flags & GM_REDUCES };

	if (!uses(call, side, rank))
		return MPI_SUCCESS;
	c.count = s->count * (blocks == GM_EACH ? r->comm->size : 1);
	if (s->buf != MPI_IN_PLACE) {
		r->once->buffers[side] = s->buf ? s->buf : nothing;
		if (k->in_place) /* the receive side is the input, too */
			c.packs = true;
		if (call->coll == GM_BCAST) {
			c.packs = rank == call->root;
			c.unpacks = !c.packs;
		}
		if (!c.raw && c.count && !gm_dense(s->type))
			return copy_side(r, side, &c);
		return c.count && !s->buf ? MPI_ERR_BUFFER : MPI_SUCCESS;
	}
	if (k->in_place) {
		r->once->buffers[side] = MPIX_SCHED_IN_PLACE;
		return MPI_SUCCESS;
	}
	/* The rank's own data: its block of the other side */
	c = (struct copied){ .from = other, .count = other->count, .packs = side == GM_SEND, .raw = c.raw };
	c.first = c.raw ? 0 : rank * other->count;
	return copy_side(r, side, &c);
}

static struct gm_request *request_new(struct gm_comm *c, enum gm_coll coll)
{
	struct gm_request *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->once = calloc(1, sizeof *r->once);
	if (!r->once) {
		free(r);
		return NULL;
	}
	atomic_fetch_add(&c->refs, 1);
	r->comm = c;
	r->coll = coll;
	r->op = MPI_OP_NULL;
	r->type = MPI_DATATYPE_NULL;
	return r;
}

/* Selects the schedule; all ranks get the same. */
static const char *choose(const struct gm_comm *c, const struct gm_key *k, MPIX_Sched *sched)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call,
					      .collective = gm_specs[k->coll].name,
					      .count = k->count,
					      .basic = k->basic,
					      .topology = c->topology };

	return gm_lib.select(c->group, &call, sched) ? "no schedule fits the call" : NULL;
}

static int serve(const struct gm_call *call, struct gm_comm *c, const struct gm_key *k, MPIX_Sched *sched, struct gm_request **out)
{
	struct gm_request *r = request_new(c, call->coll);
	int err = r ? MPI_SUCCESS : MPI_ERR_NO_MEM;

	for (int side = GM_SEND; side <= GM_RECV && !err; side++)
		err = take_side(r, call, side, k);
	if (!err && !gm_nbc_enqueue(c->nbc, k, r->once, sched))
		err = MPI_ERR_NO_MEM;
	if (err && r) {
		gm_request_free(r);
		return err;
	}
	if (!err) {
		r->active = true;
		r->started = gm_counts() ? gm_now_ns() : 0;
		*out = r;
		gm_helper_begin();
		gm_helper_started();
	}
	return err;
}

int gm_once_start(const struct gm_call *call, struct gm_request **out)
{
	struct gm_comm *c = NULL;
	MPIX_Sched sched = NULL;
	struct gm_key k;
	const char *why = NULL;
	int err;

	*out = NULL;
	if (call->comm == MPI_COMM_NULL || !is_served(call->coll))
		why = "not of those that are served when they do not block";
	else if (!(c = gm_comm_known(call->comm)) || !c->nbc)
		why = "its communicator has no group";
	else
		why = find_key(call, c, &k);
	if (!why && !gm_nbc_bound(c->nbc, &k))
		why = choose(c, &k, &sched);
	if (why) {
		gm_record_of(call->coll, true, GM_LEFT, why);
		return MPI_SUCCESS;
	}
	gm_reap();
	err = serve(call, c, &k, &sched, out);
	if (sched)
		gm_lib.unload(&sched);
	return err;
}
