/* SPDX-License-Identifier: BSD-3-Clause
 * Reads traces in the format .txt. */
#ifndef TRACE_READ_H
#define TRACE_READ_H

#include "trace/trace.h"

/* A part of an op. Times in ns. */
struct trace_line {
	uint64_t begin, end, issued, request, epoch;
	uint32_t rank, op;
	int32_t cpu;
	enum be_event_what what;
	char kind[16]; /* the word of the op */
};

struct trace_lines {
	VEC(struct trace_line) v;
};

/* Adds the ops of a trace, whose text it changes. Returns 0, -ERR_NOMEM, or -ERR_SYNTAX if line *bad, counted from 1, is none of
 * such a trace. */
int trace_read(char *text, struct trace_lines *out, unsigned *bad);

#endif
