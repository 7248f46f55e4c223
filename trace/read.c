/* SPDX-License-Identifier: BSD-3-Clause
 * Reads traces in the format .txt, which write.c writes. */
#include "trace/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADING "# begin end issued what row thread cpu rank request epoch op kind peer tag bytes"

/* Parses the line of a part of an op. Returns false if it is none. */
static bool parse_line(const char *line, struct trace_line *out)
{
	char what[8], op[12], *end;
	int n = sscanf(line,
		       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %7s %*s %*s %" SCNd32 " %" SCNu32 " %" SCNx64 " %" SCNu64 " %11s %15s", &out->begin,
		       &out->end, &out->issued, what, &out->cpu, &out->rank, &out->request, &out->epoch, op, out->kind);

	if (n != 10 || out->end < out->begin || out->begin < out->issued)
		return false;
	out->op = (uint32_t)strtoul(op, &end, 10);
	out->what = !strcmp(what, "issued") ? BE_EVENT_ISSUED : !strcmp(what, "part") ? BE_EVENT_PART : BE_EVENT_DONE;
	return end != op && !*end;
}

/* True if a line is of a wait, and not of an op. */
static bool is_wait(const char *line)
{
	char what[8];

	return sscanf(line, "%*s %*s %*s %7s", what) == 1 && (!strcmp(what, "wait") || !strcmp(what, "sleep"));
}

int trace_read(char *text, struct trace_lines *out, unsigned *bad)
{
	char *line = strsep(&text, "\n");

	*bad = 1;
	if (strcmp(line, HEADING) != 0)
		return -ERR_SYNTAX;
	while ((line = strsep(&text, "\n"))) {
		struct trace_line l;

		++*bad;
		if (!*line || is_wait(line))
			continue;
		if (!parse_line(line, &l))
			return -ERR_SYNTAX;
		if (VEC_PUSH(&out->v, l))
			return -ERR_NOMEM;
	}
	return 0;
}
