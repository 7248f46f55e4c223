/* SPDX-License-Identifier: BSD-3-Clause
 * Traces: the events that a context records, and their transfer to goalrun. */
#ifndef RUNTIME_TRACE_H
#define RUNTIME_TRACE_H

#include "backends/services.h"
#include "runtime/request.h"

#define TRACE_MAGIC 0x31454341525447u /* "GTRACE1" */

/* Header that a context writes when it is freed, followed by its events. */
struct trace_chunk {
	uint64_t magic;
	uint32_t size; /* size of an event in bytes */
	int32_t pid;
	uint64_t nevents;
	uint64_t dropped; /* number of events for which there was no room */
};

/* Starts to trace a context, if GOAL_TRACE_FD is set. Returns 0, or an error with a message. */
int rt_trace_open(struct mpix_sched_ctx *ctx);
/* Records that the caller has waited for a request, from the time `since` (ns) until now. */
void rt_trace_wait(const struct mpix_sched_request *req, uint64_t since);
/* Writes the trace of a context to goalrun's file and frees it. */
void rt_trace_close(struct mpix_sched_ctx *ctx);

#endif
