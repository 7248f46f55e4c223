/* SPDX-License-Identifier: BSD-3-Clause
 * Messages between ranks that share memory, for every backend that has such ranks: shm for all messages, others for those
 * inside a node. sm_run.c is the life of a request, sm_ops.c has the ops of one rank alone, sm_move.c moves messages,
 * sm_connect.c finds the two ends of each.
 *
 * Each rank has one block (struct sm_head) per request in its heap. It publishes its messages there, so that
 * the two ends of a channel find each other at bind time; and it holds the words that others write:
 *
 *   eager    the sender stores payload and sequence number into slot epoch & 1 of the receiver; it may do
 *            so once the receiver has started epoch - 1 (credit), for then the slot is free
 *   pull     the sender announces the epoch and where its bytes are; the receiver copies them, by load or
 *            by process_vm_readv, and announces that it is done, which completes the send. A long message
 *            is copied in chunks by both, if the sender can reach where they go
 *   staged   where neither works: chunks through a ring in the receiver's heap
 *
 * Every word but two has one writer, and all only grow, so nothing is re-armed and no arrival of the next
 * epoch is lost. tests/spin/epoch.pml is the model of these protocols. Behind each store that another rank may be
 * waiting for its bell is rung. The writer is a rank, whoever makes progress on it: that is one at a time, and the turn
 * orders what one has stored before what the next one does.
 *
 * Where others help, what changes while a schedule runs (struct sm_shared) lies in the rank's block as well, without
 * pointers. A view (struct sm_bound) is what one process makes of it: in that of the rank the rank's own, which others
 * there use too; in another one it has the same pointers into that process's mappings. Places that peers are told are
 * always those of the rank: its addresses, and offsets in its heap. A long copy may go through the rank's queue of
 * fragments (copyq.h), from which its own threads take without the turn. */
#ifndef BACKENDS_COMMON_SM_H
#define BACKENDS_COMMON_SM_H

#include "backends/common/copyq.h"
#include "backends/common/engine.h"
#include "format/check.h"

#include <stdatomic.h>

#ifndef SM_EAGER_MAX
#define SM_EAGER_MAX 2048u /* bytes; above, one copy beats two */
#endif
#ifndef SM_CHUNK
#define SM_CHUNK 32768u /* bytes of a staged slot, and of what one end of a pull takes at a time */
#endif
#define SM_RING 4u /* staged slots of a message */
#define SM_LINE 64u

enum sm_mode { SM_EAGER, SM_PULL, SM_STAGED, SM_MODES };

/* Whether others could read a message's bytes where they are. */
enum sm_source { SM_SCATTERED, SM_PRIVATE, SM_HEAP };

/* One message as its rank sees it: two a line, as binding reads the peers' lines. Sorted by (send, peer, tag, k). */
struct sm_entry {
	uint32_t peer, tag, k; /* the k-th of its channel */
	uint32_t op;
	uint64_t bytes;
	uint32_t cell; /* what the peer writes, lines from this rank's head */
	uint8_t send;
	uint8_t source; /* enum sm_source */
	/* Of a recv, once its rank has chosen: */
	uint8_t mode; /* enum sm_mode */
	uint8_t direct; /* the sender's private memory can be read */
};

struct sm_head {
	struct be_turn turn;
	_Alignas(SM_LINE) _Atomic uint64_t started; /* writer: this rank; readers: those who send to it */
	/* Apart from started: start looks at it right behind its store, and they may just have written it. */
	_Alignas(SM_LINE) _Atomic uint64_t wanted; /* writers: they; the last epoch that one of them had no credit for */
	/* For binding and unbinding only: */
	_Atomic uint32_t users; /* ranks that may still touch this block */
	uint32_t nentries;
	uint64_t address, token; /* of this block in its process, and what proves that it is the one */
	uint64_t own; /* the rank's struct sm_bound, for others in its process */
	uint64_t shared; /* bytes from here to its struct sm_shared; 0: nobody helps */
	bool allowed; /* the user lets others read this rank's private memory */
	_Alignas(SM_LINE) struct sm_entry entries[];
};

/* Where bytes are. */
struct sm_place {
	uint64_t address; /* in their process */
	uint64_t heap; /* offset in their rank's heap, plus 1; 0: private */
};

struct sm_slot { /* eager, in the receiver's block; the payload shares the line of its number */
	_Alignas(8) _Atomic uint64_t seq;
	char payload[];
};

/* In the receiver's block; writer: the sender, of ring the receiver. */
struct sm_in {
	_Alignas(SM_LINE) _Atomic uint64_t avail; /* pull: the epoch to read; staged: chunks produced, ever */
	struct sm_place from;
	uint64_t ring; /* staged: offset in the receiver's heap */
	_Alignas(SM_LINE) _Atomic uint64_t helped; /* pull: chunks that the sender has copied, ever */
};

