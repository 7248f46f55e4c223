/* SPDX-License-Identifier: BSD-3-Clause
 * What the runtime offers to backends: functions on the group of a request, and traces. runtime/group_services.c has most. */
#ifndef BACKENDS_SERVICES_H
#define BACKENDS_SERVICES_H

#include "backends/backend.h"

/* Gathers `size` bytes from each rank into `out`, by rank. `size` is GROUP_RECORD at most. Returns -ERR_DEAD if a rank has
 * died. */
#define GROUP_RECORD 256
int group_allgather(struct be_group *g, const void *in, size_t size, void *out);
/* The two halves of group_allgather. Work between the two calls costs no time, because the rank would otherwise only wait. */
int group_post(struct be_group *g, const void *in, size_t size);
int group_collect(struct be_group *g, size_t size, void *out);
/* Returns the group's buffer for the records of one exchange. It always exists, so that agreeing on a failure needs no
 * memory. group_agree overwrites it. */
void *group_room(struct be_group *g);
/* Agrees on an error: returns 0 if `err` is 0 on all ranks. Otherwise all ranks get the error, and its text, of the lowest
 * rank that has one. */
int group_agree(struct be_group *g, int err);
/* True if the bind under way repeats one of the group that has succeeded: the messages of all ranks are the same, and so is which
 * memory of each rank its peers have mapped. What could not fail then cannot fail now, and no exchange of results is needed. The
 * same on all ranks. Valid from bind on. */
bool group_repeats(const struct be_group *g);
/* Reports that the bind under way has succeeded on all ranks, and that it has sent nothing in its exchanges that a bind like it
 * needs. Later binds then may repeat it. Called on all ranks, or on none. */
void group_settle(struct be_group *g);
/* Returns the handle that a rank's make has published. Valid until the first exchange in bind. */
const struct be_handle *group_handle(struct be_group *g, uint32_t rank);
/* Allocates zeroed, 64-byte aligned memory in this rank's heap, and sets *off to its offset, which peers use. Returns
 * NULL if there is not enough. */
void *group_alloc(struct be_group *g, size_t size, uint64_t *off);
/* Allocates the block of the bind under way, to which the handle that make returns leads. A bind that repeats others may also be given
 * the blocks of those that will repeat it: group_spare returns them, and NULL after the last. What all such blocks have in common has
 * to be written to them then. A bind that repeats this one gets one of them back, with *ready set. Peers may have written to it. */
void *group_block(struct be_group *g, size_t size, uint64_t *off, bool *ready);
void *group_spare(const struct be_group *g, void *block, size_t size, uint32_t i);
/* Does the same as group_alloc without touching the memory, which may hold anything. */
void *group_alloc_raw(struct be_group *g, size_t size, uint64_t *off);
/* Frees a block at once. No peer may access it any more. NULL is allowed. */
void group_free(struct be_group *g, void *block);
/* Returns the bytes of a block in this rank's heap; 0 for NULL. */
size_t group_block_bytes(struct be_group *g, const void *block);
/* Frees two blocks as soon as *users, which lies in the first block, is 0. Until then peers may write to the blocks.
 * `second` may be NULL. */
void group_free_later(struct be_group *g, void *first, void *second, _Atomic uint32_t *users);
/* True if a rank is on this node, so that its heap can be mapped. */
bool group_same_node(struct be_group *g, uint32_t rank);
/* Returns the address in this process of len bytes at offset off of a peer's heap, or NULL if it cannot be mapped. */
void *group_peer(struct be_group *g, uint32_t rank, uint64_t off, size_t len);
/* Returns the descriptor of this rank's heap and sets *base to its address in this process, for a device or process
 * that moves data for the rank. */
int group_heap(struct be_group *g, char **base);
/* Returns a rank's bells, valid as long as the group; NULL if they cannot be reached. */
const struct be_bells *group_bells(struct be_group *g, uint32_t rank);
/* group_umwaits: true if the CPU can sleep until a cache line is written (x86's WAITPKG). be_umwait then sleeps until
 * the word is at least value, for some microseconds at most. */
