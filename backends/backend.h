/* SPDX-License-Identifier: BSD-3-Clause
 * The interface between the runtime and its backends: the operations that each backend offers (struct be_ops). services.h has
 * the functions of the runtime that a backend may call.
 *
 * A bound schedule lives like this: make -> bind (collective) -> start -> progress until it returns 1 -> start … ->
 * unbind. Only the thread that holds the request's turn calls start and progress. Besides the rank's own threads,
 * helpers may take the turn: a communication core, or another rank that waits. */
#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include "backends/bells.h"
#include "format/read.h"
#include "util/nearest.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory layout of an element of the bound datatype: a list of blocks, each a run of basic elements. */
struct be_block {
	int64_t off; /* bytes from the start of the element */
	size_t len; /* length in bytes */
};

struct be_layout {
	size_t basic; /* bytes of a basic element */
	size_t per; /* number of basic elements in an element */
	int64_t extent; /* bytes from the start of one element to the start of the next */
	size_t nblocks;
	const struct be_block *blocks;
	bool contiguous; /* true if basic element i is at offset i * basic */
};

size_t be_block_run(const struct be_layout *l, char *base, uint64_t first, size_t max, char **ptr);
/* Sets *ptr to the address of basic element `first`, and returns how many basic elements from there on are contiguous, `max`
 * at most. be_block_run does so for a layout with gaps. */
static inline size_t be_layout_run(const struct be_layout *l, char *base, uint64_t first, size_t max, char **ptr)
{
	if (!l->contiguous)
		return be_block_run(l, base, first, max, ptr);
	*ptr = base + first * l->basic;
	return max;
}
/* Copy n basic elements, beginning with element `first`: be_pack to packed memory, be_unpack from it. */
void be_pack(const struct be_layout *l, char *base, uint64_t first, size_t n, char *out);
void be_unpack(const struct be_layout *l, char *base, uint64_t first, size_t n, const char *in);

/* Copies n basic elements between two buffers of the same layout. The two ranges do not overlap. */
void be_copy(const struct be_layout *l, char *to, uint64_t to_first, char *from, uint64_t from_first, size_t n);

struct be_buffer {
	char *ptr;
	uint64_t elements; /* number of basic elements */
	bool heap; /* true if the buffer is in this rank's heap, where peers reach it at offset heap_off */
	uint64_t heap_off;
};

struct be_group; /* defined by the runtime */

/* Everything that bind knows of one rank's schedule. The pointers stay valid until unbind. */
struct be_bind {
	struct be_group *group;
	uint32_t rank, size;
	const struct bin_op *ops; /* the rank's ops; peers are ranks, and off and len count basic elements */
	uint32_t nops;
	const uint32_t *dep_at, *deps; /* dependencies, as in struct ir_rank */
	const struct be_buffer *buffers;
	const struct be_layout *layout; /* layout of the elements in every buffer */
	/* Reduces n basic elements: b = a op b, or b = b op a if the last argument is true. */
	void (*reduce)(void *arg, char *a, uint64_t a_first, char *b, uint64_t b_first, size_t n, bool with);
	/* Reduces like reduce, but the elements of a are in packed memory, at any alignment. If `operand` is not NULL, its packed
	 * elements replace those of b as operand; user is false then. NULL if the bound operation is not defined for the type. */
	void (*reduce_packed)(void *arg, const char *a, const char *operand, char *b, uint64_t b_first, size_t n, bool with);
	void *reduce_arg;
	/* Of a built-in operation: out[i] = a[i] op b[i] for n basic elements at multiples of 8 bytes. NULL if elements have gaps, or must
	 * be aligned to more than that. */
	void (*combine)(const void *a, const void *b, void *out, size_t n);
	size_t whole; /* reductions get multiples of this number of basic elements, because they need that many together */
	/* enum bin_armw: operation of an interface that does to each element what reduce does; 0 if there is none */
	unsigned armw;
	bool user; /* true if reductions run the user's code, which only the rank's own threads may call */
	bool helped; /* true if helpers, not only the rank's own threads, make progress */
	/* with helpers: bytes of a fragment of a large copy, which the rank may join in; 0 if copies are not split */
	size_t fragment;
	uint64_t request; /* number of the request, for traces; the same on all ranks */
	/* By op, for a backend that sets be_ops.puts: safe[op] of a recv is true if no message that it waits for can
	 * arrive too early (verify_recvs). Filled in by the time bind is called; NULL if not known. */
	const bool *safe;
	const struct bin *bin; /* the binary that ops comes from */
	uint32_t dir_row; /* index of the rank's part in bin, if bin is made for command queues */
};

