/* SPDX-License-Identifier: BSD-3-Clause
 * A trace of all ranks, measured or simulated, and the formats in which it can be written. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "backends/services.h"
#include "util/command_line.h"
#include "util/mem.h"
#include "util/text.h"

/* Meaning of a row in the picture: a rank, a CPU on which threads communicate, or the communication threads of a rank
 * that ran on several CPUs. */
enum trace_kind { TRACE_RANK, TRACE_CPU /* number: the CPU */, TRACE_HELPER /* number: the rank */ };

struct trace_row {
	enum trace_kind kind;
	uint32_t number; /* number of the rank, or of the CPU for TRACE_CPU */
};

struct trace_thread {
	int pid;
	uint64_t id;
	bool app; /* true for a rank's own thread, false for a communication thread */
	uint32_t rank; /* rank that the thread belongs to; for a communication thread a rank of its process */
	bool core; /* true for a core that communicates for any ranks, and has no thread of its own for each process */
	const char *what; /* behind its name in pictures, instead of its CPU; or NULL */
	bool moves; /* true if the thread ran on several CPUs */
	int32_t cpu;
	uint32_t row;
};

struct trace_slice {
	struct be_event e;
	uint32_t thread;
	const struct trace_slice *first; /* of an op: the slice of its first part */
	uint32_t sent; /* of a complete recv of a trace that is `matched`: the op of its send */
	const struct trace_slice *send; /* of a complete recv: the slice of the first part of its send, or NULL */
};

struct trace {
	uint64_t begin, dropped;
	const char *title, *note; /* for pictures, or NULL (borrowed); a note may have several lines */
	bool matched; /* the send of each recv is known; otherwise it is found by their order in the schedule */
	size_t contexts;
	VEC(struct trace_thread) threads;
	VEC(struct trace_row) rows; /* rows, by ascending kind and number */
	VEC(struct trace_slice) slices; /* slices, by ascending begin; an enclosing slice comes first */
};

/* Makes rows, sorts slices and sets their links, for a trace with threads and slices. Returns 0 or -ERR_NOMEM. */
int trace_link(struct trace *t);
void trace_fini(struct trace *t);

/* Writes a trace as text. Returns 0 or -ERR_NOMEM. */
typedef int trace_writer(struct text *out, const struct trace *t);
/* Draws a timeline as SVG. */
trace_writer trace_timeline;
/* Returns the writer for a file name that ends in .json, .paje, .svg or .txt; NULL for other names. */
trace_writer *trace_format(const char *path);
/* Takes the file name of an option --trace: const char *. */
option_taker trace_take_name;

#endif