/* In the sender's block; writer: the receiver. */
struct sm_out {
	_Alignas(SM_LINE) _Atomic uint64_t done; /* pull: the epoch that was read; staged: chunks consumed, ever */
	_Alignas(SM_LINE) _Atomic uint64_t shared; /* pull: the epoch in which both ends copy */
	struct sm_place to;
	_Alignas(SM_LINE) _Atomic uint64_t claimed; /* pull: chunks taken by either end, ever; both write */
};

/* How far a message is. */
struct sm_moved {
	uint64_t theirs; /* recv, pull: chunks that the sender has copied in the epochs before */
	uint32_t moved; /* chunks moved in this epoch by this end */
	bool begun; /* recv, pull: the epoch's announcement has been seen */
	bool both; /* recv, pull: both ends copy in this epoch */
	bool parted; /* recv, pull: it goes through the rank's queue of fragments */
	bool queued; /* it is in there; copies as well */
	struct sm_place place; /* where the peer finds this rank's bytes */
};

struct sm_buffer {
	uint64_t elements;
	uint64_t heap; /* as in sm_place */
};

/* What changes while a schedule runs. Others need what is behind it to make a view; bytes from here. */
struct sm_shared {
	uint64_t epoch;
	uint64_t busy; /* until when a calc of this rank runs, ns */
	uint32_t nops, nbuffers;
	uint32_t generation; /* of what rebind changes: places and buffers */
	uint64_t engine; /* its room */
	uint64_t moved; /* struct sm_moved, by op */
	uint64_t deadlines; /* uint64_t, by op: of calcs, ns */
	uint64_t ops; /* struct bin_op */
	uint64_t buffers; /* struct sm_buffer */
	uint64_t links; /* struct sm_link, by entry */
	uint64_t queue; /* struct copyq, if the rank has one */
	uint64_t fragment; /* bytes; 0: it has none */
};

/* Where the other end of a message is. */
struct sm_link {
	struct be_place place; /* the peer's block */
	uint32_t entry; /* there */
};

struct sm_msg {
	uint8_t mode; /* enum sm_mode */
	bool direct; /* the receiver can read the sender's private memory */
	bool asks; /* send: no message comes back that would tell how far the peer is */
	bool same; /* the peer is in this process */
	bool reduces; /* what comes is an operand */
	bool heap; /* pull: the sender has promised to have its bytes in its heap */
	bool far; /* it does not travel through memory: another backend's */
	uint32_t peer, op;
	uint32_t chunks; /* per epoch; pull, staged */
	uint64_t bytes;
	struct sm_moved *now;
	char *mine; /* this rank's bytes; NULL: not contiguous, reduced into, or out of reach */
	char *whole; /* room to gather it, where a chunk may end in the middle of an element; or NULL */
	bool bounces; /* send, pull: the receiver cannot read them: they go through */
	char *bounce; /* room in the heap */
	uint64_t bounce_off;
	const struct be_bells *bells; /* of the peer */
	_Atomic uint64_t *started; /* of the peer */
	uint64_t *known; /* what this view knows of it without looking: the peer's line stays where it is */
	struct sm_slot *slot[2]; /* eager; by parity of the epoch */
	char *ring; /* staged */
	struct sm_in *in;
	struct sm_out *out;
	const struct sm_entry *other; /* its other end, in the peer's block; while binding */
	struct sm_place seen; /* the last place of the peer's that was looked up, */
	char *at; /* and where it is here; NULL: out of reach */
	int pid; /* of the peer */
};

struct sm_bound {
	struct be_bound base;
	struct engine engine;
	struct be_bind b;
	struct sm_shared *sh;
	struct sm_head *head;
	bool connected; /* all ranks are */
	char *rings;
	struct sm_msg *msgs; /* by op */
	uint64_t *deadlines; /* sh's */
	struct copyq *queue; /* sh's, or NULL */
	const struct be_bells *bells; /* of this rank; where it has a queue */
	uint64_t epoch; /* sh's, as this view knows it */
	struct sm_head **peers; /* by rank; NULL where there is no message */
	uint64_t *known; /* by rank: an epoch that the peer has started for sure */
	bool umwaits; /* the CPU has umwait */
	bool fences; /* what wanted says may come too late */
	struct engine_trace *trace; /* or NULL */
	char *stage; /* SM_CHUNK bytes for process_vm_readv of what is not just put somewhere */
	void *own; /* the engine's */
	bool view; /* in another process than the rank's: */
	uint32_t generation; /* of sh, when b.buffers were looked up */
};

