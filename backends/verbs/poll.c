/* SPDX-License-Identifier: BSD-3-Clause
 * Completions: polls devices, waits for them, and closes devices when nothing is under way. */
#include "backends/services.h"
#include "backends/verbs/vb.h"
#include "util/clock.h"

#include <sched.h>

#define DRAIN_NS 10000000000u /* ns; longer than the device retries */

static struct vb_link *find_link(struct vb_dev *d, uint32_t qpn)
{
	struct vb_link *l = d->by_number[qpn % 256];

	while (l && l->qp->qp_num != qpn)
		l = l->next;
	return l;
}

static bool poll_locked(struct vb_dev *d)
{
	struct ibv_wc wc[VB_BATCH];
	bool any = false;
	int n;

	do {
		n = ibv_poll_cq(d->cq, VB_BATCH, wc);
		for (int i = 0; i < n; i++) {
			struct vb_link *l = find_link(d, wc[i].qp_num);

			d->posted -= wc[i].status == IBV_WC_SUCCESS && wc[i].opcode & IBV_WC_RECV;
			if (l)
				vb_link_completed(l, &wc[i]);
		}
		any |= n > 0;
	} while (n == VB_BATCH);
	/* Reposts receives while nothing arrives, because after an arrival somebody waits for it to be handled. Half of
	 * the receives suffice for an epoch. */
	if (d->posted < (any ? d->recvs.need / 2 : d->recvs.need))
		vb_dev_post_recvs(d); /* cannot fail: the queue had room for as many before */
	if (d->leaving)
		vb_links_reap(d, false);
	d->armed &= !any;
	return any;
}

bool vb_dev_poll(struct vb_dev *d)
{
	bool any;

	if (pthread_mutex_trylock(&d->lock))
		return false;
	any = poll_locked(d);
	pthread_mutex_unlock(&d->lock);
	return any;
}

/* Reads the events of the completion channel. Returns true if there were some. */
static bool drain_cq_events(struct vb_dev *d)
{
	struct ibv_cq *cq;
	void *context;
	unsigned n = 0;

	while (!d->lib->get_cq_event(d->channel, &cq, &context))
		n++;
	if (n)
		d->lib->ack_cq_events(d->cq, n);
	return n;
}

bool vb_dev_arm(struct vb_dev *d)
{
	bool any;

	if (pthread_mutex_trylock(&d->lock))
		return false; /* the thread that polls now may take what the caller waits for */
	if (drain_cq_events(d) || !d->armed)
		d->armed = !ibv_req_notify_cq(d->cq, 0);
	any = poll_locked(d);
	pthread_mutex_unlock(&d->lock);
	return !any;
}

int vb_link_drain(struct be_group *g, struct vb_link *l)
{
	const uint64_t until = clock_now_ns() + DRAIN_NS;

	while ((int32_t)(atomic_load(&l->reaped) - l->signalled) < 0) {
		vb_dev_poll(l->dev);
		if (atomic_load(&l->broken) || group_lost(g) || clock_now_ns() > until)
			return vb_link_error(g, l);
		sched_yield();
	}
	return 0;
}

void vb_nics_close(void *state)
{
	struct vb_nics *nics = state;
	const uint64_t until = clock_now_ns() + DRAIN_NS;

	for (bool left = true; left && clock_now_ns() < until;) {
		left = false;
		for (uint32_t i = 0; i < nics->n; i++) {
			vb_dev_poll(nics->dev[i]);
			for (const struct vb_link *l = nics->dev[i]->leaving; l; l = l->next_leaving)
				left |= vb_link_busy(l) && !atomic_load(&l->heard_bye); /* a peer that has left may be gone */
		}
		if (left)
			sched_yield();
	}
	for (uint32_t i = 0; i < nics->n; i++)
		vb_links_reap(nics->dev[i], true);
	vb_nics_free(nics);
}
