/* SPDX-License-Identifier: BSD-3-Clause
 * A trace of all ranks, and the formats in which it is written. */
#ifndef GOALRUN_TRACE_H
#define GOALRUN_TRACE_H

#include "runtime/trace.h"
#include "util/mem.h"
#include "util/text.h"

/* What a row of the picture stands for. */
enum trace_kind { TRACE_RANK, TRACE_CPU /* that communicates */, TRACE_HELPER /* of a rank: communicates on several CPUs */ };

struct trace_row {
	enum trace_kind kind;
	uint32_t number; /* of the rank, or the CPU */
};

struct trace_thread {
	int pid;
	uint64_t id;
	bool app; /* a rank's own; else it communicates */
	uint32_t rank; /* whose; or a rank of its process */
	bool moves; /* it ran on other CPUs than this, too */
	int32_t cpu;
	uint32_t row;
};

struct trace_slice {
	struct be_event e;
	uint32_t thread;
	const struct trace_slice *first; /* of an op: its first part */
	const struct trace_slice *send; /* of a recv that is done: the first part of its send, or NULL */
};

struct trace {
	uint64_t begin, dropped;
	size_t contexts;
	VEC(struct trace_thread) threads;
	VEC(struct trace_row) rows; /* ascending */
	VEC(struct trace_slice) slices; /* by their begin; what encloses others before them */
};

/* 0 or -ERR_NOMEM. */
typedef int trace_writer(struct text *out, const struct trace *t);
/* By the name of the file: .json, .paje or .txt; NULL for others. */
trace_writer *trace_format(const char *path);

#endif
