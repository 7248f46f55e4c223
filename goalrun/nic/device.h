/* SPDX-License-Identifier: BSD-3-Clause
 * Interface between the emulated device (nic.c) and the part that serves ranks (nic_serve.c). */
#ifndef GOALRUN_NIC_DEVICE_H
#define GOALRUN_NIC_DEVICE_H

#include "backends/smcq/nic.h"
#include "goalrun/nic/copier.h"
#include "util/mem.h"

#include <stdio.h>

#define NIC_TNIS 64u

struct nic_packet;
struct nic_bound;

/* A connected rank and its heap. */
struct nic_port {
	int sock, pid, heap;
	char *base; /* mapping of the heap, as far as it may ever grow */
	uint64_t reserved, size;
	struct be_bell *bell;
	uint32_t queues[NIC_TNIS]; /* number of command queues in use on each interface */
	uint64_t free[NIC_TNIS]; /* time at which each interface has sent everything that it was given */
};

struct nic {
	uint64_t seed;
	uint64_t now, seq; /* now: clock in bytes on a wire; seq: number of the next event */
	uint64_t names;
	VEC(struct nic_packet *) heap; /* packets under way, a binary heap ordered by time */
	VEC(struct nic_bound *) bound;
	struct nic_packet *spare;
	char *bounce; /* buffer for copies between two ranks' private memories */
	struct copier copier; /* copies between heaps */
	FILE *trace;
	uint64_t steps, most;
	struct nic_stats *stats;
};

int nic_init(struct nic *n, const struct nic_options *o);
void nic_fini(struct nic *n);

/* nic_open, nic_bind, nic_connect and nic_rebind return 0, or -ERR_x with a sentence in `text`, which has room for `size`
 * bytes. */
int nic_open(struct nic_port *p, uint64_t bell, char *text, size_t size);
void nic_close(struct nic *n, struct nic_port *p);
int nic_bind(struct nic *n, struct nic_port *p, uint64_t off, uint64_t bytes, uint64_t *name, char *text, size_t size);
/* -ERR_DEAD: the rank of block *gone, to which this one has a way, is gone. */
int nic_connect(struct nic *n, const struct nic_port *p, uint64_t name, uint64_t *gone, char *text, size_t size);
int nic_rebind(struct nic *n, const struct nic_port *p, uint64_t name, char *text, size_t size);
/* Unbinds a block, unless entries that were posted still have to be sent. Entries of a block that is dead, or
 * was never connected, are not sent. Returns true if the block is unbound now, or unknown. */
bool nic_unbind(struct nic *n, const struct nic_port *p, uint64_t name);

/* Polls the doorbells of the ranks. Returns true if a rank has posted something new. */
bool nic_poll(struct nic *n);
/* Handles the next event. Returns false if there is none. */
bool nic_step(struct nic *n);

#endif
