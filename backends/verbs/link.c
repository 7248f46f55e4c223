/* SPDX-License-Identifier: BSD-3-Clause
 * Links: queue pairs to peers, from their creation to the last bye. */
#include "backends/services.h"
#include "backends/verbs/vb.h"
#include "util/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_DEPTH 16u

static uint32_t signal_every(const struct vb_link *l)
{
	return l->depth / 4;
}

/* Makes the queue pair. A device that can copy fewer inline bytes refuses, so smaller numbers are tried. */
static struct ibv_qp *make_qp(struct vb_dev *d, struct vb_link *l)
{
	struct ibv_qp_init_attr a = { .send_cq = d->cq, .recv_cq = d->cq, .srq = d->srq, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = NULL;

	for (uint32_t bytes = VB_FEW; !qp; bytes /= 2) {
		a.cap = (struct ibv_qp_cap){ .max_send_wr = l->depth, .max_send_sge = 1, .max_inline_data = bytes };
		qp = d->lib->create_qp(d->pd, &a);
		l->inlines = qp ? a.cap.max_inline_data : 0;
		if (!bytes)
			break;
	}
	if (l->inlines > VB_FEW)
		l->inlines = VB_FEW;
	return qp;
}

int vb_link_make(struct vb_bound *v, struct vb_link *l, struct vb_dev *d, uint64_t wrs, uint64_t signalled, uint64_t arrivals)
{
	struct be_group *g = v->sm.b.group;
	const uint32_t most = (uint32_t)d->attr.max_qp_wr;
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT,
				    .port_num = d->port_num,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
	int err;

	/* room for the work of an epoch, and as much again that the device has not handled yet */
	l->depth = 2 * wrs + VB_OWN < most ? (uint32_t)(2 * wrs + VB_OWN) : most;
	l->depth = l->depth < LEAST_DEPTH ? LEAST_DEPTH : l->depth;
	l->tail = &l->first;
	l->recvs = (uint32_t)(arrivals + 1); /* one more for the bye */
	l->cqes = (uint32_t)(l->recvs + signalled + 4 + VB_OWN);
	pthread_mutex_lock(&d->lock);
	err = vb_dev_reserve(g, d, l->cqes, l->recvs);
	if (!err) {
		l->dev = d;
		l->qp = make_qp(d, l);
		if (!l->qp) {
			d->cqes.need -= l->cqes;
			d->recvs.need -= l->recvs;
			err = group_error(g, -ERR_SYS,
					  "no queue pair for rank %u: %s (the device has max_qp %d, max_qp_wr %d, max_sge %d; at most "
					  "that many ranks can be peers)",
					  l->peer, strerror(errno), d->attr.max_qp, d->attr.max_qp_wr, d->attr.max_sge);
		} else {
			l->next = d->by_number[l->qp->qp_num % 256];
			d->by_number[l->qp->qp_num % 256] = l;
		}
	}
	pthread_mutex_unlock(&d->lock);
	if (!err && d->lib->modify_qp(l->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		err = group_error(g, -ERR_SYS, "the queue pair for rank %u cannot be initialised: %s", l->peer, strerror(errno));
	return err;
}

/* Returns why the device does not reach a peer. why: what it says */
static const char *reason(const struct vb_link *l, const char *why)
{
	/* It may have failed itself, so that no rank of another node can be reached. */
	return vb_dev_works(l->dev) ? why : "the port of this rank's RDMA device is down";
}

/* True for an error of a connect that nobody has answered: with RoCE the kernel asks the network for the peer's address. */
static bool is_silent(int err)
{
	return err == ETIMEDOUT || err == EHOSTUNREACH || err == ENETUNREACH;
}

int vb_link_connect(struct vb_bound *v, struct vb_link *l, const struct vb_contact *mine, const struct vb_contact *theirs,
		    uint32_t qpn)
{
	const struct vb_dev *d = l->dev;
	const struct vb_port *here = &mine->port[l->lane], *there = &theirs->port[l->lane];
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR,
				 .path_mtu = here->mtu < there->mtu ? here->mtu : there->mtu,
				 .dest_qp_num = qpn,
				 .rq_psn = theirs->salt,
				 .max_dest_rd_atomic = 1,
				 .min_rnr_timer = 12,
				 .ah_attr = { .port_num = d->port_num, .dlid = there->lid } };

	if (here->lids != there->lids)
		return group_error(v->sm.b.group, -ERR_MISMATCH,
				   "the ports of this rank and of rank %u are of different kinds, InfiniBand and RoCE", l->peer);
	if (d->gid_index >= 0) {
		a.ah_attr.is_global = 1;
		a.ah_attr.grh = (struct ibv_global_route){ .dgid = there->gid,
							   .sgid_index = (uint8_t)d->gid_index,
							   .hop_limit = 64 };
	}
	if (!d->lib->modify_qp(l->qp, &a,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
		/* After seven times 268 ms without an answer, the peer or the path to it is gone. */
		a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
					  .timeout = 16,
					  .retry_cnt = 7,
					  .rnr_retry = 7,
					  .sq_psn = mine->salt,
					  .max_rd_atomic = 1 };
		if (!d->lib->modify_qp(l->qp, &a,
				      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
			return 0;
	}
	if (is_silent(errno)) /* the group can still say so to all ranks, and may go on without this bind */
		return group_error(v->sm.b.group, -ERR_DEAD, "rank %u cannot be reached: %s", l->peer, reason(l, strerror(errno)));
	return group_error(v->sm.b.group, -ERR_SYS, "the queue pair for rank %u cannot be connected: %s", l->peer,
			   strerror(errno));
}

/* ---- posting ---- */

void vb_link_add(struct vb_link *l, struct ibv_send_wr *wr, uint32_t number)
{
	const bool asked = number != VB_NOBODY;

	l->posted++;
	wr->wr_id = (uint64_t)l->posted << 32 | number;
	wr->send_flags &= ~(unsigned)IBV_SEND_SIGNALED;
	if (asked || l->posted - l->signalled >= signal_every(l)) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		l->signalled = l->posted;
	}
	wr->next = NULL;
	*l->tail = wr;
	l->tail = &wr->next;
}

bool vb_link_probe(struct vb_link *l)
{
	if (vb_link_busy(l) > l->posted - l->probed) /* counted from the last one: the last probe may be billions ago */
		return false;
	l->own = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE };
	vb_link_add(l, &l->own, VB_LINK);
	l->probed = l->posted;
	return true;
}

int vb_link_flush(struct be_group *g, struct vb_link *l)
{
	struct ibv_send_wr *bad;
	int rc = l->first ? ibv_post_send(l->qp, l->first, &bad) : 0;

	l->first = NULL;
	l->tail = &l->first;
	if (rc && !atomic_load(&l->broken))
		return group_error(g, -ERR_SYS, "the queue pair for rank %u takes no work: %s", l->peer, strerror(rc));
	return 0;
}

/* ---- completions ---- */

void vb_link_completed(struct vb_link *l, const struct ibv_wc *wc)
{
	const uint32_t imm = ntohl(wc->imm_data), number = (uint32_t)wc->wr_id;
	uint32_t whole = IBV_WC_SUCCESS;

	if (wc->status != IBV_WC_SUCCESS) {
		atomic_compare_exchange_strong(&l->broken, &whole, wc->status);
		return;
	}
	if (!(wc->opcode & IBV_WC_RECV)) {
		if (number < VB_MESSAGES && l->of)
			atomic_fetch_add_explicit(&l->of->msgs[number].left, 1, memory_order_release);
		atomic_store_explicit(&l->reaped, (uint32_t)(wc->wr_id >> 32), memory_order_release);
	} else if (imm == VB_BYE) {
		atomic_store_explicit(&l->heard_bye, true, memory_order_release);
	} else if (l->of && (imm & ~VB_READY) < l->of->nmsgs) {
		/* Makes the bytes visible before they are counted; pairs with the load in recv_poll. */
		atomic_fetch_add_explicit(&l->of->msgs[imm & ~VB_READY].came, 1, memory_order_release);
	}
}

int vb_link_error(struct be_group *g, const struct vb_link *l)
{
	const uint32_t why = atomic_load(&l->broken);

	/* A peer that has left has given back its memory. What was sent there since has broken the link, not the group. */
	if (atomic_load(&l->heard_bye) && !group_lost(g))
		return group_error(g, -ERR_DEAD, "rank %u has left: it has freed its request", l->peer);
	return group_unreachable(g, l->peer, why ? reason(l, l->dev->lib->wc_status_str(why)) : "it does not answer");
}

/* ---- leaving ---- */

static void destroy_link(struct vb_dev *d, struct vb_link *l)
{
	struct vb_link **at = &d->by_number[l->qp->qp_num % 256];

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	d->lib->destroy_qp(l->qp);
	d->cqes.need -= l->cqes;
	d->recvs.need -= l->recvs;
	free(l);
}

void vb_link_leave(struct vb_link *l, bool failed)
{
	struct vb_dev *d = l->dev;
	struct ibv_send_wr *bad;

	pthread_mutex_lock(&d->lock);
	l->of = NULL;
	failed = failed || atomic_load(&l->broken);
	if (!failed) {
		l->own = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(VB_BYE) };
		vb_link_add(l, &l->own, VB_LINK);
		failed = ibv_post_send(l->qp, l->first, &bad) != 0;
	}
	if (failed) {
		destroy_link(d, l);
	} else {
		l->next_leaving = d->leaving;
		d->leaving = l;
	}
	pthread_mutex_unlock(&d->lock);
}

void vb_links_reap(struct vb_dev *d, bool all)
{
	for (struct vb_link **at = &d->leaving; *at;) {
		struct vb_link *l = *at;

		/* A peer that has left waits for the bye of this rank. */
		if (!all && !atomic_load(&l->broken) && (vb_link_busy(l) || !atomic_load(&l->heard_bye))) {
			at = &l->next_leaving;
			continue;
		}
		*at = l->next_leaving;
		destroy_link(d, l);
	}
}
