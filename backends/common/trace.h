/* SPDX-License-Identifier: BSD-3-Clause
 * Traces of what an engine does. Who keeps none pays nothing: ops are carried out by other functions where one is
 * kept. */
#ifndef BACKENDS_COMMON_TRACE_H
#define BACKENDS_COMMON_TRACE_H

#include "backends/common/engine.h"

struct engine_trace;

/* Room for the trace of a schedule's ops, NULL where none is kept; 0 or -ERR_NOMEM. The epoch is that of the call under
 * way. */
int engine_trace_make(struct engine_trace **out, const struct be_bind *b, const uint64_t *epoch);
/* Traces all ops from now on, as they are carried out now. NULL is harmless. */
void engine_trace(struct engine *e, struct engine_trace *t);

/* The rank's own thread has taken a part of an op from begin to now, while others were at it. */
void engine_trace_joined(const struct engine_trace *t, uint32_t op, uint64_t begin);

#endif
