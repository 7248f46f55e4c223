/* SPDX-License-Identifier: BSD-3-Clause
 * goalinfo(1): what this installation and this machine offer, and which row of the selection table serves a call. */
#ifndef GOALINFO_GOALINFO_H
#define GOALINFO_GOALINFO_H

#include "compiler/select.h"
#include "util/command_line.h"
#include "util/report.h"

struct goalinfo {
	/* The fields below are values of options. */
	int64_t nranks, bytes; /* nranks: 0 if not given */
	enum select_op op;
	enum select_topology topology;
	const char *table;
	bool json;
	const char *collective; /* NULL: describe the machine */
};

/* ---- call.c ---- */

/* Prints the row that serves a call, and the rows of the collective before it. Returns an exit status. */
int info_call(const struct goalinfo *c);

/* ---- machine.c ---- */

/* Prints what there is. Returns an exit status. */
int info_machine(const struct goalinfo *c);

/* ---- probe.c ---- */

/* A port of an RDMA device. */
struct info_port {
	char device[64];
	unsigned port;
	bool active;
	const char *link; /* "InfiniBand", "Ethernet" or "unknown" */
};

/* Lists the ports of all RDMA devices. If there are none, adds the reason to `why`. Returns 0 or -ERR_NOMEM; the caller frees
 * *ports. */
int info_ports(struct info_port **ports, size_t *n, struct text *why);
/* Adds to `why` what the engine ofi lacks, if it lacks something. */
void info_fabric(struct text *why);

#endif
