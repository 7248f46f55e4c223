/* SPDX-License-Identifier: BSD-3-Clause
 * How a sender stores bytes where the receiver reads them, in slots or in its buffer: through the caches or past them (fill.c). */
#ifndef BACKENDS_SHM_FILL_H
#define BACKENDS_SHM_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sm_bound;
struct sm_msg;

enum sm_fill_way { SM_FILL_AS_CHOSEN, SM_FILL_CACHES, SM_FILL_PAST };

/* What trials say. */
struct sm_fill {
	bool past; /* true: bytes are stored past the caches */
	bool doubts; /* true if the last trial was for the other way */
	uint32_t took; /* through the caches, in the trial under way, ns for a KiB */
};

#define SM_FILLS 128u /* chunks from a trial to the next one */
/* A trial of a message whose ring may be narrow has the first SM_CHUNK_SHORT bytes of one message through the caches, and those so many
 * messages later past them: then they are in the first slots of that ring. The first trial comes after so many, too. */
#define SM_NARROW_FILLS 4u

/* Number of the first one that is tried: a ring of long chunks has been used once by then. In a ring that grows: how many chunks go
 * through slots that have been used, before one is tried */
#define SM_FILL_FIRST 40u
#define SM_FILL_WAITS 4u

/* Returns how this rank stores chunk number n of all epochs: a trial has one chunk through the caches, and then one past them. */
enum sm_fill_way sm_fill_way(const struct sm_bound *s, const struct sm_msg *m, uint64_t n);
/* Notes that so many bytes of a trial took so many ns. sure: true if this trial alone may choose to go past the caches */
void sm_note_fill(struct sm_fill *f, enum sm_fill_way way, bool sure, uint64_t ns, size_t bytes);
/* Stores chunk number n of all epochs, whose bytes begin at offset `skip`, into its slot, or several in slots that follow each other. */
void sm_fill_slot(const struct sm_bound *s, struct sm_msg *m, uint64_t n, uint64_t skip, size_t bytes, char *slot);

#define SM_FILL_TRIED 8192u /* bytes of a message by pull that are stored each way in a trial */

/* True if there is a trial of how to store a message by pull in this epoch. */
bool sm_tries_peer(const struct sm_bound *s, const struct sm_msg *m);
/* Stores bytes of a message by pull, or of what it is reduced to, from offset `at` on in the receiver's buffer at m->at. */
void sm_fill_peer(const struct sm_bound *s, struct sm_msg *m, uint64_t at, const char *from, size_t bytes);

#endif