bool group_umwaits(const struct be_group *g);
void be_umwait(const _Atomic uint64_t *word, uint64_t value);
/* True if more ranks run on this rank's CPU cores than there are cores, so that ranks take turns. */
bool group_crowded(const struct be_group *g);
/* Returns this group's share of the caches of the last level that its ranks on this node have, in bytes; UINT64_MAX if it is not known.
 * Takes milliseconds the first time. */
uint64_t group_caches(struct be_group *g);
/* True if a rank is a thread of this process: all its memory is accessible. */
bool group_same_process(struct be_group *g, uint32_t rank);
int group_pid(struct be_group *g, uint32_t rank);
/* Returns a flag about a rank that this process keeps, false at first. The backend sets it once it has read the rank's private
 * memory, so that it need not try again for the next request. */
_Atomic bool *group_readable(struct be_group *g, uint32_t rank);
/* Returns the address of a pointer that the backend may use as long as the rank's context lives, for example for a
 * device or a connection. The pointer is NULL at first. Threads may bind in several groups of the context at once: until
 * this one calls group_state_done, the others wait here. */
void **group_state(struct be_group *g);
void group_state_done(struct be_group *g);
/* Makes the rank's sleeping threads wait for `fd` as well as for their bell. For backends that set be_ops.watches. */
void group_watch(struct be_group *g, int fd);
/* Whether ranks may read each other's private memory: never, where that is faster, or wherever they can. */
enum group_direct { GROUP_DIRECT_NEVER, GROUP_DIRECT_FASTER, GROUP_DIRECT_ALWAYS };
/* Returns which of these the user wants, or -ERR_ARG. */
int group_direct_allowed(struct be_group *g);
/* Stores the text of an error that the caller is about to return. Returns err. */
__attribute__((format(printf, 3, 4))) int group_error(struct be_group *g, int err, const char *fmt, ...);
/* Marks the group as having lost a rank, so that later calls fail on all ranks. Returns the error. */
int group_died(struct be_group *g, uint32_t rank);
/* Marks the group as having lost a rank that this one cannot reach, although it may be alive. The last argument is the
 * reason. If the group has lost a rank before, that earlier loss is reported. */
int group_unreachable(struct be_group *g, uint32_t rank, const char *why);
/* True if the group has lost a rank. Ranks may then have got to different points of a collective call. */
bool group_lost(const struct be_group *g);
/* True if a rank has freed the group, and all requests that it had of it. */
bool group_left(const struct be_group *g, uint32_t rank);
/* Checks, now and then, whether a rank has died; for loops that wait on their own. Returns 0, or the error of the lost
 * rank. */
int group_check(struct be_group *g);

/* ---- transports ---- */

struct be_transport;

/* Returns the transport that the program has set for the group; NULL if none. */
struct be_transport *group_transport(struct be_group *g);
/* Returns a rank's number for the transport. */
int group_transport_rank(struct be_group *g, uint32_t rank);

/* ---- traces ---- */

#define BE_NOBODY UINT32_MAX

enum be_event_what {
	BE_EVENT_ISSUED, /* an op was issued, and did not complete at once */
	BE_EVENT_PART, /* an issued op made progress */
	BE_EVENT_DONE,
	BE_EVENT_WAIT, /* a rank waited for a request */
	BE_EVENT_SLEEP, /* a communication core slept because it had nothing to do */
	BE_EVENTS
};

/* An event: what one thread did from begin to end. Events of one thread do not overlap, except that a wait may enclose
 * other events. */
struct be_event {
	uint64_t begin, end; /* clock of clock_now_ns */
	uint64_t request, epoch, bytes;
	uint64_t thread;
	uint32_t rank; /* rank that has the op, or that waits */
	uint32_t by; /* rank whose context keeps the event */
	uint32_t op, peer, tag; /* peer is BE_NOBODY for ops that are not messages */
	int32_t cpu;
	uint8_t what; /* enum be_event_what */
	bool own; /* true if a thread of the rank itself did it, within a call */
	uint8_t kind; /* kind of the op */
};

/* True if the group's context keeps a trace. */
bool group_traces(const struct be_group *g);
/* Keeps an event, whose ranks are numbers in the group. Fills in thread, by and cpu. */
void group_trace(struct be_group *g, struct be_event e);

#endif
