/* SPDX-License-Identifier: BSD-3-Clause
 * Bells: sleeping until another rank has stored something (bell.c). */
#ifndef RUNTIME_BELL_H
#define RUNTIME_BELL_H

#include "backends/backend.h"

/* Whether a sleeper can order others' stores. */
bool rt_bell_known(void);
/* Lets sleepers order the stores of this process; false when it has to do so itself. */
bool rt_bell_register(void);
/* Says that the caller is about to sleep, which it may do after one more look; asks: as in struct rt_door. */
uint32_t rt_bell_arm(struct be_bell *b, bool asks);
/* Sleeps for at most so many ns, with what arm has returned; whether it was rung. */
bool rt_bell_sleep(struct be_bell *b, uint32_t seen, uint64_t ns);
/* Always follows arm. */
void rt_bell_disarm(struct be_bell *b);
/* Sleeps until one of these descriptors can be read, and what was written to the first one is gone; else as above. */
bool rt_bell_sleep_on(struct be_bell *b, uint32_t seen, uint64_t ns, const int fd[2]);

#endif
