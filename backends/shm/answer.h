/* SPDX-License-Identifier: BSD-3-Clause
 * Answers to messages by pull that are reduced (answer.c). */
#ifndef BACKENDS_SHM_ANSWER_H
#define BACKENDS_SHM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are reduced before they are stored as an answer: while they are in the nearest cache; and of a message longer than
 * SM_ANSWERED_MAX, which takes less time so (on an EPYC 0.75 of it for an allreduce of 6 and 8 MiB). */
#define SM_ANSWERED ((size_t)2048)
#define SM_ANSWERED_LONG ((size_t)1 << 20)
#define SM_ANSWERED_MAX ((uint64_t)512 << 10)

struct sm_bound;
struct sm_desc;
struct sm_msg;

/* Finds out if this rank's end of a message is that of an answer to another one between the same ranks, of the same tag: a send that waits
 * for nothing but what is made of that one by reduction, and sends it; a recv that waits for nothing but the end of that one. Returns 1 +
 * the number of that one in its channel, or 0. */
uint8_t sm_answers(const struct sm_bound *s, const struct sm_desc *e);
/* Links an answer with the op of this rank that it waits for, if it is one at both ends: the send that it answers, or the last recv-reduce
 * of what it sends. */
void sm_link_answer(struct sm_bound *s, const struct sm_desc *mine);
/* Returns the answer to a send, if the other rank may store it as soon as it has read the elements that were sent; else NULL. */
struct sm_msg *sm_answer_to(const struct sm_bound *s, const struct sm_msg *m);

/* Of a recv-reduce: finds those of its answers that this rank can store. Returns false if there are none. */
bool sm_begin_answers(struct sm_bound *s, const struct sm_msg *m);
/* Stores a part of them at the receivers. */
void sm_store_answers(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes);
/* All parts are stored. */
void sm_end_answers(const struct sm_bound *s, const struct sm_msg *m);

#endif
