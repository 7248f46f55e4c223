/* SPDX-License-Identifier: BSD-3-Clause
 * Definitions shared by the parts of the verbs backend. device.c opens a device, link.c makes queue pairs, poll.c handles
 * completions, connect.c exchanges addresses and builds work requests, move.c posts them, verbs.c has the table of
 * operations.
 *
 * A request has shared-memory messages and network messages. The former, and all ops that are not messages, are carried
 * out by backends/shm/sm.h; this backend carries the network messages. If all ranks have several devices, each
 * device is a lane: lane i of a rank is connected to lane i of its peers, and set_lanes assigns each message a lane. A
 * link is a queue pair (RC) to one peer, for one request, on one lane. So requests share only what a device has once:
 * the completion queue and the shared receive queue. On a link a rank posts
 *
 *   data     RDMA writes straight to the receiver's buffer, in parts of at most the port's max_msg_sz. The last one has
 *            an immediate: the number of the message at the receiver. A link keeps its order, so all parts have arrived
 *            when the immediate does.
 *   ready    A write without bytes, whose immediate is VB_READY and the number of the message at the sender: the recv
 *            has started, and its buffer may be overwritten. Sent for messages whose schedule does not ensure that.
 *   bye      A write without bytes, whose immediate is VB_BYE: the rank has freed the request.
 *   probe    A write without bytes and without an immediate, once a second while a rank waits. A rank that only
 *            receives would otherwise not learn from its device that the peer is gone.
 *
 * Arrivals are counted for each message, in all epochs, and compared with the epoch. So nothing is reset, and an
 * arrival that is an epoch early just waits. Recvs that reduce, and elements with gaps, get their bytes in a slot of
 * the receiver, which then moves them on itself. Messages of few bytes go to one of VB_SLOTS slots, by epoch: copying
 * them takes less time than waiting for a ready signal.
 *
 * A put writes into the receiver's memory, so it must not arrive too early. Without slots, the put of epoch e must
 * not arrive before the recv of e has started: either the put waits for the ready signal of e, or the schedule makes
 * the send depend on the recv's start. Messages with slots, or without bytes, may arrive earlier. In some schedules
 * the sender's rank completes only after the receiver's rank has started, so that a message is at most one epoch
 * early. In all others the receiver sends a ready signal when it starts an epoch that is a multiple of VB_TELL. The
 * signal of epoch e says that the epochs before e are complete, so that each epoch up to e + VB_SLOTS - 1 has a free
 * slot.
 *
 * At most VB_SLOTS immediates of a message with slots are under way, and at most three of other messages. The sender
 * has seen all ready signals but the last two, because the receiver could not have started so late an epoch without
 * them. The receive queue has room for these numbers.
 *
 * These work requests are signalled: the last one of a message whose bytes are read from the user's buffer, because its
 * completion is the op's; the bye and probes, whose completion shows that the peer has everything so far; and one in
 * every quarter of a queue's length, so that its slots are known to be free again. Inline bytes were copied when the
 * post returned, and a ready signal has no bytes. */
#ifndef BACKENDS_VERBS_VB_H
#define BACKENDS_VERBS_VB_H

#include "backends/shm/sm.h"

#include <infiniband/verbs.h>
#include <pthread.h>

/* bytes; a payload of at most this many has slots, and is copied into its work request if the device can */
#define VB_FEW 128u
#define VB_TELL 4u /* a receiver with slots sends a ready signal in each epoch that is a multiple of this */
#define VB_SLOTS (2 * VB_TELL) /* number of slots: the sender continues until the next ready signal arrives */
#define VB_COMING 3u /* most immediates under way for a message that does not have VB_SLOTS slots */
#define VB_BATCH 16 /* most completions taken at a time */
#define VB_NICS 4u /* most devices of a context */

#define VB_READY 0x80000000u /* flag in an immediate: a ready signal */
#define VB_BYE 0xffffffffu
#define VB_MESSAGES 0x7ffffffeu /* most network messages of a request */
/* Numbers in a work request's ID that stand for no message. VB_NOBODY: nobody waits for the completion. VB_LINK: the link
 * itself waits for it. */
#define VB_NOBODY VB_MESSAGES
#define VB_LINK (VB_MESSAGES + 1)

#define VB_FUNCTIONS                                                                                                 \
	FN(get_device_list) FN(free_device_list) FN(get_device_name) FN(open_device) FN(close_device)                \
	FN(query_device) FN(query_port) FN(query_gid) FN(alloc_pd) FN(dealloc_pd) FN(reg_mr) FN(dereg_mr) FN(create_cq)            \
	FN(destroy_cq) FN(resize_cq) FN(create_srq) FN(modify_srq) FN(destroy_srq) FN(create_qp) FN(modify_qp)       \
	FN(destroy_qp) FN(wc_status_str) FN(create_comp_channel) FN(destroy_comp_channel) FN(get_cq_event)           \
	FN(ack_cq_events)

/* The functions of libibverbs, which is loaded when a request has network messages. */
struct vb_lib {
#define FN(name) __typeof__(&ibv_##name) name;
	VB_FUNCTIONS
#undef FN
	__typeof__(&_ibv_query_gid_table) query_gid_table;
};

