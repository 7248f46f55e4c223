/* SPDX-License-Identifier: BSD-3-Clause
 * What a backend offers to the runtime, and what it may call there.
 *
 * The life of a bound schedule: make -> bind (collective) -> start -> progress until it says complete -> start …
 * -> unbind. Start and progress are called by one thread at a time: by who has the turn. */
#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include "format/read.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How an element of the bound datatype lies in memory: blocks of basic elements. */
struct be_block {
	int64_t off; /* bytes from the element */
	size_t len; /* bytes */
};

struct be_layout {
	size_t basic; /* bytes of a basic element */
	size_t per; /* basic elements in an element */
	int64_t extent; /* bytes from element to element */
	size_t nblocks;
	const struct be_block *blocks;
	bool contiguous; /* basic element i is at i * basic */
};

/* The bytes from basic element first on that lie together: *ptr and at most max basic elements. */
size_t be_layout_run(const struct be_layout *l, char *base, uint64_t first, size_t max, char **ptr);
/* Copies n basic elements from first on to, or from, packed memory. */
void be_pack(const struct be_layout *l, char *base, uint64_t first, size_t n, char *out);
void be_unpack(const struct be_layout *l, char *base, uint64_t first, size_t n, const char *in);

/* Copies n basic elements between two places of the same layout that do not overlap. */
void be_copy(const struct be_layout *l, char *to, uint64_t to_first, char *from, uint64_t from_first, size_t n);

struct be_buffer {
	char *ptr;
	uint64_t elements; /* basic elements */
	bool heap; /* peers reach it at heap_off of this rank's heap */
	uint64_t heap_off;
};

struct be_group; /* the runtime's */

/* Everything that is known of one rank's schedule at bind. Borrowed until unbind. */
struct be_bind {
	struct be_group *group;
	uint32_t rank, size;
	const struct bin_op *ops; /* peers are ranks; off and len in basic elements */
	uint32_t nops;
	const uint32_t *dep_at, *deps; /* as in struct ir_rank */
	const struct be_buffer *buffers;
	const struct be_layout *layout; /* the same for all buffers */
	/* b = a op b, or b = b op a when with is set, on n basic elements. */
	void (*reduce)(void *arg, char *a, uint64_t a_first, char *b, uint64_t b_first, size_t n, bool with);
	/* The same with a packed, at any address. */
	void (*reduce_packed)(void *arg, const char *a, char *b, uint64_t b_first, size_t n, bool with);
	void *reduce_arg;
	size_t whole; /* basic elements that a reduction takes together: it is given multiples */
	unsigned armw; /* enum bin_armw that does the same as reduce with each element; 0: none does */
	bool user; /* reductions are the user's code: only the rank's own thread carries them out */
	bool helped; /* others than the rank's own thread make progress, too */
	size_t fragment; /* where others help: bytes of a fragment of large copies, which the rank may join in; 0: whole */
	uint64_t request; /* for traces: a number that all ranks have for what they bind together */
	const bool *safe; /* by op, of a backend that puts: of a recv, whether what it waits for cannot come too early
			   * (verify_recvs); settled when bind is called. NULL: not known */
	const struct bin *bin; /* what ops comes from, and */
	uint32_t entry; /* where the rank's part is in it, if it is for command queues */
};

/* Who makes progress: an op is carried out by those who have its bit. Where nobody helps all ops are everybody's. */
enum be_who {
	BE_APP = 1, /* the rank's own thread */
	BE_OWNER = 2, /* any thread of its process: private memory, elements that are blocks */
	BE_ANY = 4, /* any process that reaches the rank */
	BE_ALL = 7
};

/* What a backend counts that sends over a network; ever. */
enum be_count {
	BE_LINKS, /* connections to peers, */
	BE_LINK_BYTES, /* and the memory that they, their work requests and slots take */
	BE_POSTED, /* work requests */
	BE_SENT, /* messages, */
	BE_SENT_BYTES,
	BE_NEAR_SENT, /* messages to other ranks by shared memory */
	BE_COUNTS
};