/* True if an op requires another one itself, not by way of a third. */
static inline bool be_requires(const struct be_bind *b, uint32_t op, uint32_t on)
{
	for (uint32_t d = b->dep_at[op]; d < b->dep_at[op + 1]; d++)
		if (b->deps[d] == on)
			return true;
	return false;
}

/* Classes of threads that make progress, as bits. A thread runs the ops that have its bit. Without helpers all threads may run all ops. */
enum be_who {
	BE_APP = 1, /* a thread of the rank itself */
	BE_OWNER = 2, /* any thread of the rank's process; such an op may use private memory and elements made of blocks */
	BE_ANY = 4, /* any process that has mapped the rank's heap */
	/* a thread that may call the transport of the group: not a class of ops; bit 8 is used by backends/common/dispatch.h */
	BE_CALLS = 16,
	BE_ALL = 23
};

/* Counters of a backend that sends over a network, since the request was made. */
enum be_count {
	BE_LINKS, /* connections to peers */
	BE_LINK_BYTES, /* memory of the connections, their work requests and slots */
	BE_POSTED, /* posted work requests */
	BE_SENT, /* messages sent over the network */
	BE_SENT_BYTES,
	BE_NEAR_SENT, /* messages to other ranks through shared memory */
	BE_COUNTS
};

/* The turn of a request, and what its holder shares with other ranks. It lies at the start of the rank's block
 * (be_handle.off). */
struct be_turn {
	_Alignas(64) _Atomic uint32_t holder; /* rank + 1 of the rank whose thread holds the turn; 0 if nobody does */
	/* These fields belong to the runtime; the holder of the turn changes them. */
	_Atomic uint32_t state; /* enum rt_state */
	_Atomic int32_t err; /* first error of the request */
	_Atomic uint32_t wanted; /* number of threads that want to inspect the request while another thread waits for it */
	/* These fields belong to the backend, which counts from make on. */
	_Atomic uint32_t passed; /* ops marked "on start" that start could not complete, and that it left to helpers */
	_Atomic uint32_t pending; /* with helpers: the classes (enum be_who) that have ops ready or issued */
	/* bytes of copies in fragments: [0] by holders of the turn, [1] by threads that joined */
	_Atomic uint64_t copied[2];
	_Atomic uint64_t counted[BE_COUNTS];
};

struct be_bound;
/* Starts epoch number `epoch`, counted from 1, and runs the ready ops whose class is in `who` (bits of enum be_who). Local; never waits.
 * With BE_APP it also runs the ops marked for start; those that do not complete at once pass to helpers. */
typedef int be_start_fn(struct be_bound *bound, uint64_t epoch, unsigned who);

struct be_bound {
	const struct be_ops *ops;
	struct be_turn *turn;
	be_start_fn *start; /* set by make: ops->start, or for some time what does the same for a request in this state */
	/* Set between epochs if the next start has only to store the number of its epoch there, for all peers at once, and to ring the bells
	 * of those that wait for that, which the function `start` does; else NULL. Where nobody sleeps that function need not be called. */
	_Atomic uint64_t *start_word;
	uint64_t moved; /* with helpers: grows with each op that was issued or completed through this view */
};

/* A rank's handle, which it publishes after make, so that its peers find its block. */
struct be_handle {
	uint64_t off, size : 56; /* offset and size of the block in the rank's heap, or what the backend uses them for */
	uint64_t own : 8; /* for the backend's own use */
};

/* Bytes of memory that belong to one rank's request. */
struct be_memory {
	uint64_t shared; /* in the rank's heap, without scratch buffers */
	uint64_t private;
};

/* State of an op within the epoch. */
enum be_state { BE_DONE, BE_WAITS, BE_READY, BE_ISSUED };

