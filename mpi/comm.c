/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators: each that is used gets a group of the library, kept as an attribute, and so do its neighbours. */
#include "mpi/inner.h"

#include <stdio.h>
#include <stdlib.h>

/* The communicators that are known, for gm_comms_end. */
static struct {
	pthread_mutex_t lock;
	struct gm_comm **at;
	size_t n, room;
	int keyval;
} known = { .lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID };

static int on_delete(MPI_Comm comm, int keyval, void *value, void *state)
{
	struct gm_comm *c = value;

	(void)comm, (void)keyval, (void)state;
	pthread_mutex_lock(&known.lock);
	for (size_t i = 0; i < known.n; i++)
		if (known.at[i] == c)
			known.at[i] = known.at[--known.n];
	pthread_mutex_unlock(&known.lock);
	atomic_store(&c->freed, true);
	gm_comm_unref(c);
	return MPI_SUCCESS;
}

int gm_comms_begin(void)
{
	return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &known.keyval, NULL);
}

void gm_comms_end(void)
{
	while (known.n)
		if (PMPI_Comm_delete_attr(known.at[known.n - 1]->comm, known.keyval))
			break;
	free(known.at);
	known.at = NULL;
	known.room = 0;
	if (known.keyval != MPI_KEYVAL_INVALID)
		PMPI_Comm_free_keyval(&known.keyval);
}

static bool remember(struct gm_comm *c)
{
	bool done = true;

	pthread_mutex_lock(&known.lock);
	if (known.n == known.room) {
		struct gm_comm **more = realloc(known.at, (2 * known.room + 8) * sizeof *more);

		done = more != NULL;
		known.at = done ? more : known.at;
		known.room = done ? 2 * known.room + 8 : known.room;
	}
	if (done)
		known.at[known.n++] = c;
	pthread_mutex_unlock(&known.lock);
	return done;
}

/* ---- topologies ---- */

static int64_t *widen(const int *v, int n)
{
	int64_t *out = malloc(((size_t)n + 1) * sizeof *out);

	for (int i = 0; i < n && out; i++)
		out[i] = v[i];
	return out;
}

/* Takes over `n` ints of each of two arrays. */
static bool take_neighbours(struct gm_comm *c, const int *from, int nfrom, const int *to, int nto)
{
	c->nsources = nfrom;
	c->ndests = nto;
	c->sources = widen(from, nfrom);
	c->dests = widen(to, nto);
	return c->sources && c->dests;
}

/* The neighbours in a grid: in each dimension, downwards before upwards. */
static bool find_grid(struct gm_comm *c)
{
	int n, *v;
	bool done = false;

	if (PMPI_Cartdim_get(c->comm, &n))
		return false;
	v = malloc(((size_t)n * 5 + 1) * sizeof *v);
	if (v && !(n && PMPI_Cart_get(c->comm, n, v, v + n, v + 2 * n))) {
		c->ndims = n;
		c->dims = widen(v, n);
		c->periods = widen(v + n, n);
		done = c->dims && c->periods;
		for (int d = 0; d < n && done; d++)
			done = !PMPI_Cart_shift(c->comm, d, 1, &v[3 * n + 2 * d], &v[3 * n + 2 * d + 1]);
		done = done && take_neighbours(c, v + 3 * n, 2 * n, v + 3 * n, 2 * n);
		c->topology = MPIX_SCHED_CART;
	}
	free(v);
	return done;
}

static bool find_graph(struct gm_comm *c)
{
	int n, *v;
	bool done = false;

	if (PMPI_Graph_neighbors_count(c->comm, c->rank, &n))
		return false;
	v = malloc(((size_t)n + 1) * sizeof *v);
	if (v && !PMPI_Graph_neighbors(c->comm, c->rank, n, v))
		done = take_neighbours(c, v, n, v, n);
	c->topology = MPIX_SCHED_GRAPH;
	free(v);
	return done;
}

static bool find_dist_graph(struct gm_comm *c)
{
	int from, to, weighted, *v;
	bool done = false;

	if (PMPI_Dist_graph_neighbors_count(c->comm, &from, &to, &weighted))
		return false;
	v = malloc(2 * ((size_t)from + (size_t)to + 1) * sizeof *v);
	if (v && !PMPI_Dist_graph_neighbors(c->comm, from, v, v + from + to, to, v + from, v + 2 * from + to))
		done = take_neighbours(c, v, from, v + from, to);
	c->topology = MPIX_SCHED_GRAPH;
	free(v);
	return done;
}

