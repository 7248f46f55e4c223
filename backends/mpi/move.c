/* SPDX-License-Identifier: BSD-3-Clause
 * Moves messages between nodes; mp.h says how. */
#include "backends/mpi/mp.h"

#include <stdio.h>

/* The transport has failed. Then all ranks have to know, because others wait for this one. */
static int fail(const struct mp_bound *m, const struct mp_msg *x, int err)
{
	char why[64];

	snprintf(why, sizeof why, "the transport reports error %d", err);
	return group_unreachable(m->sm.b.group, x->peer, why);
}

static void **handles_of(const struct mp_bound *m, const struct mp_msg *x)
{
	return m->handles + x->handle + (m->sm.epoch % 2 ? x->odd : 0);
}

static int begin(struct mp_bound *m, struct mp_msg *x)
{
	const struct bin_op *o = &m->sm.b.ops[x->op];
	void **handles = handles_of(m, x);
	int err = 0;

	if (x->send && x->slot)
		be_pack(m->sm.b.layout, m->sm.b.buffers[o->buf[0]].ptr, o->off[0], o->len, x->slot);
	x->done = 0;
	x->begun = true;
	for (uint32_t i = 0; i < x->nparts && !err; i++)
		err = m->transport->start(m->transport->state, handles[i]);
	if (x->send) {
		m->counted[BE_SENT]++;
		m->counted[BE_SENT_BYTES] += x->bytes;
	}
	return err ? fail(m, x, err) : 0;
}

/* Ends the epoch of a message, whose parts are complete. */
static int end(struct mp_bound *m, struct mp_msg *x)
{
	const struct bin_op *o = &m->sm.b.ops[x->op];
	char *to = m->sm.b.buffers[o->buf[0]].ptr;

	x->begun = false;
	if (x->send || !x->slot)
		return 1;
	if (bin_reduces(o->kind))
		m->sm.b.reduce_packed(m->sm.b.reduce_arg, x->slot, NULL, to, o->off[0], o->len, o->kind == BIN_OP_RECV_REDUCE_WITH);
	else
		be_unpack(m->sm.b.layout, to, o->off[0], o->len, x->slot);
	return 1;
}

/* A thread that may not call the transport leaves the message to one that may. */
static int poll_message(struct dispatcher *e, void *what)
{
	struct mp_bound *m = mp_of(e);
	struct mp_msg *x = what;
	int err = 0;

	if (!m->calls)
		return 0;
	if (!x->begun)
		err = begin(m, x);
	while (!err && x->done < x->nparts) {
		int flag = 0;

		err = m->transport->test(m->transport->state, handles_of(m, x)[x->done], &flag);
		if (err)
			return fail(m, x, err);
		if (!flag)
			return 0;
		x->done++;
	}
	return err ? err : end(m, x);
}

const struct dispatch_how mp_how = { poll_message, poll_message };

bool mp_any_open(const struct mp_bound *m)
{
	for (uint32_t at = 0, op; (op = dispatch_next_active(&m->sm.dispatcher, &at)) != UINT32_MAX;)
		if (m->sm.msgs[op].network)
			return true;
	return false;
}

const char *mp_message_waits(const struct mp_msg *x)
{
	if (!x->begun)
		return "a thread that tests or waits";
	return x->send ? "the transport to send it" : "the message";
}
