/* SPDX-License-Identifier: BSD-3-Clause
 * Diagnosis: what pending ops wait for (dump.c). */
#ifndef RUNTIME_DUMP_H
#define RUNTIME_DUMP_H

#include "runtime/context.h"
#include "runtime/request.h"

/* While somebody holds it, SIGUSR1 is counted, unless the application handles it. */
void rt_usr1_hold(void);
void rt_usr1_release(void);
uint32_t rt_usr1_count(void);
/* Whether to print what the context's pending ops wait for: on SIGUSR1, or when the request, which the caller
 * has taken and waits for, has been waited for too long. */
bool rt_dump_due(struct mpix_sched_request *req);
/* Prints it. The caller has taken no request. */
int rt_dump(struct mpix_sched_ctx *ctx, int fd);

#endif