static bool find_topology(struct gm_comm *c)
{
	int kind;

	if (PMPI_Topo_test(c->comm, &kind))
		return false;
	if (kind == MPI_CART)
		return find_grid(c);
	if (kind == MPI_GRAPH)
		return find_graph(c);
	return kind != MPI_DIST_GRAPH || find_dist_graph(c);
}

/* ---- communicators ---- */

void gm_comm_unref(struct gm_comm *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	gm_nbc_free(c->nbc);
	if (c->group)
		gm_lib.group_free(&c->group);
	if (c->wire != MPI_COMM_NULL)
		PMPI_Comm_free(&c->wire);
	free(c->dims);
	free(c->periods);
	free(c->sources);
	free(c->dests);
	free(c);
}

/* As MPIX_Sched_group_from_comm, but tools between us and the MPI library see no call of ours. */
static int gather(const void *in, void *out, size_t size, void *arg)
{
	const int n = (int)size;

	return PMPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, *(MPI_Comm *)arg) != MPI_SUCCESS;
}

static struct gm_comm *make_comm(MPI_Comm comm)
{
	struct gm_comm *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	atomic_init(&c->refs, 1);
	c->comm = comm;
	c->wire = MPI_COMM_NULL;
	if (PMPI_Comm_rank(comm, &c->rank) || PMPI_Comm_size(comm, &c->size) || !find_topology(c) || !remember(c)) {
		gm_comm_unref(c);
		return NULL;
	}
	return c;
}

/* True if the ranks can bind. All find the same. A call that does not block is served before its schedule is bound, and then cannot be
 * left to the MPI library any more. */
static bool can_bind(const struct gm_comm *c)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Barrier", .basic = MPIX_SCHED_BYTE };
	const struct MPIX_Sched_bind bind = { .struct_size = sizeof bind, .basic = MPIX_SCHED_BYTE };
	MPIX_Sched_request req = NULL;
	MPIX_Sched sched = NULL;
	bool can = !gm_lib.select(c->group, &call, &sched) && !gm_lib.init(sched, c->group, &bind, &req);

	if (can)
		gm_lib.free(&req);
	if (sched)
		gm_lib.unload(&sched);
	return can;
}

/* Makes the group, collectively. A rank without memory must not leave the others waiting for it. */
static void make_group(struct gm_comm *c, MPI_Comm comm)
{
	const int hash = gm_own_hash();
	struct gm_nbc *nbc = c && gm_ctx() && gm_nbc_on() && !gm_device_any() ? gm_nbc_new(c) : NULL;
	int mine[4] = { c && gm_ctx(), hash, -hash, nbc != NULL }, least[4] = { 0 };

	if (nbc)
		c->nbc = nbc;
	if (PMPI_Allreduce(mine, least, 4, MPI_INT, MPI_MIN, comm) || !least[0]) {
		if (nbc)
			gm_nbc_free(nbc);
		if (c)
			c->nbc = NULL;
		return;
	}
	c->chosen = least[1] == -least[2];
	if (!c->chosen && !c->rank)
		gm_say("goalmpi: the ranks have different values of GOAL_MPI_* that choose schedules; they are ignored\n");
	if (gm_lib.group_create(gm_ctx(), c->rank, c->size, gather, &comm, &c->group))
		c->group = NULL;
	else
		gm_transport_set(c);
	/* Binding between nodes may call the MPI library, which the thread that binds must not. */
	if (c->nbc && (!c->group || !least[3] || c->spread || !can_bind(c))) {
		gm_nbc_free(c->nbc);
		c->nbc = NULL;
	}
}

struct gm_comm *gm_comm_known(MPI_Comm comm)
{
	struct gm_comm *c = NULL;
	int found = 0;

	return PMPI_Comm_get_attr(comm, known.keyval, &c, &found) || !found ? NULL : c;
}

void gm_nbc_comm(MPI_Comm comm)
{
	int inter = 1;

	if (gm_nbc_on() && comm != MPI_COMM_NULL && !PMPI_Comm_test_inter(comm, &inter) && !inter)
		gm_comm_unref(gm_comm_of(comm));
}

struct gm_comm *gm_comm_of(MPI_Comm comm)
{
	struct gm_comm *c = NULL;
	int found = 0;

	if (PMPI_Comm_get_attr(comm, known.keyval, &c, &found))
		return NULL;
	if (!found) {
		c = make_comm(comm);
		make_group(c, comm);
		if (!c || PMPI_Comm_set_attr(comm, known.keyval, c)) {
			gm_comm_unref(c);
			return NULL;
		}
	}
	atomic_fetch_add(&c->refs, 1);
	return c;
}