/* Whether an op is a message that travels through memory. */
static inline bool sm_is_near(const struct sm_bound *s, uint32_t op)
{
	return bin_is_message(s->b.ops[op].kind) && !s->msgs[op].far;
}

static inline struct sm_bound *sm_of(struct engine *e)
{
	return (struct sm_bound *)((char *)e - offsetof(struct sm_bound, engine));
}

/* What lies at an offset of sh. */
static inline void *sm_at(const struct sm_bound *s, uint64_t off)
{
	return (char *)s->sh + off;
}

static inline struct sm_link *sm_links(const struct sm_bound *s)
{
	return sm_at(s, s->sh->links);
}

/* ---- sm_move.c ---- */

/* How a message of each mode is carried out. */
extern const struct engine_how sm_how_send[SM_MODES], sm_how_recv[SM_MODES];
/* The word that has to reach the epoch before an issued op can go on; NULL: not a single one. */
const _Atomic uint64_t *sm_watch(const struct sm_bound *s, uint32_t op);
/* Where a place of the peer's is in this process; NULL: in private memory of another one, or *fails. */
char *sm_find(const struct sm_bound *s, const struct sm_msg *m, const struct sm_place *p, bool *fails);
/* What an issued message waits for, in words. */
const char *sm_message_waits(const struct sm_bound *s, uint32_t op);

/* ---- sm_run.c: as in be_ops, also for a backend that sends some messages in another way ---- */

/* What a backend has for a request begins with a struct sm_bound. It calls sm_make with its own table, and sm_connect; then
 * it says for the messages that are far how the engine carries them out, and calls sm_trace. All else is done here.
 * size: bytes of what it has, zeroed. far: whether messages to and from a rank are; NULL: none is. */
int sm_make(const struct be_bind *b, size_t size, const struct be_ops *ops,
	    bool (*far)(const struct be_bind *b, uint32_t peer), struct be_bound **out, struct be_place *place);
void sm_trace(struct sm_bound *s);
void sm_unbind(struct be_bound *bound);
int sm_start(struct be_bound *bound, uint64_t epoch, unsigned who);
int sm_progress(struct be_bound *bound, unsigned who, unsigned spins);
bool sm_waits_for(const struct be_bound *bound, uint32_t rank);
uint32_t sm_open(const struct be_bound *bound);
uint64_t sm_alarm(const struct be_bound *bound);
void sm_states(const struct be_bound *bound, uint8_t *state, const char **what);

/* ---- sm_ops.c ---- */

/* What needs no other rank, and need not be there when others look. */
void sm_prepare(struct sm_bound *s);
/* Settles who carries out what, when it is known how messages travel and where buffers are. */
void sm_classify(struct sm_bound *s);
/* Sets how each op is carried out, and what it is called with; sm_connect does that for messages. */
void sm_set_how(struct sm_bound *s);

/* ---- sm_fragments.c: large copies in fragments ---- */

/* Whether the caller, which makes progress, puts a copy of so many bytes into the rank's queue. */
static inline bool sm_parts(const struct sm_bound *s, uint64_t bytes)
{
	return s->queue && bytes > s->sh->fragment && !(s->engine.who & BE_APP);
}
/* Begins such a copy, or goes on; from: where a message's bytes are at the peer. 1 when it is complete, 0 if not yet. */
int sm_copy_parts(struct sm_bound *s, struct sm_moved *now, uint32_t op, const struct sm_place *place, char *to,
		  const char *from, uint64_t bytes);
/* As in be_ops. */
void sm_join(struct be_bound *bound);

/* ---- sm_connect.c ---- */

/* Sets the offsets of what is shared, for so many messages; returns the bytes. */
size_t sm_lay_out(const struct be_bind *b, uint32_t nentries, struct sm_shared *sh);
/* From here on it is there. */
void sm_share(struct sm_bound *s, struct sm_shared *sh);
/* Makes this rank's block. */
int sm_publish(struct sm_bound *s, struct be_place *place);
/* Collective. */
int sm_connect(struct sm_bound *s, uint32_t views, int err);
/* When its other end is known. */
void sm_connect_message(struct sm_bound *s, const struct sm_entry *mine);
/* Finds the rings of all messages that have one; what is wrong is told. */
bool sm_reach_rings(struct sm_bound *s);
/* Notes where a message's bytes are on this rank, and where the peer finds them. */
void sm_settle(struct sm_bound *s, uint32_t op, const struct be_buffer *buffers);
/* After a failed bind as well. */
void sm_disconnect(struct sm_bound *s);
int sm_rebind(struct sm_bound *s, const struct be_buffer *buffers);

/* ---- sm_view.c: as in be_ops ---- */

int sm_adopt(const struct be_bind *like, const struct be_place *place, struct be_bound **out);

#endif