/* At the beginning of the rank's block, at be_place.off. */
struct be_turn {
	_Alignas(64) _Atomic uint32_t holder; /* rank + 1 of who makes progress; 0: nobody */
	/* The runtime's; changed by the holder: */
	_Atomic uint32_t state; /* enum rt_state */
	_Atomic int32_t err; /* the first one */
	_Atomic uint32_t wanted; /* threads that want to look at the request although somebody waits for it */
	/* The backend's: */
	_Atomic uint32_t passed; /* ops for start that passed to others because they were not ready, ever */
	_Atomic uint32_t pending; /* where others help, bits of enum be_who: whose ops are ready or issued */
	_Atomic uint64_t copied[2]; /* bytes of copies in fragments, ever: by who made progress, and by who joined in */
	_Atomic uint64_t counted[BE_COUNTS];
};

struct be_bound {
	const struct be_ops *ops;
	struct be_turn *turn;
	uint64_t moved; /* where others help: grows with what is carried out by way of this view */
};

/* What each rank tells all others when it has made its part, so that they find the rest. */
struct be_place {
	uint64_t off, size : 56; /* in the rank's heap; or as the backend likes */
	uint64_t own : 8; /* as it likes */
};

/* Where an op stands in the epoch. */
enum be_state { BE_DONE, BE_WAITS, BE_READY, BE_ISSUED };

/* Backends that are built are in be_backends[], the others only by name. */
struct be_ops {
	const char *name;
	bool watches; /* not all that it waits for rings: ranks sleep on a descriptor too, that of host_watch */
	bool puts; /* messages go straight to their places: asks for be_bind.safe */
	size_t early; /* but those of at most so many bytes may come as early as in the epoch before */
	/* Local: the part of binding that needs no other rank. Errors are told by host_error; *out is for unbind then. */
	int (*make)(const struct be_bind *b, struct be_bound **out, struct be_place *place);
	/* Collective, when all ranks have made theirs: settles matching, addresses and slots. host_place has what they
	 * told. err: what has gone wrong on this rank since. Returns the same on all ranks; errors are told by
	 * host_error. views: how many ranks will adopt it. */
	int (*bind)(struct be_bound *bound, uint32_t views, int err);
	/* Local. After bind has succeeded, on a rank that the request's own rank has counted among views: a view of that
	 * request, on which progress may be called while it is active, by BE_ANY or in the rank's process by BE_OWNER
	 * as well. place is what its rank told. Of like group, rank (the request's), size, layout (contiguous, of the
	 * basic type) and the built-in reduction count. The rank's block outlives the view; after an error there is
	 * none. A view has only progress, alarm and unbind. NULL: nobody helps with what this backend carries out. */
	int (*adopt)(const struct be_bind *like, const struct be_place *place, struct be_bound **out);
	/* Local. Called when the request is not active, its group has failed, or binding did. NULL is harmless. */
	void (*unbind)(struct be_bound *bound);
	/* Local; never waits. Runs what can be run by who calls: bits of enum be_who. epoch counts from 1. BE_APP
	 * takes ops that are marked for start as well; what is not complete then is for others. */
	int (*start)(struct be_bound *bound, uint64_t epoch, unsigned who);
	/* 1 when this rank's part of the epoch is complete, 0 if not yet, or -ERR_x. The caller has nothing else to
	 * do for so many turns of spinning. */
	int (*progress)(struct be_bound *bound, unsigned who, unsigned spins);
	/* Copies what is left of a large copy that others are at for this rank, as far as they have put it into its
	 * queue. Without the turn, by a thread of the rank's own that waits for the request. */
	void (*join)(struct be_bound *bound);
	/* Local, between epochs: these are the buffers from now on, borrowed like those of bind; as many and as
	 * long. On an error the old ones stay. */
	int (*rebind)(struct be_bound *bound, const struct be_buffer *buffers);
	/* Whether an op that cannot go on now waits for that rank. */
	bool (*waits_for)(const struct be_bound *bound, uint32_t rank);
	/* The first message that has been issued and is not complete, by op, or UINT32_MAX. */
	uint32_t (*open)(const struct be_bound *bound);
	/* Asked for by a thread that is about to sleep: when it has to be looked at although nobody rings, as ns of
	 * CLOCK_MONOTONIC; UINT64_MAX: never. */
	uint64_t (*alarm)(const struct be_bound *bound);
	/* Gives back what host_state has kept for a context; NULL: nothing is kept. */
	void (*close)(void *state);
	/* For diagnosis: the enum be_state of each op, and for one that is issued what it waits for, in words
	 * that go on after "waits for"; else NULL. The caller sees to it that nobody makes progress. */
	void (*states)(const struct be_bound *bound, uint8_t *state, const char **what);
};

