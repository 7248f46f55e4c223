/* SPDX-License-Identifier: BSD-3-Clause
 * Messages between ranks that share memory. The shm backend sends all its messages so, other backends those within a node. run.c
 * has the operations on a request, start.c begins its epochs, ops.c runs the ops of one rank alone, publish.c tells the other ranks of
 * the messages, and connect.c finds the two ends of each. A message has one of these modes; eager.c, staged.c and pull.c move it,
 * modes.c says which does, and learn.c tries which is faster.
 *
 * Each rank has one block (struct sm_head) per request in its heap. The rank publishes its messages there, so that the two ends of a
 * channel find each other at bind time. The block also holds the words that peers write:
 *
 *   eager    The sender stores payload and sequence number into slot epoch % SM_SLOTS of the receiver, whose lines it owns ahead. The
 *            send completes once the receiver has started epoch - 1 (the credit): the slot of the next epoch is free then.
 *   loan     Eager, but as long as the receiver is punctual, the sender does not copy bytes that lie in its heap: it puts their
 *            location into the slot. The receiver copies them, and announces that it is done, which completes the send. Ranks
 *            that receive such messages themselves do not lend.
 *   pull     The sender announces the epoch and the location of its bytes. The receiver copies them, by load or by
 *            process_vm_readv, and announces that it is done, which completes the send. Both ends copy or reduce chunks of a long
 *            message if the sender can access the receiver's buffers, and receives no long message from it meanwhile; bytes that
 *            are only stored it writes by process_vm_writev, too. The receiver invites it: to copy once the recv is issued, to
 *            reduce once it begins itself. What a start tells so may stand for the next ones (start.c). A send of sums may be an
 *            answer (answer.c): the rank stores them at the peers while it makes them.
 *   staged   The message goes in chunks through a ring in the receiver's heap: where the receiver cannot read the sender's bytes, and
 *            where two copies take less time than one (choose_mode). The sender stores it through the caches or past them (fill.c).
 *   learned  Pull or staged: both are tried in the first epochs, and again later, and the receiver then chooses the faster one.
 *   multicast, eager or staged: sends of the same bytes to several ranks share slots, which are in the sender's block or heap. The
 *            sender copies once, when all receivers have made room. A ring that is shared holds the whole message, so that no
 *            receiver waits until another has read.
 *
 * Every word but two has one writer, and all words only grow. So no word is reset, and no arrival of the next epoch is lost.
 * tests/spin/epoch.pml is the Promela program of these protocols. After each store that another rank may be waiting for, the writer
 * rings that rank's bell. The writer is a rank, whichever thread makes progress for it: only one thread does so at a time, and the
 * turn orders the stores of one such thread before those of the next.
 *
 * With helpers, the state that changes while a schedule runs (struct sm_shared) lies in the rank's block as well, without pointers. A
 * view (struct sm_bound) is one process's pointers to that state. In the rank's process the only view is the rank's own, which
 * helpers there use too. In another process a view has the same pointers, into that process's mappings. Locations announced to peers
 * are always the rank's: addresses in its process and offsets in its heap. A long copy may go through the rank's queue of fragments
 * (copyq.h), from which the rank's own threads take fragments without holding the turn.
 *
 * A recv-reduce absorbs a copy if it waits for the copy and updates what the copy has written, and if whatever else waits for the
 * copy also waits for the recv-reduce: it then reads the source of the copy instead, and the copy moves nothing. All that is ordered
 * after the copy is ordered after the recv-reduce as well, so the source does not change before. */
#ifndef BACKENDS_SHM_SM_H
#define BACKENDS_SHM_SM_H

#include "backends/shm/copyq.h"
#include "backends/common/dispatch.h"
#include "backends/shm/fill.h"
#include "backends/shm/learn.h"
#include "backends/shm/ring.h"
#include "backends/shm/state.h"
#include "format/check.h"
#include "util/align.h"

#include <stdatomic.h>

#ifndef SM_EAGER_MAX
#define SM_EAGER_MAX 2048u /* bytes; for longer messages one copy is faster than two */
#endif
/* Bytes of a chunk: of a staged slot, and of what an end of a pull copies at a time */
#define SM_CHUNK_MIN 2048u /* where the ring may be narrow (ring.h) */
#define SM_CHUNK_SHORT 8192u
#define SM_CHUNK 32768u

/* Returns the bytes of a slot in the ring of a staged message. chunk: bytes of its chunks */
static inline size_t sm_slot_bytes(uint64_t bytes, uint32_t chunk)
{
	return bytes < chunk ? align_up((size_t)bytes, SM_LINE) : chunk;
}

