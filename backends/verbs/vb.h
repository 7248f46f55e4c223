/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of the verbs backend share: device.c opens a device and polls it, link.c makes queue pairs, bind.c
 * exchanges addresses and builds work requests, move.c posts them, verbs.c is the table.
 *
 * A request's messages are near or far. Near ones, and all ops that are no messages, are shm's (backends/common/sm.h); here
 * are the far ones. Where all ranks have several devices each of these is a lane: lane i of a rank meets lane i of its
 * peers, and a message has the lane that set_lanes says. A link is a queue pair (RC) to one peer of one request, on one
 * lane, so that requests share nothing but what the device has once: the completion queue and the shared receive queue. On
 * a link a rank posts
 *
 *   data     RDMA writes straight to where the bytes belong, pieces of at most the port's max_msg_sz. The last one has
 *            an immediate: the number of the message at the receiver. A link keeps its order, so when it comes all are
 *            there
 *   ready    a write without bytes, whose immediate is VB_READY and the number of the message at the sender: the recv
 *            has started, its bytes may be overwritten. For messages of which the schedule does not already see to that
 *   bye      one without bytes and VB_BYE: the rank has freed the request
 *   probe    one without bytes and without an immediate, once a second while a rank waits: who only receives would not
 *            hear from its device that the peer is gone
 *
 * Arrivals are counted for each message, ever, and compared with the epoch: nothing is re-armed, and one that comes an
 * epoch early waits. The bytes of recvs that reduce, and of elements that are no row, go through a slot of the
 * receiver's; where they then belong is nobody else's business. Few bytes go through one of VB_SLOTS, by epochs: to copy
 * them takes less time than to wait for a ready signal.
 *
 * Who may overwrite what. A put of epoch e comes behind the ready of e, or the schedule has the send follow from the
 * start of the recv: so it does not come before that. What has slots, or no bytes, can come earlier. Either the schedule has
 * its sender's rank complete after the recv's has started: then it is one epoch at most. Or the receiver tells when it
 * starts an epoch j VB_TELL, which says that those before are complete, and so up to j VB_TELL + VB_SLOTS - 1 each has a slot.
 * Of these immediates at most VB_SLOTS are on their way for a message, of others three, and the sender has seen all of the
 * ready signals but the last two, since the receiver could not have started that late without: which is what the receive
 * queue has room for.
 *
 * Which work requests are signalled: the last of a message whose bytes are read from their place, as its completion is
 * the op's; the bye and probes, whose completion tells that the peer has got everything so far; and one in four of a queue's length, so
 * that its places are known to be free again. Inline bytes were copied when the post returned, and a ready has none. */
#ifndef BACKENDS_VERBS_VB_H
#define BACKENDS_VERBS_VB_H

#include "backends/common/sm.h"

#include <infiniband/verbs.h>
#include <pthread.h>

#define VB_FEW 128u /* bytes of a payload that has slots, and is copied into its work request where the device can */
#define VB_TELL 4u /* where the receiver has slots it says in each so many-th epoch that it is ready, */
#define VB_SLOTS (2 * VB_TELL) /* so that the sender goes on until the word comes */
#define VB_COMING 3u /* immediates of a message that are on their way at most, but for those of VB_SLOTS */
#define VB_BATCH 16 /* completions taken at a time */
#define VB_NICS 4u /* devices of a context, at most */

#define VB_READY 0x80000000u /* of an immediate */
#define VB_BYE 0xffffffffu
#define VB_MESSAGES 0x7ffffffeu /* at most, of a request */
/* Who waits for a completion, beside messages by their numbers: */
#define VB_NOBODY VB_MESSAGES
#define VB_LINK (VB_MESSAGES + 1)

#define VB_FUNCTIONS                                                                                                 \
	FN(get_device_list) FN(free_device_list) FN(get_device_name) FN(open_device) FN(close_device)                \
	FN(query_device) FN(query_port) FN(alloc_pd) FN(dealloc_pd) FN(reg_mr) FN(dereg_mr) FN(create_cq)            \
	FN(destroy_cq) FN(resize_cq) FN(create_srq) FN(modify_srq) FN(destroy_srq) FN(create_qp) FN(modify_qp)       \
	FN(destroy_qp) FN(wc_status_str) FN(create_comp_channel) FN(destroy_comp_channel) FN(get_cq_event)           \
	FN(ack_cq_events)

/* libibverbs, which is loaded when a request has far messages. */
struct vb_lib {
#define FN(name) __typeof__(&ibv_##name) name;
	VB_FUNCTIONS
#undef FN
	__typeof__(&_ibv_query_gid_table) query_gid_table;
};

/* A queue of the device's: what has been asked for, and what it holds. */
struct vb_depth {
	uint64_t need;
	uint32_t have, most;
};

