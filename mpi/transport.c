/* SPDX-License-Identifier: BSD-3-Clause
 * Messages between nodes: the persistent messages of the MPI library, on a communicator of ours for each communicator of the
 * program, so that they meet no message of the program. */
#include "mpi/inner.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 30) /* fits an int */

struct message {
	MPI_Request request;
	bool recv, active;
};

/* Returns what a function of the transport returns: an error of MPI, or 0. */
static int make_message(int err, struct message *x, void **out)
{
	if (err)
		free(x);
	else
		*out = x;
	return err;
}

static int send_init(void *state, const void *buf, size_t bytes, int peer, uint32_t tag, int sync, void **out)
{
	struct message *x = calloc(1, sizeof *x);
	int err;

	if (!x)
		return MPI_ERR_NO_MEM;
	if (sync)
		err = PMPI_Ssend_init(buf, (int)bytes, MPI_BYTE, peer, (int)tag, *(MPI_Comm *)state, &x->request);
	else
		err = PMPI_Send_init(buf, (int)bytes, MPI_BYTE, peer, (int)tag, *(MPI_Comm *)state, &x->request);
	return make_message(err, x, out);
}

static int recv_init(void *state, void *buf, size_t bytes, int peer, uint32_t tag, void **out)
{
	struct message *x = calloc(1, sizeof *x);

	if (!x)
		return MPI_ERR_NO_MEM;
	x->recv = true;
	return make_message(PMPI_Recv_init(buf, (int)bytes, MPI_BYTE, peer, (int)tag, *(MPI_Comm *)state, &x->request), x, out);
}

static _Thread_local bool inside;

bool gm_inside(void)
{
	return inside;
}

static int start(void *state, void *message)
{
	struct message *x = message;
	int err;

	(void)state;
	x->active = true;
	inside = true;
	err = PMPI_Start(&x->request);
	inside = false;
	return err;
}

static int test(void *state, void *message, int *flag)
{
	struct message *x = message;
	int err;

	(void)state;
	inside = true;
	err = PMPI_Test(&x->request, flag, MPI_STATUS_IGNORE);
	inside = false;
	if (!err && *flag)
		x->active = false;
	return err;
}

static int free_message(void *state, void *message)
{
	struct message *x = message;
	int err;

	(void)state;
	inside = true;
	if (x->active && x->recv)
		PMPI_Cancel(&x->request);
	err = PMPI_Request_free(&x->request);
	inside = false;
	free(x);
	return err;
}

/* Makes a communicator of the same ranks, without the attributes that a duplicate has: copying these may call the program. */
static bool make_wire(struct gm_comm *c)
{
	MPI_Group ranks;
	int err;

	if (PMPI_Comm_group(c->comm, &ranks))
		return false;
	err = PMPI_Comm_create(c->comm, ranks, &c->wire);
	PMPI_Group_free(&ranks);
	return !err && !PMPI_Comm_set_errhandler(c->wire, MPI_ERRORS_RETURN);
}

/* Returns how many tags there are. Open MPI has the largest one at MPI_COMM_WORLD only, which sessions have not. */
static uint32_t count_tags(MPI_Comm comm)
{
	int found = 0, world = 0, *most;

	if ((PMPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &found) || !found) && !PMPI_Initialized(&world) && world &&
	    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found))
		found = 0;
	return found ? (uint32_t)*most + 1 : 32768; /* as MPI guarantees */
}

/* True if the group needs a transport: it has no network of its own. The same on all ranks. */
static bool needs_transport(const struct gm_comm *c)
{
	const char *backend;

	return !gm_lib.group_backend(c->group, &backend) && (!strcmp(backend, "shm") || !strcmp(backend, "mpi"));
}

bool gm_any_thread(void)
{
	int level;

	return !PMPI_Query_thread(&level) && level == MPI_THREAD_MULTIPLE;
}

void gm_transport_set(struct gm_comm *c)
{
	struct MPIX_Sched_transport t = { .struct_size = sizeof t,
					  .state = &c->wire,
					  .most_bytes = MOST_BYTES,
					  .send_init = send_init,
					  .recv_init = recv_init,
					  .start = start,
					  .test = test,
					  .free = free_message };
	int nodes;
	bool needed;

	if (gm_lib.group_nodes(c->group, &nodes) || nodes == 1)
		return;
	c->spread = true;
	needed = needs_transport(c);
	gm_count_spread(needed);
	if (!needed || !make_wire(c))
		return;
	t.tags = count_tags(c->wire);
	t.any_thread = gm_any_thread();
	gm_lib.group_set_transport(c->group, &t);
}
