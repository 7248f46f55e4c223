/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_*_init: plans the call, selects a schedule, and binds it. Whether a call is served is the same on all ranks, because a
 * rank that cannot serve it binds nothing, and then binding fails on all. */
#include "mpi/plan.h"

#include <stdio.h>
#include <stdlib.h>

#define NO GM_NO
#define ONE GM_ONE
#define EACH GM_EACH
#define VECTOR GM_VECTOR
#define ROOT GM_ROOT
#define SENDS GM_SENDS
#define RECEIVES GM_RECEIVES
#define REDUCES GM_REDUCES
#define SEPARATE GM_SEPARATE
#define NEAR GM_NEAR
#define EITHER GM_EITHER
const struct gm_spec gm_specs[GM_COLLS] = {
#define X(NAME, name, send, recv, flags) { "MPI_" #name, send, recv, flags },
#include "mpi/collectives.def"
#undef X
};

struct gm_totals gm_totals;

/* Selects the schedule for a plan. All ranks select the same one. */
static int choose(struct gm_plan *p, MPIX_Sched *sched)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call,
					      .collective = p->as->name,
					      .count = p->bind.count,
					      .basic = p->bind.basic,
					      .type = p->bind.type,
					      .op = p->bind.op,
					      .topology = p->comm->topology };

	return gm_lib.select(p->comm->group, &call, sched);
}

/* True if all ranks pass the same arguments whenever this rank repeats a call. Counts or uses of MPI_IN_PLACE that only concern some
 * ranks may change without the others. A rank with a device may get a buffer that it cannot serve, and the others have to know. */
static bool is_alike(const struct gm_plan *p)
{
	return !(p->spec->flags & (SENDS | RECEIVES | NEAR | EITHER)) && p->spec->send != VECTOR && p->spec->recv != VECTOR && !p->own &&
	       !gm_device_any();
}

/* Binds the plan's schedule, or nothing, collectively. Sets p->why on all ranks if that failed on one. */
static void bind_plan(struct gm_plan *p, MPIX_Sched sched, char *text, size_t size)
{
	struct MPIX_Sched_info info = { .struct_size = sizeof info };

	p->bind.refusal = p->why;
	p->bind.alike = is_alike(p);
	if (gm_lib.init(sched, p->comm->group, &p->bind, &p->r->req) && !p->why) {
		gm_lib.error_detail(gm_ctx(), text, size);
		p->why = text;
	}
	if (!p->why && gm_counts() && !gm_lib.get_info(sched, &info))
		p->r->record = gm_record_of(p->call->coll, false, GM_SERVED, info.name);
}

/* Reports that the user's schedule is refused: a new error code of MPI has the reason, as far as it fits. */
static int refuse(const struct gm_plan *p, const char *path)
{
	char text[MPI_MAX_ERROR_STRING];
	int class, code;

	if (!p->comm->rank)
		gm_say("goalmpi: %s is refused for %s: %s\n", path, p->spec->name, p->why);
	snprintf(text, sizeof text, "the schedule %s is refused: %s", path, p->why);
	gm_record_of(p->call->coll, false, GM_REFUSED, p->why);
	if (PMPI_Add_error_class(&class) || PMPI_Add_error_code(class, &code) || PMPI_Add_error_string(code, text))
		return MPI_ERR_OTHER;
	return code;
}

/* Plans the call and binds a schedule for it. Sets p->why if that is not possible. */
static int serve(struct gm_plan *p, char *text, int size)
{
	char buf[1024];
	const char *path = gm_own_path(p->call, p->comm, buf, sizeof buf);
	MPIX_Sched sched = NULL;

	p->own = path != NULL;
	gm_plan_make(p);
	if (path) {
		const char *why = gm_own_load(p, path, text, size, &sched);

		p->why = why ? why : p->why;
		if (!why)
			bind_plan(p, sched, text, (size_t)size);
		return p->why ? refuse(p, path) : MPI_SUCCESS;
	}
	if (!p->why && choose(p, &sched)) {
		gm_lib.error_detail(gm_ctx(), text, (size_t)size);
		p->why = text;
	}
	bind_plan(p, sched, text, (size_t)size);
	if (sched)
		gm_lib.unload(&sched);
	return MPI_SUCCESS;
}

static bool for_us(const struct gm_call *call, const char **why)
{
	int inter;

	if (call->comm == MPI_COMM_NULL || PMPI_Comm_test_inter(call->comm, &inter))
		*why = "the communicator is not valid";
	else if (inter)
		*why = "an intercommunicator";
	else
		return true;
	return false;
}

int gm_init(const struct gm_call *call, struct gm_request **out)
{
	struct gm_plan p = { .call = call, .spec = &gm_specs[call->coll] };
	struct gm_comm *c = NULL;
	char text[2048] = "";
	int err = MPI_SUCCESS;

	*out = NULL;
	if (for_us(call, &p.why)) {
		gm_reap();
		c = gm_comm_of(call->comm);
		p.why = !c ? "out of memory" : c->group ? NULL : "the ranks cannot form a group";
	}
	if (!p.why) {
		gm_nbc_drain(c->nbc);
		p.comm = c;
		p.r = calloc(1, sizeof *p.r);
		if (!p.r)
			return MPI_ERR_NO_MEM;
		p.r->comm = c;
		p.r->coll = call->coll;
		err = serve(&p, text, sizeof text);
		gm_plan_free(&p);
		p.r->calls = p.r->op != MPI_OP_NULL && !gm_any_thread();
		p.r->plain = !p.r->calls && !p.r->record && !p.r->stage[GM_SEND].mem && !p.r->stage[GM_RECV].mem;
		if (p.why)
			gm_request_free(p.r); /* with its reference to the communicator */
		else
			*out = p.r;
	} else {
		gm_comm_unref(c);
	}
	if (!p.why) {
		gm_totals.served++;
		gm_helper_begin();
	} else if (!err) {
		gm_totals.left++;
		gm_record_of(call->coll, false, GM_LEFT, p.why);
	}
	return err;
}