/* The operations of a backend. A backend that is not built has only its name in be_backends[]. */
struct be_ops {
	const char *name;
	/* true if some events ring no bell: sleeping ranks then also wait for the descriptor of group_watch */
	bool watches;
	bool near; /* true if messages reach only ranks of the same node; groups with a transport then use another backend */
	bool transports; /* true if messages between nodes go through the transport of the group */
	/* For a backend with a network of its own, which BE_AUTO may choose for groups on several nodes; else both are NULL.
	 * present: true if this machine may have the network. Cheap, and called when a context is made. network: prepares
	 * the network for the group's context, and returns its kind, or 0 if the rank cannot use it. Ranks with the same kind can
	 * send to each other. Local; needs only the context of the group. */
	bool (*present)(void);
	uint64_t (*network)(struct be_group *g);
	bool puts; /* true if senders write into the receiver's buffer directly; the backend needs be_bind.safe then */
	/* messages of at most this many bytes may arrive as early as in the previous epoch, even if puts is set */
	size_t early;
	/* Does the part of binding that needs no other rank, and fills in the rank's handle. Reports an error by
	 * group_error; the caller then passes *out to unbind. */
	int (*make)(const struct be_bind *b, struct be_bound **out, struct be_handle *handle);
	/* Matches messages and exchanges addresses and slots. Collective: all ranks have returned from make, and
	 * group_handle has their handles. `err` is the error, if any, that this rank has met since make; `views` is the
	 * number of ranks that will call adopt. Returns the same value on all ranks, and reports errors by group_error. */
	int (*bind)(struct be_bound *bound, uint32_t views, int err);
	/* Makes a view of another rank's request, through which the caller makes progress while the request is active.
	 * Local. bind has succeeded, and the request's own rank has counted the caller in `views`. The caller passes the
	 * handle of that rank. In `like` the caller has set the group, that rank, the size, the layout (contiguous, of the
	 * basic type) and the built-in reduction. A view may run ops of BE_ANY, and in the rank's process of BE_OWNER. The
	 * rank's block outlives the view. On an error there is no view. A view has only memory, progress, alarm and unbind. The
	 * pointer adopt is NULL if nobody can help with this backend's requests. */
	int (*adopt)(const struct be_bind *like, const struct be_handle *handle, struct be_bound **out);
	/* Adds the memory of a request, or of a view, to *m. Local. The caller makes sure that nobody binds, rebinds or frees
	 * it meanwhile. */
	void (*memory)(const struct be_bound *bound, struct be_memory *m);
	/* Frees the request. Local. The caller has made sure that the request is not active, or that its group or its
	 * bind has failed. NULL is allowed. */
	void (*unbind)(struct be_bound *bound);
	be_start_fn *start;
	/* Returns 1 when this rank's part of the epoch is complete, 0 if not yet, or -ERR_x. The function may spin for
	 * `spins` iterations of a spin loop, because the caller has nothing else to do. */
	int (*progress)(struct be_bound *bound, unsigned who, unsigned spins);
	/* Copies fragments of a large copy that helpers have put into the rank's queue, until none is left. Called
	 * without the turn, by a thread of the rank that waits for the request. */
	void (*join)(struct be_bound *bound);
	/* Replaces the buffers, between epochs. Local. There are as many new buffers, of the same sizes, and they are
	 * borrowed as in bind. On an error the old buffers stay. */
	int (*rebind)(struct be_bound *bound, const struct be_buffer *buffers);
	/* True if an op waits for rank number `rank` and cannot complete if that has left the group. What it sent by a network
	 * before may come later; if it never does, progress says so. */
	bool (*waits_for)(const struct be_bound *bound, uint32_t rank);
	/* True if rank number `rank` is known to have started the epoch under way. */
	bool (*has_started)(const struct be_bound *bound, uint32_t rank);
	/* Returns the index of the first message that is issued and not complete, or UINT32_MAX. */
	uint32_t (*open)(const struct be_bound *bound);
	/* Returns the time, in ns of CLOCK_MONOTONIC, at which the request needs progress although no bell rings;
	 * UINT64_MAX if never. A thread calls it before it sleeps. */
	uint64_t (*alarm)(const struct be_bound *bound);
	/* Frees what the backend has stored in group_state for a context. NULL if it stores nothing there. */
	void (*close)(void *state);
	/* For diagnosis: sets state[op] to its enum be_state, and what[op] to what an issued op waits for (a phrase
	 * that follows "waits for"), else to NULL. The caller makes sure that no thread makes progress. */
	void (*states)(const struct be_bound *bound, uint8_t *state, const char **what);
};

/* One iteration of a spin loop. */
static inline void be_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Takes a line away from other CPUs before this one stores to it: the store would have to wait for that. */
static inline void be_own(const void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line)); /* does nothing on CPUs that do not have it */
#else
	__builtin_prefetch(line, 1);
#endif
}

struct be_row {
	const char *name;
	const struct be_ops *ops; /* NULL if not built, or if no ranks run */
	bool simulated; /* goalrun simulates the ranks instead of starting them */
};
extern const struct be_row be_backends[];
extern const unsigned be_nbackends;
/* Returns the backend of that name, or NULL. */
const struct be_row *be_find(const char *name);
/* The name that stands for the backend of one node's ranks, and for groups on several nodes for the network's if all their ranks
 * can use that. */
#define BE_AUTO "auto"
/* Return the backend for ranks of one node, the one with a network, and the one that sends through a group's transport. */
const struct be_row *be_near(void);
const struct be_row *be_networked(void);
const struct be_row *be_transporter(void);
/* Searches the names of the backends that are built for the nearest one to an unknown name. */
struct nearest be_nearest(const char *name);

#endif
