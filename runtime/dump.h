/* SPDX-License-Identifier: BSD-3-Clause
 * Diagnosis: prints what pending ops wait for (dump.c). */
#ifndef RUNTIME_DUMP_H
#define RUNTIME_DUMP_H

#include "runtime/context.h"
#include "runtime/request.h"

/* True if a dump is due: SIGUSR1 has come, or the request was waited for too long. The caller waits for the request and
 * holds its turn. */
bool rt_dump_due(struct mpix_sched_request *req);

#endif
