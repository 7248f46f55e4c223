/* SPDX-License-Identifier: BSD-3-Clause
 * Traces of what the dispatcher does: reads the clock before and after each step of an op. */
#include "backends/common/dispatch_trace.h"

#include "backends/services.h"
#include "format/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/mem.h"

#define STEP_NS 1000u /* a poll that changed nothing takes less time */

struct traced_op {
	struct dispatch_do todo;
	struct dispatch_trace *t;
	uint32_t op;
};

struct dispatch_trace {
	const struct be_bind *b;
	const uint64_t *epoch;
	struct traced_op ops[];
};

static void trace_event(const struct traced_op *o, bool own, enum be_event_what what, uint64_t begin, uint64_t end)
{
	const struct be_bind *b = o->t->b;
	const struct bin_op *op = &b->ops[o->op];
	const bool message = bin_is_message(op->kind);

	group_trace(b->group, (struct be_event){ .begin = begin,
						 .end = end,
						 .request = b->request,
						 .epoch = *o->t->epoch,
						 .bytes = op->kind == BIN_OP_CALC ? 0 : op->len * b->layout->basic,
						 .rank = b->rank,
						 .op = o->op,
						 .peer = message ? op->peer : BE_NOBODY,
						 .tag = message ? op->tag : 0,
						 .what = (uint8_t)what,
						 .own = own,
						 .kind = op->kind });
}

static bool by_own(const struct dispatcher *e)
{
	return !e->helped || e->who & BE_APP;
}

static int traced_issue(struct dispatcher *e, void *what)
{
	const struct traced_op *o = what;
	uint64_t begin = clock_now_ns();
	int rc = o->todo.how.issue(e, o->todo.what);

	if (rc >= 0)
		trace_event(o, by_own(e), rc ? BE_EVENT_DONE : BE_EVENT_ISSUED, begin, clock_now_ns());
	return rc;
}

static int traced_poll(struct dispatcher *e, void *what)
{
	const struct traced_op *o = what;
	uint64_t begin = clock_now_ns(), end;
	int rc = o->todo.how.poll(e, o->todo.what);

	end = clock_now_ns();
	if (rc > 0 || (!rc && end - begin > STEP_NS))
		trace_event(o, by_own(e), rc ? BE_EVENT_DONE : BE_EVENT_PART, begin, end);
	return rc;
}

int dispatch_trace_make(struct dispatch_trace **out, const struct be_bind *b, const uint64_t *epoch)
{
	struct dispatch_trace *t;

	*out = NULL;
	if (!group_traces(b->group))
		return 0;
	t = mem_calloc(1, sizeof *t + b->nops * sizeof *t->ops);
	if (!t)
		return group_error(b->group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	t->b = b;
	t->epoch = epoch;
	*out = t;
	return 0;
}

void dispatch_trace(struct dispatcher *e, struct dispatch_trace *t)
{
	for (uint32_t i = 0; t && i < e->nops; i++) {
		t->ops[i] = (struct traced_op){ e->todo[i], t, i };
		e->todo[i] = (struct dispatch_do){ { traced_issue, traced_poll }, &t->ops[i] };
	}
}

void dispatch_trace_joined(const struct dispatch_trace *t, uint32_t op, uint64_t begin)
{
	trace_event(&t->ops[op], true, BE_EVENT_PART, begin, clock_now_ns());
}
