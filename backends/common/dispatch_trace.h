/* SPDX-License-Identifier: BSD-3-Clause
 * Traces of what the dispatcher does. A trace replaces the functions of the ops by traced ones, so that a run without a
 * trace costs nothing. */
#ifndef BACKENDS_COMMON_DISPATCH_TRACE_H
#define BACKENDS_COMMON_DISPATCH_TRACE_H

#include "backends/common/dispatch.h"

struct dispatch_trace;

/* Allocates the trace of a schedule's ops, or sets *out to NULL if the context keeps no trace. *epoch has to be the
 * epoch under way whenever an op is traced. Returns 0 or -ERR_NOMEM. */
int dispatch_trace_make(struct dispatch_trace **out, const struct be_bind *b, const uint64_t *epoch);
/* Traces all ops from now on: wraps the functions that they have now. NULL is allowed. */
void dispatch_trace(struct dispatcher *e, struct dispatch_trace *t);

/* Records that the rank's own thread did a part of an op, from time `begin` until now, while a helper carried it out. */
void dispatch_trace_joined(const struct dispatch_trace *t, uint32_t op, uint64_t begin);

#endif