/* Which end of a message this rank is. A message that another backend carries has none here, nor has an op that is no message. */
enum sm_end { SM_NEITHER, SM_SEND, SM_RECV };

struct sm_msg {
	_Alignas(SM_LINE) uint8_t mode; /* enum sm_mode */
	bool direct; /* true if the receiver can read the sender's private memory */
	bool same; /* true if the peer is in this process */
	bool reduces; /* true if the received bytes are an operand of a reduction */
	bool two_way; /* true if the receiver sends long messages to the sender meanwhile: both are busy then, and each copies alone */
	/* pull: true if the sender must keep its bytes in its heap, because helpers of the receiver rely on that */
	bool heap;
	bool writes, asked; /* send, pull: this rank may write the receiver's private memory, which `asked` says it has found out */
	bool network; /* true for a network message, which another backend carries */
	uint8_t way; /* how it travels in this epoch: its mode, or if that is learned, SM_PULL or SM_STAGED */
	uint8_t chosen; /* learned: its way once it is learned, or 0 */
	bool bounces; /* send, pull: true if the bytes go through bounce, because the receiver cannot read them directly */
	uint8_t end; /* enum sm_end */
	bool lends, leaves; /* loan, send: true if this rank may lend the bytes; true if its issue leaves them to poll */
	bool stands; /* pull: true if what the peer has to know of it stands for all epochs, so that a start need not tell it (start.c) */
	uint32_t chunks, chunk; /* pull, staged: number of chunks of the message, and bytes of each but the last */
	size_t plane; /* eager: bytes from one of its slots to the next */
	struct sm_moved *now;
	struct sm_in *in;
	struct sm_out *out;
	const struct be_bells *bells; /* the peer's bells */
	uint64_t bytes;
	char *mine; /* address of this rank's bytes; NULL if not contiguous, reduced into, or out of reach */
	char *first; /* eager: the first of its slots */
	_Atomic uint64_t *started; /* the peer's sm_head.started */
	/* last value of started that this view has seen or deduced, which avoids reading the peer's cache line */
	uint64_t *known;
	uint32_t peer, op;
	const char *operand; /* recv-reduce: source of the copy that it absorbs, or NULL */
	char *into; /* recv-reduce: address of what be_bind.combine updates; NULL: be_bind.reduce_packed does it */
	/* last epoch in which this rank has done ahead what there is to do: it has reduced the bytes with the message that this one continues,
	 * has stored them at the receiver (send that answers), or has invited the sender (recv that answers) */
	uint64_t ahead;
	/* recv-reduce: 1 + the one that continues it, see link_reductions; send that answers: 1 + the next one; 0: none */
	uint32_t next;
	uint32_t answers; /* send: 1 + the recv that is the answer; recv-reduce: 1 + the first send that answers; 0: none */
	char *whole; /* buffer in which a message is gathered if its chunks may split an element; else NULL */
	char *bounce; /* copy of the bytes in this rank's heap */
	uint64_t bounce_off;
	_Atomic uint64_t *done; /* loan: the last epoch whose bytes the receiver has copied from the sender's heap */
	/* multicast, send: 1 + the first of the sends that share the slots; and position of the slots, or of the struct sm_multicast, in
	 * lines from the head. Otherwise 0 */
	uint32_t shares, cell;
	struct sm_ring ring; /* staged */
	_Atomic uint64_t *produced; /* staged: chunks that the sender has put there in all epochs */
	const struct sm_desc *other; /* the peer's descriptor of this message, in the peer's block; used while binding */
	struct sm_location seen; /* location of the peer's bytes that was looked up last */
	char *at; /* address in this process of the peer's bytes at `seen`; NULL if out of reach */
	int pid; /* process ID of the peer */
	int gain; /* learned, recv: thousandths by which the trials so far are for the ring, see sm_choose */
	struct sm_fill fill; /* send: how it stores what it stores itself */
	uint32_t twin; /* send: 1 + the copy of the same bytes, and that copy: 1 + the send; 0: none (local_copy.c) */
};

