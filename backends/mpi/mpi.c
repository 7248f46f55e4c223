/* SPDX-License-Identifier: BSD-3-Clause
 * The table of operations of the backend mpi. backends/shm/sm.h describes how messages within a node travel, mp.h how
 * messages between nodes do. */
#include "backends/mpi/mpi.h"

#include "backends/mpi/mp.h"
#include "util/clock.h"
#include "util/mem.h"

#define NAP_NS 100000u /* a thread sleeps on a bell, which no transport rings, so it sleeps briefly */

static struct mp_bound *to_mp(struct be_bound *b)
{
	return (struct mp_bound *)b;
}

static int mp_make(const struct be_bind *b, struct be_bound **out, struct be_handle *handle)
{
	int err = sm_make(b, sizeof(struct mp_bound), &mp_ops, true, out, handle);

	if (err)
		return err;
	to_mp(*out)->sm.calls_app = true;
	return mp_prepare(to_mp(*out));
}

static int mp_bind(struct be_bound *bound, uint32_t views, int err)
{
	struct mp_bound *m = to_mp(bound);
	int rc = sm_connect(&m->sm, views, err);

	rc = rc ? rc : mp_connect(m);
	if (!rc)
		sm_trace(&m->sm);
	return rc;
}

static void mp_memory(const struct be_bound *bound, struct be_memory *all)
{
	const struct mp_bound *m = (const struct mp_bound *)bound;

	sm_memory(bound, all);
	all->private += mem_bytes(m->msgs) + mem_bytes(m->links) + mem_bytes(m->slots) + mem_bytes(m->handles);
}

static void mp_unbind(struct be_bound *bound)
{
	if (bound)
		mp_disconnect(to_mp(bound));
	sm_unbind(bound);
}

/* Notes whether the calling thread may call the transport. */
static void note_caller(struct mp_bound *m, unsigned who)
{
	m->calls = m->transport && (who & BE_CALLS || m->transport->any_thread);
}

static int mp_start(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct mp_bound *m = to_mp(bound);
	int rc;

	note_caller(m, who);
	m->counted[BE_NEAR_SENT] += m->nmemory;
	rc = sm_start(bound, epoch, who);
	sm_show_counts(&m->sm, m->counted);
	return rc;
}

static int mp_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct mp_bound *m = to_mp(bound);
	int rc;

	note_caller(m, who);
	rc = sm_progress(bound, who, m->nmsgs ? 0 : spins);
	if (rc && m->nmsgs)
		sm_show_counts(&m->sm, m->counted);
	return rc;
}

static uint64_t first_alarm(const struct be_bound *bound)
{
	const struct mp_bound *m = (const struct mp_bound *)bound;
	const uint64_t first = sm_alarm(bound), nap = mp_any_open(m) ? clock_now_ns() + NAP_NS : UINT64_MAX;

	return nap < first ? nap : first;
}

static void mp_states(const struct be_bound *bound, uint8_t *state, const char **what)
{
	const struct mp_bound *m = (const struct mp_bound *)bound;

	sm_states(bound, state, what);
	for (uint32_t i = 0; i < m->nmsgs; i++)
		if (state[m->msgs[i].op] == BE_ISSUED)
			what[m->msgs[i].op] = mp_message_waits(&m->msgs[i]);
}

const struct be_ops mp_ops = {
	.name = "mpi",
	.transports = true,
	.make = mp_make,
	.bind = mp_bind,
	.adopt = sm_adopt, /* views in other processes carry out shared-memory messages only */
	.memory = mp_memory,
	.unbind = mp_unbind,
	.start = mp_start,
	.progress = mp_progress,
	.join = sm_join,
	.rebind = mp_rebind,
	.waits_for = sm_waits_for,
	.has_started = sm_has_started,
	.open = sm_open,
	.alarm = first_alarm,
	.states = mp_states,
};