/* A port of a device. */
struct vb_dev {
	const struct vb_lib *lib;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel; /* what ranks sleep on */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	uint8_t port_num;
	int gid_index; /* -1: the port has LIDs */
	union ibv_gid gid;
	pthread_mutex_t lock; /* of what follows; who polls has it */
	bool armed; /* the channel tells of the next completion, and there has been none since */
	struct vb_depth cqes, recvs;
	uint32_t posted; /* receives */
	struct vb_link *by_number[256]; /* of queue pairs, by the last bits of their number */
	struct vb_link *leaving; /* of requests that were freed */
};

/* Those of one context. */
struct vb_nics {
	struct vb_lib lib;
	struct vb_dev *dev[VB_NICS];
	uint32_t n;
	int watch; /* an epoll of their channels */
};

struct vb_link {
	struct vb_dev *dev;
	uint32_t lane;
	struct vb_bound *of; /* NULL: its request has been freed */
	struct vb_link *next, *next_leaving;
	struct ibv_qp *qp;
	uint32_t peer;
	uint32_t depth, inlines; /* work requests; bytes */
	uint32_t cqes, recvs; /* its share of the device's queues */
	uint32_t posted, signalled; /* work requests, ever; those up to the last one that was signalled */
	_Atomic uint32_t reaped; /* those up to the last one that is known to be complete */
	struct ibv_send_wr *first, **tail; /* to be posted together */
	struct vb_link *next_full; /* of those that have some */
	struct ibv_send_wr own; /* a probe, or the bye */
	uint32_t probed; /* work requests, ever, up to the last probe */
	_Atomic bool heard_bye;
	_Atomic uint32_t broken; /* the first enum ibv_wc_status that is an error */
	uint32_t first_msg, nmsgs; /* that it is for */
};

/* Where a lane of a rank is to be found. */
struct vb_port {
	union ibv_gid gid;
	uint32_t rkey; /* of its table */
	uint16_t lid;
	uint8_t mtu, lids;
};

/* What a rank tells of itself. */
struct vb_host {
	int32_t err;
	uint32_t npairs;
	uint64_t table;
	uint32_t salt; /* its packets are numbered from here */
	uint32_t zero;
	struct vb_port port[VB_NICS];
};

/* What it tells a peer about their link on a lane. */
struct vb_pair {
	uint32_t peer;
	uint32_t qpn : 24, lane : 8;
	uint32_t first, n; /* entries in its table */
};

/* One message, as a peer reads it at bind. Sorted by (peer, lane, send, tag, k). */
struct vb_entry {
	uint32_t peer, tag, k; /* the k-th of its channel */
	uint32_t number; /* in immediates */
	uint32_t op;
	uint32_t rkey;
	uint64_t bytes;
	uint64_t address; /* of a recv, where the bytes belong; of a send, where that is kept: its struct vb_target */
	uint8_t send;
	uint8_t ready; /* of a recv: enum vb_ready */
	uint8_t lane;
	uint8_t zero[5];
};

/* When a send may be posted, by the ready signals that have come. */
enum vb_ready {
	VB_FREE, /* it follows from the start of the recv */
	VB_LATE, /* earlier, as long as there are slots, or it has no bytes */
	VB_NOW /* when the recv has started */
};

/* Where the bytes of a message go; in the sender's memory, so that a receiver that is rebound can tell. */
struct vb_target {
	uint64_t address;
	uint32_t rkey, zero;
};

/* A far message. */
struct vb_msg {
	struct vb_link *link;
	uint32_t op;
	bool send, inlines; /* its bytes are in the work request */
	uint8_t ready; /* enum vb_ready */
	uint64_t bytes;
	uint32_t stride; /* from one of the receiver's slots to the next; 0: there is one place */
	_Atomic uint64_t came; /* of a recv: messages; of a send: ready signals; ever */
	_Atomic uint64_t left; /* of a send: how often its bytes have been read, ever */
	uint32_t nwrs, put; /* work requests; those of this epoch that are posted, or wait to be with others */
	struct ibv_send_wr *wrs;
	struct ibv_sge *sges;
	struct vb_target *target; /* where the bytes go; of a recv: what the sender is told when that changes */
	struct vb_target cell; /* of a recv: where the sender keeps it */
	char *slot; /* through which the bytes go on this rank, the first one; or NULL */
};

/* The part of a buffer that the device reads and writes: [low, high), in bytes. */
struct vb_region {
	uint64_t low, high;
	bool written; /* by peers */
	struct ibv_mr *mr; /* NULL: there is none */
};

/* What a request has of a device. */
struct vb_lane {
	struct vb_dev *dev; /* NULL: no link is on it */
	struct ibv_mr *arena;
	struct ibv_mr *table; /* while it is bound */
};