struct sm_bound {
	struct be_bound base;
	/* What a start needs comes first: the program may have driven it out of the caches. */
	struct sm_shared *sh;
	struct sm_head *head;
	uint64_t epoch; /* epoch under way, or begun ahead (sm_begin_ahead); with helpers copied from `sh` */
	uint32_t slot, next_slot; /* numbers of the slots of eager messages in this epoch and in the next */
	bool fences; /* true if a store of `started` may become visible too late unless a fence follows it */
	bool quiet; /* true in a start that rings at its end */
	bool tells; /* true if a start may store other things than `started` that peers wait for */
	bool brief; /* true if the starts to come have only to say that they have begun */
	bool again; /* true if the start of the last epoch would have let messages stand */
	bool lone; /* true if one op of this rank is long, and no other */
	uint32_t nstanding;
	be_start_fn *begin; /* starts the next epoch (start.c) */
	struct be_bells *standing; /* bells of the peers of messages that stand */
	struct sm_learn learn;
	struct dispatcher dispatcher;
	struct be_bind b;
	bool connected; /* true if all ranks are connected */
	char *rings;
	struct sm_msg *msgs; /* messages, by op */
	uint64_t *deadlines; /* deadlines of calcs, by op, in `sh` */
	struct copyq *queue; /* queue of fragments in `sh`, or NULL */
	const struct be_bells *bells; /* bells of this rank, rung for its queue */
	uint64_t received; /* last epoch in which this view has received a message by pull */
	uint64_t fills; /* last epoch in which this rank sends through a ring; its own copies then make room for that */
	struct sm_head **peers; /* blocks of the peers, by rank; NULL if there is no message to or from the rank */
	uint64_t *known; /* latest epoch that each rank is known to have started */
	bool umwaits, cut; /* true if the CPU has umwait; if a poll of a ring could have moved more (staged.c) */
	bool calls_app; /* true if only the rank's own threads may carry out network messages */
	struct dispatch_trace *trace; /* NULL if no trace is kept */
	char *stage; /* buffer of SM_CHUNK bytes that process_vm_readv fills with data that is then reduced or scattered */
	void *own; /* this view's own memory of the dispatcher */
	bool view; /* true if this process is not the rank's */
	uint32_t generation; /* value of sh->generation when b.buffers were looked up */
};

/* True if an op is a message that travels through shared memory. */
static inline bool sm_in_memory(const struct sm_bound *s, uint32_t op)
{
	return bin_is_message(s->b.ops[op].kind) && !s->msgs[op].network;
}

/* True if the issue of an op leaves its bytes to poll: so start moves few bytes, unless the schedule has the op in start. */
static inline bool sm_is_long(const struct sm_bound *s, uint32_t op)
{
	const struct bin_op *o = &s->b.ops[op];

	return bin_nranges(o->kind) && o->len * s->b.layout->basic > DISPATCH_ISSUE_MAX && o->exec != BIN_EARLY;
}

static inline struct sm_bound *sm_of(struct dispatcher *e)
{
	return (struct sm_bound *)((char *)e - offsetof(struct sm_bound, dispatcher));
}

/* Goes on to the next epoch. A remainder would take longer. */
static inline void sm_next_epoch(struct sm_bound *s)
{
	s->epoch++;
	s->slot = s->next_slot;
	s->next_slot = s->slot + 1 < SM_SLOTS ? s->slot + 1 : 0;
}

static inline void sm_set_epoch(struct sm_bound *s, uint64_t epoch)
{
	if (epoch != s->epoch + 1) {
		s->epoch = epoch - 1;
		s->next_slot = (uint32_t)(epoch % SM_SLOTS);
	}
	sm_next_epoch(s);
}

/* Converts an offset in `sh` to an address. */
static inline void *sm_at(const struct sm_bound *s, uint64_t off)
{
	return (char *)s->sh + off;
}

static inline struct sm_partner *sm_partners(const struct sm_bound *s)
{
	return sm_at(s, s->sh->partners);
}

/* ---- modes.c ---- */

/* The functions that carry out the messages of each mode. */
extern const struct dispatch_how sm_how_send[SM_MODES], sm_how_recv[SM_MODES];
/* Returns the word that must reach the value *least before an issued op can continue, or NULL if there is no single such word. */
const _Atomic uint64_t *sm_watch(const struct sm_bound *s, uint32_t op, uint64_t *least);
/* Returns what an issued message waits for, in words. */
const char *sm_message_waits(const struct sm_bound *s, uint32_t op);

/* ---- run.c: operations as in be_ops, also for backends that send only some messages through memory ---- */

/* A backend's request begins with a struct sm_bound. The backend calls sm_make with its own table of operations, and
 * sm_connect. It then sets the functions of its network messages, and calls sm_trace. The functions below do everything
 * else. size: bytes of the backend's request, which is zeroed. network: true if the backend has network messages: those between
 * nodes, and with GOAL_SHM=0 all between two ranks. */
int sm_make(const struct be_bind *b, size_t size, const struct be_ops *ops, bool network, struct be_bound **out,
	    struct be_handle *handle);
void sm_trace(struct sm_bound *s);
void sm_memory(const struct be_bound *bound, struct be_memory *m);
void sm_unbind(struct be_bound *bound);
int sm_progress(struct be_bound *bound, unsigned who, unsigned spins);
/* Only messages in memory count: what a rank has sent by a network may still be on its way when the rank has left, and the
 * backend sees by itself whether it will come. */