/* A turn of spinning. */
static inline void be_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* ---- bells ----
 *
 * A rank may sleep while it waits. So who has stored a word that others look at rings for them: a load where nobody
 * sleeps. runtime/bell.c tells why no fence is needed. */

struct be_bell {
	_Alignas(64) _Atomic uint32_t count; /* a futex; odd while somebody relies on it */
	_Atomic uint32_t sleepers;
};

/* Of who waits for what is stored for one rank. */
struct be_bells {
	struct be_bell *at[2]; /* of its own threads, and of its communication core; NULL: it has none */
	int event; /* an eventfd that wakes one of its own threads as well; -1: none is needed */
	bool fences; /* it needs help to see what this process has stored */
};

/* The slow path: somebody sleeps, or is about to. event: as above. */
void host_ring(struct be_bell *bell, int event);

static inline void be_ring_one(struct be_bell *bell, int event, bool fences)
{
	uint32_t n = fences ? atomic_fetch_add_explicit(&bell->sleepers, 0, memory_order_acq_rel) :
			      atomic_load_explicit(&bell->sleepers, memory_order_relaxed);

	if (__builtin_expect(n != 0, 0))
		host_ring(bell, event);
}

/* Comes behind the store. */
static inline void be_ring(const struct be_bells *bells)
{
	atomic_signal_fence(memory_order_seq_cst); /* the compiler keeps the order as well */
	be_ring_one(bells->at[0], bells->event, bells->fences);
	if (bells->at[1])
		be_ring_one(bells->at[1], -1, bells->fences);
}

struct be_row {
	const char *name;
	const struct be_ops *ops; /* NULL: not built */
};
extern const struct be_row be_backends[];
extern const unsigned be_nbackends;
/* The backend of that name; NULL: there is none. */
const struct be_row *be_find(const char *name);

/* ---- what the runtime offers ---- */

/* Exchanges at most HOST_RECORD bytes per rank. -ERR_DEAD when a rank died. */
#define HOST_RECORD 256
int host_allgather(struct be_group *g, const void *in, size_t size, void *out);
/* Its two halves: what a rank does between them costs it nothing while it would wait anyway. */
int host_post(struct be_group *g, const void *in, size_t size);
int host_collect(struct be_group *g, size_t size, void *out);
/* Room of the group's for the records of one exchange: to fail together needs no memory that could be
 * missing. host_agree uses it too. */
void *host_room(struct be_group *g);
/* Agrees on an error: 0 when it is 0 on all ranks, else that of the lowest rank that has one, with its
 * text, on all ranks. */
int host_agree(struct be_group *g, int err);
/* What a rank's make told; until the first exchange in bind. */
const struct be_place *host_place(struct be_group *g, uint32_t rank);
/* Zeroed, 64-byte aligned memory of this rank's heap, and its offset for peers; NULL when there is none. */
void *host_alloc(struct be_group *g, size_t size, uint64_t *off);
/* Gives a block back at once: no peer may touch it any more. NULL is harmless. */
void host_free(struct be_group *g, void *block);
/* Gives two blocks back (the second may be NULL) once *users, which lies in the first, is 0. Until then
 * peers may write to them. */
