/* SPDX-License-Identifier: BSD-3-Clause
 * The interface itself (nic.c), for who serves ranks (nic_serve.c). */
#ifndef GOALRUN_NIC_NIC_CORE_H
#define GOALRUN_NIC_NIC_CORE_H

#include "backends/smcq/nic.h"
#include "goalrun/nic/copier.h"
#include "util/mem.h"

#include <stdio.h>

#define NIC_TNIS 64u

struct nic_packet;
struct nic_bound;

/* A rank with its heap. */
struct nic_port {
	int sock, pid, heap;
	char *base; /* of the heap, as far as it may ever grow */
	uint64_t reserved, size;
	struct be_bell *bell;
	uint32_t queues[NIC_TNIS]; /* that are in use, of each interface */
	uint64_t free[NIC_TNIS]; /* when the interface has sent what it was given */
};

struct nic {
	uint64_t seed;
	uint64_t now, seq; /* of events; now: bytes on a wire */
	uint64_t names;
	VEC(struct nic_packet *) heap; /* by time */
	VEC(struct nic_bound *) bound;
	struct nic_packet *spare;
	char *bounce; /* for memory that is private on both sides */
	struct copier copier; /* of what is in heaps */
	FILE *trace;
	uint64_t steps, most;
	struct nic_stats *stats;
};

int nic_init(struct nic *n, const struct nic_options *o);
void nic_fini(struct nic *n);

/* All return 0 or -ERR_x with a sentence in text, of size bytes. */
int nic_open(struct nic_port *p, uint64_t bell, char *text, size_t size);
void nic_close(struct nic *n, struct nic_port *p);
int nic_bind(struct nic *n, struct nic_port *p, uint64_t off, uint64_t bytes, uint64_t *name, char *text, size_t size);
int nic_connect(struct nic *n, const struct nic_port *p, uint64_t name, char *text, size_t size);
int nic_rebind(struct nic *n, const struct nic_port *p, uint64_t name, char *text, size_t size);
/* Whether all that was posted has gone out, or never will; then it is unbound. An unknown name is. */
bool nic_unbind(struct nic *n, const struct nic_port *p, uint64_t name);

/* Whether a rank has posted something that the interface did not know of. */
bool nic_look(struct nic *n);
/* The next event; false: there is none. */
bool nic_step(struct nic *n);

#endif