bool sm_waits_for(const struct be_bound *bound, uint32_t rank);
bool sm_has_started(const struct be_bound *bound, uint32_t rank);
uint32_t sm_open(const struct be_bound *bound);
uint64_t sm_alarm(const struct be_bound *bound);
void sm_states(const struct be_bound *bound, uint8_t *state, const char **what);

/* ---- start.c: as in be_ops ---- */

int sm_start(struct be_bound *bound, uint64_t epoch, unsigned who);
/* Has the next start tell the peers all that they have to know, and find out what the ones after it have to do. */
void sm_plan_start(struct sm_bound *s);
/* Does at the end of an epoch, if s->brief is true, what the next start would do for this rank alone. */
void sm_begin_ahead(struct sm_bound *s);

/* ---- ops.c ---- */

/* Sets up the dispatcher and the functions of ops. No other rank takes part or waits for that. */
void sm_prepare(struct sm_bound *s);
/* Decides which threads may run each op. Called when modes of messages and addresses of buffers are known. */
void sm_classify(struct sm_bound *s);
/* Sets the functions of each op and their argument, except for messages (sm_connect); and s->lone. */
void sm_set_how(struct sm_bound *s);

/* ---- fragments.c: large copies in fragments ---- */

/* True if a copy of `bytes` bytes goes through the rank's queue: it is large, and a helper carries it out. */
static inline bool sm_parts(const struct sm_bound *s, uint64_t bytes)
{
	return s->queue && bytes > s->sh->fragment && !(s->dispatcher.who & BE_APP);
}
/* Begins or continues a copy through the rank's queue. For a message, the source is the address in this process of the
 * peer's bytes, and the location is their location at the peer. Returns 1 when the copy is complete, 0 if not yet. */
int sm_copy_parts(struct sm_bound *s, struct sm_moved *now, uint32_t op, const struct sm_location *location, char *to,
		  const char *from, uint64_t bytes);
/* Returns the address in this process of a peer's bytes. Returns NULL if they are in another process's private memory,
 * or, with *fails set, if the peer's heap cannot be mapped. */
char *sm_find(const struct sm_bound *s, const struct sm_msg *m, const struct sm_location *p, bool *fails);
/* True if this rank can read the private memory of rank `peer`. */
bool sm_can_read(const struct sm_bound *s, uint32_t peer);
/* The join operation of be_ops. */
void sm_join(struct be_bound *bound);

/* ---- publish.c ---- */

/* Lays out the shared state of a request with `ndescs` messages: sets the offsets in *sh, and returns the size of the state
 * with everything that follows it. */
size_t sm_lay_out(const struct be_bind *b, uint32_t ndescs, struct sm_shared *sh);
/* Makes *sh the shared state of the request, and sets the pointers to its parts. */
void sm_share(struct sm_bound *s, struct sm_shared *sh);
/* Makes this rank's block, and its handle for the peers. */
int sm_publish(struct sm_bound *s, struct be_handle *handle);
/* Returns sm_desc.scale of a message whose chunks are of SM_CHUNK bytes, or fine: so small that the ring just holds them all, for the
 * receiver to have the first soon. */
uint8_t sm_scale_of(uint64_t bytes, bool fine);

/* ---- connect.c ---- */

/* Connects this rank's messages to those of its peers. Collective; parameters and result are as of bind in be_ops. */
int sm_connect(struct sm_bound *s, uint32_t views, int err);
/* Connects one message, whose other end has been found. */
void sm_connect_message(struct sm_bound *s, const struct sm_desc *mine);
/* Finds the rings of all staged messages. Returns false and reports the error if one cannot be mapped. */
bool sm_reach_rings(struct sm_bound *s);
/* Records the address of an op's bytes on this rank, and the location announced to the peer. */
void sm_settle(struct sm_bound *s, uint32_t op, const struct be_buffer *buffers);
/* Disconnects a request, also after a failed bind. */
void sm_disconnect(struct sm_bound *s);
int sm_rebind(struct sm_bound *s, const struct be_buffer *buffers);

/* ---- view.c: as in be_ops ---- */

int sm_adopt(const struct be_bind *like, const struct be_handle *handle, struct be_bound **out);

/* Publishes the counters of a backend that sends over a network, too. */
static inline void sm_show_counts(struct sm_bound *s, const uint64_t counted[BE_COUNTS])
{
	for (int i = 0; i < BE_COUNTS; i++)
		atomic_store_explicit(&s->base.turn->counted[i], counted[i], memory_order_relaxed);
}

#endif