void host_free_later(struct be_group *g, void *first, void *second, _Atomic uint32_t *users);
/* Whether a rank is on this node: its heap can be mapped. */
bool host_near(struct be_group *g, uint32_t rank);
/* The node of a rank; they are numbered in the order of their lowest ranks. */
uint32_t host_node(struct be_group *g, uint32_t rank);
/* Where len bytes at off of a peer's heap are in this process; NULL: out of reach. */
void *host_peer(struct be_group *g, uint32_t rank, uint64_t off, size_t len);
/* The descriptor of this rank's heap, and where it begins in this process, for who moves data in the rank's place. */
int host_heap(struct be_group *g, char **base);
/* What to ring for a rank, as long as the group lives; NULL: out of reach. */
const struct be_bells *host_bells(struct be_group *g, uint32_t rank);
/* Whether the CPU can sleep until somebody stores to a line (x86's WAITPKG); then host_umwait does so until the word is
 * at least the value, for some microseconds at most. */
bool host_umwaits(const struct be_group *g);
void host_umwait(const _Atomic uint64_t *word, uint64_t value);
/* Whether a rank is a thread of this process: all its memory can be reached. */
bool host_same_process(struct be_group *g, uint32_t rank);
int host_pid(struct be_group *g, uint32_t rank);
/* What the backend keeps for the rank's context, as long as that lives: a device, a connection. NULL at first. */
void **host_state(struct be_group *g);
/* What a rank's threads sleep on beside its bell; of a backend that watches. */
void host_watch(struct be_group *g, int fd);
/* Whether the user lets ranks read each other's private memory: 1, 0 or -ERR_ARG. */
int host_direct_allowed(struct be_group *g);
/* Stores what to tell the user about an error that is about to be returned; returns err. */
__attribute__((format(printf, 3, 4))) int host_error(struct be_group *g, int err, const char *fmt, ...);
/* The group has lost a rank: later calls fail, on all ranks. */
int host_died(struct be_group *g, uint32_t rank);
/* The same of a rank that may well live, but not where this one can reach it. If the group had lost one before, that is
 * what is told. */
int host_unreachable(struct be_group *g, uint32_t rank, const char *why);
/* Whether it has: then ranks may not have come equally far in what is collective. */
bool host_lost(const struct be_group *g);
/* The same for who waits by itself: looks now and then whether a rank has died. 0, or the error of what is lost. */
int host_check(struct be_group *g);

/* ---- traces ---- */

#define BE_NOBODY UINT32_MAX

enum be_event_what {
	BE_EVENT_ISSUED, /* an op began, and was not complete at once */
	BE_EVENT_PART, /* it went on */
	BE_EVENT_DONE,
	BE_EVENT_WAIT, /* a rank waits for a request */
	BE_EVENT_SLEEP /* who communicates has nothing to do */
};

/* What one thread did from begin to end. Only what a wait encloses overlaps with something else of the thread. */
struct be_event {
	uint64_t begin, end; /* host_now */
	uint64_t request, epoch, bytes;
	uint64_t thread;
	uint32_t rank; /* whose op, or who waits */
	uint32_t by; /* the rank whose context keeps it */
	uint32_t op, peer, tag; /* peer: BE_NOBODY for ops without */
	int32_t cpu;
	uint8_t what; /* enum be_event_what */
	bool own; /* a thread of the rank did it, in a call */
	uint8_t kind; /* of the op */
};

/* Whether the group's context keeps a trace. */
bool host_traces(const struct be_group *g);
/* Keeps an event, whose ranks are those of the group; thread, by and cpu are filled in. */
void host_trace(struct be_group *g, struct be_event e);

#endif