/* Length of a queue of the device: needed, present, and the device's maximum. */
struct vb_depth {
	uint64_t need;
	uint32_t have, most;
};

/* One port of a device. */
struct vb_dev {
	const struct vb_lib *lib;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel; /* completion channel, which sleeping ranks wait for */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	uint8_t port_num;
	int gid_index; /* index of the port's GID; -1 if the port is addressed by LID */
	int gid_rate; /* what kind of GID it is, at least 1 (rate_gid) */
	union ibv_gid gid;
	pthread_mutex_t lock; /* protects the fields below; held while polling */
	bool armed; /* true if the channel reports the next completion, and none has arrived since */
	struct vb_depth cqes, recvs;
	uint32_t posted; /* receives posted to the shared receive queue */
	struct vb_link *by_number[256]; /* hash table of the links, by the last bits of the queue pair number */
	struct vb_link *leaving; /* links of requests that were freed */
};

/* The devices of one context. */
struct vb_nics {
	struct vb_lib lib;
	struct vb_dev *dev[VB_NICS];
	uint32_t n;
	int refused; /* errno of the last device that could not be opened, or 0 */
	int watch; /* epoll descriptor for the channels of all devices */
};

struct vb_link {
	struct vb_dev *dev;
	uint32_t lane;
	struct vb_bound *of; /* NULL if the request has been freed */
	struct vb_link *next, *next_leaving;
	struct ibv_qp *qp;
	uint32_t peer;
	uint32_t depth, inlines; /* work requests of the queue; bytes that a work request can carry inline */
	uint32_t cqes, recvs; /* the link's share of the device's completion and receive queues */
	/* posted: work requests posted since bind; signalled: number of the last one that was signalled */
	uint32_t posted, signalled;
	_Atomic uint32_t reaped; /* number of the last work request that is known to be complete */
	struct ibv_send_wr *first, **tail; /* list of work requests to be posted together */
	struct vb_link *next_full; /* next link that has work requests to post */
	struct ibv_send_wr own; /* work request of a probe or of the bye */
	uint32_t probed; /* number of the last probe's work request */
	_Atomic bool heard_bye;
	_Atomic uint32_t broken; /* status of the first failed completion (enum ibv_wc_status), or 0 */
	uint32_t first_msg, nmsgs; /* range of the messages of the link */
};

/* Address of a rank's lane. */
struct vb_port {
	union ibv_gid gid;
	uint32_t rkey; /* key of the rank's table of message descriptors */
	uint16_t lid;
	uint8_t mtu, lids;
};

/* Contact data of a rank, which it sends to all others at bind. */
struct vb_contact {
	int32_t err;
	uint32_t npairs;
	uint64_t table;
	uint32_t salt; /* first packet number of the rank's queue pairs */
	uint32_t zero;
	struct vb_port port[VB_NICS];
};

/* Condition for posting a send, by the ready signals that have arrived. */
enum vb_ready {
	VB_FREE, /* at any time: the schedule makes the send depend on the start of the recv */
	VB_LATE, /* when the receiver has a free slot; at any time if the message has no bytes */
	VB_NOW /* when the recv has started */
};

/* Destination of a message. It is kept in the sender's memory, where the receiver writes it when it is rebound. */
struct vb_target {
	uint64_t address;
	uint32_t rkey, zero;
};

/* A network message. */
struct vb_msg {
	struct vb_link *link;
	uint32_t op;
	bool send, inlines; /* inlines: the bytes are copied into the work request */
	uint8_t ready; /* enum vb_ready */
	uint64_t bytes;
	uint32_t stride; /* bytes from one of the receiver's slots to the next; 0 if there is a single destination */
	_Atomic uint64_t came; /* recv: messages that have arrived; send: ready signals that have arrived; in all epochs */
	_Atomic uint64_t left; /* send: number of epochs whose bytes the device has read */
	/* nwrs: work requests of an epoch; put: work requests of this epoch that are posted or queued to be posted */
	uint32_t nwrs, put;
	struct ibv_send_wr *wrs;
	struct ibv_sge *sges;
	/* send: destination of the bytes; recv: this rank's destination, which is sent to the sender when it changes */
	struct vb_target *target;
	struct vb_target cell; /* recv: address of the sender's target for this message */
	char *slot; /* the first slot on this rank through which the bytes go, or NULL */
};

/* The range of a buffer that the device reads or writes: [low, high), in bytes. */
struct vb_region {
	uint64_t low, high;
	bool written; /* true if peers write to it */
	struct ibv_mr *mr; /* NULL if not registered */
};

/* A request's part of a device. */
struct vb_lane {
	struct vb_dev *dev; /* NULL if no link uses the lane */
	struct ibv_mr *arena;
	struct ibv_mr *table; /* registered only during bind */
};

