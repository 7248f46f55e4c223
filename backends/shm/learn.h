/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of the mode SM_LEARNED, which try in some epochs whether to be pulled or staged (learn.c). */
#ifndef BACKENDS_SHM_LEARN_H
#define BACKENDS_SHM_LEARN_H

#include <stdbool.h>
#include <stdint.h>

struct sm_bound;
struct sm_msg;

#define SM_TIMES 3u /* epochs of a trial that count for each way: the median is taken */

/* Least bytes of messages that take so long that little else counts, and of which there are few: a trial has one epoch of each way. */
#define SM_LONG ((uint64_t)8 << 20)

struct sm_learn {
	uint64_t again; /* last epoch before the next trial; UINT64_MAX if the request has no such message */
	bool on; /* true in the epochs of a trial */
	uint64_t before; /* last epoch before the latest trial */
	uint64_t since; /* when all others had started this epoch, ns, or 0 */
	uint64_t epochs; /* most that the trial of a message of this request has */
	uint64_t took[2][SM_TIMES]; /* times of the latest epochs by the ring [0] and by pull [1], ns; 0: not measured */
	uint64_t brief[2]; /* those of the epochs that count for long messages, ns */
};

/* Returns how many epochs a trial of the message has, whose ring is known. The same for both ends. */
uint64_t sm_trial_epochs(const struct sm_msg *m);
/* True in the epoch of a trial in which the sender tries how to store chunks (fill.c): the ring has been used once, and the epochs of
 * slots that count come next. */
bool sm_tries_fill(const struct sm_bound *s, const struct sm_msg *m);
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
