/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of the mode SM_LEARNED, which try in some epochs whether to be pulled or staged (learn.c). */
#ifndef BACKENDS_SHM_LEARN_H
#define BACKENDS_SHM_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sm_bound;
struct sm_msg;

#define SM_TIMES 3u /* epochs of a trial that count for each way: the median is taken */

/* Least bytes of messages that take so long that little else counts, and of which there are few: a trial has one epoch of each way. */
#define SM_LONG ((uint64_t)8 << 20)

/* How a chunk of a staged message is stored: as trials say; or in a trial, whose first chunk goes through the caches and whose second past
 * them. */
enum sm_fill_way { SM_FILL_AS_CHOSEN, SM_FILL_CACHES, SM_FILL_PAST };

/* What trials of chunks say. */
struct sm_fill {
	bool past; /* true: chunks are stored past the caches */
	bool doubts; /* true if the last trial was for the other way */
	uint32_t took; /* through the caches, in the trial under way, ns for a KiB */
};

#define SM_FILLS 128u /* chunks from a trial to the next one */
#define SM_FILL_FIRST 40u /* number of the first one that is tried: a ring of long chunks has been used once by then */

struct sm_learn {
	uint64_t again; /* last epoch before the next trial; UINT64_MAX if the request has no such message */
	bool on; /* true in the epochs of a trial */
	uint64_t before; /* last epoch before the latest trial */
	uint64_t since; /* when all others had started this epoch, ns, or 0 */
	uint64_t epochs; /* most that the trial of a message of this request has */
	uint64_t took[2][SM_TIMES]; /* times of the latest epochs by the ring [0] and by pull [1], ns; 0: not measured */
	uint64_t brief[2]; /* those of the epochs that count for long messages, ns */
};

/* Returns how this rank stores chunk number n of all epochs. */
enum sm_fill_way sm_fill_way(const struct sm_bound *s, const struct sm_msg *m, uint64_t n);
/* Notes that a chunk of a trial, of so many bytes, took so many ns. */
void sm_note_fill(const struct sm_bound *s, struct sm_msg *m, uint64_t n, uint64_t ns, size_t bytes);
/* Returns how many epochs a trial of the message has, whose ring is known. The same for both ends. */
uint64_t sm_trial_epochs(const struct sm_msg *m);
/* Begins a trial with the epoch under way. */
void sm_begin_trial(struct sm_bound *s);
/* True if all ways of this epoch's messages are those of the next, too, unless that begins a trial. */
bool sm_ways_settled(const struct sm_bound *s);
/* Makes progress as sm_progress does, in epochs of a trial. */
int sm_progress_trial(struct sm_bound *s, unsigned who);
/* Sets the way of a message in this epoch. */
void sm_find_way(const struct sm_bound *s, struct sm_msg *m);
/* True if the receiver has to choose a way before it reads the bytes of this epoch. */
bool sm_chooses(const struct sm_bound *s, const struct sm_msg *m);
/* Chooses the faster way, and publishes it. */
void sm_choose(const struct sm_bound *s, struct sm_msg *m);

#endif