struct vb_bound {
	struct sm_bound sm;
	struct vb_nics *nics; /* NULL if the request has no network messages */
	struct vb_lane lanes[VB_NICS];
	uint32_t nlanes; /* number of lanes of the group */
	struct vb_link **links; /* links, sorted by peer and lane */
	uint32_t nlinks, nmsgs;
	uint64_t nwrs;
	struct vb_msg *msgs; /* network messages, sorted by peer, lane, send, tag, k */
	struct ibv_send_wr *wrs;
	struct ibv_sge *sges;
	struct vb_region *regions; /* regions, by lane and buffer */
	uint32_t nregions, nbufs;
	char *arena; /* memory of the targets and slots */
	size_t narena; /* bytes of the arena */
	struct vb_link *full; /* list of links that have work requests to be posted */
	uint64_t probed; /* time of the last probes in this epoch, in ns; 0 if none yet */
	uint32_t polls;
	uint64_t counted[BE_COUNTS];
	uint32_t nmemory; /* sends through shared memory per start */
	bool connected, failed;
};

static inline struct vb_bound *vb_of(struct dispatcher *e)
{
	return (struct vb_bound *)sm_of(e);
}

/* device.c */
/* Returns the devices of the context; the first call opens them. */
int vb_nics_get(struct be_group *g, struct vb_nics **out);
/* As in struct be_ops. */
bool vb_present(void);
uint64_t vb_network(struct be_group *g);
/* Closes the devices. */
void vb_nics_free(struct vb_nics *nics);
/* Posts receives up to the number needed. The caller holds the lock. Returns 0 or an errno. */
int vb_dev_post_recvs(struct vb_dev *d);
/* Reserves space for the completions and receives of a link. The caller holds the lock. */
int vb_dev_reserve(struct be_group *g, struct vb_dev *d, uint32_t cqes, uint32_t recvs);
/* True if the device's port is still up. */
bool vb_dev_works(struct vb_dev *d);
/* Registers memory. The last argument names the memory in an error message. */
struct ibv_mr *vb_dev_register(struct be_group *g, struct vb_dev *d, void *at, size_t n, int access, const char *what);

/* link.c */
/* Makes the queue pair of a link on a device. `wrs` is the number of work requests per epoch, `signalled` the number of
 * those that are signalled, and `arrivals` the number of immediates under way. */
int vb_link_make(struct vb_bound *v, struct vb_link *l, struct vb_dev *d, uint64_t wrs, uint64_t signalled,
		 uint64_t arrivals);
/* Connects the queue pair to the peer's. */
int vb_link_connect(struct vb_bound *v, struct vb_link *l, const struct vb_contact *mine, const struct vb_contact *theirs,
		    uint32_t qpn);
/* Returns the number of work requests that are not known to be complete. */
static inline uint32_t vb_link_busy(const struct vb_link *l)
{
	return l->posted - atomic_load_explicit(&l->reaped, memory_order_acquire);
}

#define VB_OWN 3u /* reserved work requests: for the bye, a probe, and the reads of binding */
/* True if one more work request of an epoch fits into the queue. */
static inline bool vb_link_fits(const struct vb_link *l)
{
	return vb_link_busy(l) + VB_OWN < l->depth;
}
/* Queues a work request, to be posted with those queued before it. `number` says who waits for its completion: the number of
 * a message, VB_LINK or VB_NOBODY. */
void vb_link_add(struct vb_link *l, struct ibv_send_wr *wr, uint32_t number);
/* Queues a probe, unless the previous one is still under way. Returns true if a probe was queued. */
bool vb_link_probe(struct vb_link *l);
/* Posts the queued work requests. */
int vb_link_flush(struct be_group *g, struct vb_link *l);
/* Ends a link, because its request is freed. Sends the bye; the link is destroyed when nothing can arrive any more. If
 * the request has failed, the link is destroyed at once. */
void vb_link_leave(struct vb_link *l, bool failed);
/* Destroys the links that are broken, or on which both byes have arrived; if `all` is true, every link that has left. The
 * caller holds the lock. */
void vb_links_reap(struct vb_dev *d, bool all);
/* Handles a completion of the link. */
void vb_link_completed(struct vb_link *l, const struct ibv_wc *wc);
/* Reports that the link is broken, and returns the error. */
int vb_link_error(struct be_group *g, const struct vb_link *l);

/* poll.c */
/* Handles completions, unless another thread is doing so. Returns true if there were some. */
bool vb_dev_poll(struct vb_dev *d);
/* Makes the channel report the next completion. Returns false if one has already arrived, or if another thread is
 * polling. */
bool vb_dev_arm(struct vb_dev *d);
/* Waits until all signalled work requests are complete. */
int vb_link_drain(struct be_group *g, struct vb_link *l);
/* The close operation of be_ops: waits a limited time for the bye messages of links that have left, then closes the devices. */
void vb_nics_close(void *state);

/* connect.c */
int vb_connect(struct vb_bound *v);
void vb_disconnect(struct vb_bound *v);
int vb_rebind(struct be_bound *bound, const struct be_buffer *buffers);

/* move.c */
extern const struct dispatch_how vb_how_send, vb_how_recv;
/* Sends probes to all peers. */
void vb_probe(struct vb_bound *v);
/* Posts all queued work requests, and publishes the counters. */
int vb_flush(struct vb_bound *v);
const char *vb_message_waits(const struct vb_bound *v, const struct vb_msg *m);

#endif