struct vb_bound {
	struct sm_bound sm;
	struct vb_nics *nics; /* NULL: no message is far */
	struct vb_lane lanes[VB_NICS];
	uint32_t nlanes; /* of the group */
	struct vb_link **links; /* by peer, lane */
	uint32_t nlinks, nmsgs;
	uint64_t nwrs;
	struct vb_msg *msgs; /* by peer, lane, send, tag, k */
	struct ibv_send_wr *wrs;
	struct ibv_sge *sges;
	struct vb_region *regions; /* by lane, buffer */
	uint32_t nregions, nbufs;
	char *arena; /* targets and slots, */
	size_t narena; /* so many bytes */
	struct vb_link *full; /* links with something to be posted */
	uint64_t probed; /* when peers were last asked for a sign of life, in this epoch, ns; 0: not yet */
	uint32_t turns;
	uint64_t counted[BE_COUNTS];
	uint32_t nnear; /* sends of a start by shared memory */
	bool connected, failed;
};

static inline struct vb_bound *vb_of(struct engine *e)
{
	return (struct vb_bound *)sm_of(e);
}

/* device.c */
/* The context's, opened at the first call. */
int vb_nics_get(struct be_group *g, struct vb_nics **out);
/* As be_ops.close. */
void vb_nics_close(void *state);
/* Takes what has completed, unless somebody else is at it; whether there was something. */
bool vb_dev_poll(struct vb_dev *d);
/* From now on the channel tells of what completes; false if something already has. */
bool vb_dev_arm(struct vb_dev *d);
/* Room for what a link can bring and cause; with the lock. */
int vb_dev_reserve(struct be_group *g, struct vb_dev *d, uint32_t cqes, uint32_t recvs);
/* Whether its port is still up. */
bool vb_dev_works(struct vb_dev *d);
/* Registers memory; what is told on an error. */
struct ibv_mr *vb_dev_register(struct be_group *g, struct vb_dev *d, void *at, size_t n, int access, const char *what);

/* link.c */
/* Makes the queue pair of a link on a device, for so many work requests of an epoch, and arrivals at a time. */
int vb_link_make(struct vb_bound *v, struct vb_link *l, struct vb_dev *d, uint64_t wrs, uint64_t signalled,
		 uint64_t arrivals);
/* Its peer is known. */
int vb_link_connect(struct vb_bound *v, struct vb_link *l, const struct vb_host *mine, const struct vb_host *theirs,
		    uint32_t qpn);
/* How many work requests are not known to be complete. */
static inline uint32_t vb_link_busy(const struct vb_link *l)
{
	return l->posted - atomic_load_explicit(&l->reaped, memory_order_acquire);
}
/* Whether one more of an epoch fits. */
#define VB_OWN 3u /* places beside those of an epoch: for the bye, a probe, and what binding reads */
static inline bool vb_link_fits(const struct vb_link *l)
{
	return vb_link_busy(l) + VB_OWN < l->depth;
}
/* One more of them, to be posted with those before it. number: of a message that waits for its completion,
 * VB_LINK or VB_NOBODY. */
void vb_link_add(struct vb_link *l, struct ibv_send_wr *wr, uint32_t number);
/* Asks for a sign of life, if the last one has come. Whether there is something to be posted. */
bool vb_link_probe(struct vb_link *l);
/* Posts them. */
int vb_link_flush(struct be_group *g, struct vb_link *l);
/* Waits until all is complete whose completion is waited for. */
int vb_link_drain(struct be_group *g, struct vb_link *l);
/* Its request is freed: says so to the peer, and is destroyed when nothing can come any more; at once if the request
 * has failed. */
void vb_link_leave(struct vb_link *l, bool failed);
/* Those that have left and are not needed any more; all: whatever the peer does. With the lock. */
void vb_links_reap(struct vb_dev *d, bool all);
/* A completion of its. */
void vb_link_completed(struct vb_link *l, const struct ibv_wc *wc);
/* Tells the user that it is broken; returns the error. */
int vb_link_error(struct be_group *g, const struct vb_link *l);

/* bind.c */
int vb_connect(struct vb_bound *v);
void vb_disconnect(struct vb_bound *v);
int vb_rebind(struct be_bound *bound, const struct be_buffer *buffers);

/* move.c */
extern const struct engine_how vb_how_send, vb_how_recv;
/* Asks all peers for a sign of life. */
void vb_probe(struct vb_bound *v);
/* Posts what has been put together, and tells what has been counted. */
int vb_flush(struct vb_bound *v);
const char *vb_message_waits(const struct vb_bound *v, const struct vb_msg *m);

#endif
