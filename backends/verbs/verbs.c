/* SPDX-License-Identifier: BSD-3-Clause
 * The verbs backend's table of operations. backends/shm/sm.h describes how shared-memory messages travel, vb.h how
 * network messages do. */
#include "backends/verbs/verbs.h"

#include "backends/services.h"
#include "backends/verbs/vb.h"
#include "util/clock.h"
#include "util/mem.h"

#define PROBE_NS 1000000000u
#define PROBE_POLLS 16u /* calls between two readings of the clock */
#define NAP_NS 1000000u /* ns; with helpers a thread sleeps on a bell, which no device rings, so it sleeps briefly */

static struct vb_bound *to_vb(struct be_bound *b)
{
	return (struct vb_bound *)b;
}

static int vb_make(const struct be_bind *b, struct be_bound **out, struct be_handle *handle)
{
	int err = sm_make(b, sizeof(struct vb_bound), &vb_ops, true, out, handle);
	struct vb_bound *v = *out ? to_vb(*out) : NULL;

	for (uint32_t i = 0; i < b->nops && !err; i++) {
		if (v->sm.msgs[i].network && !v->nics)
			err = vb_nics_get(b->group, &v->nics);
		v->nmemory += bin_sends(b->ops[i].kind) && b->ops[i].peer != b->rank && !v->sm.msgs[i].network;
	}
	handle->own = !err && v->nics ? v->nics->n & 0xff : 0;
	return err;
}

/* Returns the number of lanes: the smallest number of devices of the ranks that have network messages. */
static uint32_t count_lanes(const struct vb_bound *v)
{
	uint32_t least = VB_NICS;

	for (uint32_t r = 0; r < v->sm.b.size; r++) {
		const uint32_t n = group_handle(v->sm.b.group, r)->own;

		least = n && n < least ? n : least;
	}
	return least;
}

static int vb_bind(struct be_bound *bound, uint32_t views, int err)
{
	struct vb_bound *v = to_vb(bound);
	int rc;

	v->nlanes = count_lanes(v);
	rc = sm_connect(&v->sm, views, err);
	rc = rc ? rc : vb_connect(v);
	if (!rc)
		sm_trace(&v->sm);
	return rc;
}

/* What the devices keep for the links is only known approximately; it is counted as BE_LINK_BYTES. */
static void vb_memory(const struct be_bound *bound, struct be_memory *m)
{
	const struct vb_bound *v = (const struct vb_bound *)bound;

	sm_memory(bound, m);
	m->private += mem_bytes(v->links) + mem_bytes(v->msgs) + mem_bytes(v->wrs) + mem_bytes(v->sges) +
		      mem_bytes(v->regions) + mem_bytes(v->arena);
	for (uint32_t i = 0; i < v->nlinks; i++)
		m->private += mem_bytes(v->links[i]);
}

static void vb_unbind(struct be_bound *bound)
{
	if (bound)
		vb_disconnect(to_vb(bound));
	sm_unbind(bound);
}

/* Posts what has been queued in this turn, before the turn ends. */
static int flush_posted(struct vb_bound *v, int rc)
{
	int err = v->full ? vb_flush(v) : 0;

	if (rc < 0 || err)
		v->failed = true;
	return rc < 0 || !err ? rc : err;
}

/* Sends probes once a second while nothing arrives, because peers may be gone. */
static void probe_if_due(struct vb_bound *v)
{
	uint64_t now;

	if (++v->polls % PROBE_POLLS)
		return;
	now = clock_now_ns();
	if (v->probed && now - v->probed > PROBE_NS)
		vb_probe(v);
	if (!v->probed || now - v->probed > PROBE_NS)
		v->probed = now;
}

static int vb_start(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct vb_bound *v = to_vb(bound);

	v->probed = 0;
	v->counted[BE_NEAR_SENT] += v->nmemory;
	atomic_store_explicit(&bound->turn->counted[BE_NEAR_SENT], v->counted[BE_NEAR_SENT], memory_order_relaxed);
	return flush_posted(v, sm_start(bound, epoch, who));
}

/* True if the only op left is a network message. */
static bool only_network(const struct vb_bound *v)
{
	const uint32_t *last = dispatch_last(&v->sm.dispatcher);

	return last && v->sm.msgs[*last].network;
}

/* Handles completions of all lanes. Returns true if there were some. */
static bool poll_all(struct vb_bound *v)
{
	bool any = false;

	for (uint32_t i = 0; i < v->nlanes; i++)
		any |= v->lanes[i].dev && vb_dev_poll(v->lanes[i].dev);
	return any;
}

/* Makes the channels of all lanes report the next completion. Returns false if one has arrived. */
static bool arm_all(const struct vb_bound *v)
{
	bool armed = true;

	for (uint32_t i = 0; i < v->nlanes; i++)
		armed &= !v->lanes[i].dev || vb_dev_arm(v->lanes[i].dev);
	return armed;
}

static int vb_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct vb_bound *v = to_vb(bound);
	int rc;

	if (!v->nmsgs)
		return sm_progress(bound, who, spins);
	for (spins = only_network(v) ? spins : 0; !poll_all(v) && spins; spins--)
		;
	rc = sm_progress(bound, who, 0);
	if (!rc)
		probe_if_due(v);
	return flush_posted(v, rc);
}

static uint64_t first_alarm(const struct be_bound *bound)
{
	const struct vb_bound *v = (const struct vb_bound *)bound;
	const uint64_t first = sm_alarm(bound), nap = clock_now_ns() + NAP_NS;

	if (v->sm.b.helped && v->nics)
		return nap < first ? nap : first;
	return arm_all(v) ? first : 0;
}

static void vb_states(const struct be_bound *bound, uint8_t *state, const char **what)
{
	const struct vb_bound *v = (const struct vb_bound *)bound;

	sm_states(bound, state, what);
	for (uint32_t i = 0; i < v->nmsgs; i++)
		if (state[v->msgs[i].op] == BE_ISSUED)
			what[v->msgs[i].op] = vb_message_waits(v, &v->msgs[i]);
}

const struct be_ops vb_ops = {
	.name = "verbs",
	.watches = true,
	.present = vb_present,
	.network = vb_network,
	.puts = true,
	.early = VB_FEW,
	.make = vb_make,
	.bind = vb_bind,
	.adopt = sm_adopt, /* views in other processes carry out shared-memory messages only */
	.memory = vb_memory,
	.unbind = vb_unbind,
	.start = vb_start,
	.progress = vb_progress,
	.join = sm_join,
	.rebind = vb_rebind,
	.waits_for = sm_waits_for,
	.has_started = sm_has_started,
	.open = sm_open,
	.alarm = first_alarm,
	.close = vb_nics_close,
	.states = vb_states,
};
