/* SPDX-License-Identifier: BSD-3-Clause
 * Traces: what a context notes while it runs, and how it hands that to goalrun. */
#ifndef RUNTIME_TRACE_H
#define RUNTIME_TRACE_H

#include "backends/backend.h"
#include "runtime/request.h"

struct mpix_sched_ctx;
struct mpix_sched_request;

#define TRACE_MAGIC 0x31454341525447u /* "GTRACE1" */

/* What a context writes when it is freed: this, and its events. */
struct trace_chunk {
	uint64_t magic;
	uint32_t size; /* bytes of an event */
	int32_t pid;
	uint64_t nevents;
	uint64_t dropped; /* that came when there was no room */
};

/* Keeps a trace from now on, if GOAL_TRACE_FD says so; 0 or what is wrong with it. */
int rt_trace_open(struct mpix_sched_ctx *ctx);
/* The caller has waited for a request since then. */
void rt_trace_wait(const struct mpix_sched_request *req, uint64_t since);
/* Hands it over. */
void rt_trace_close(struct mpix_sched_ctx *ctx);

#endif
