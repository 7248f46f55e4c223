/* SPDX-License-Identifier: BSD-3-Clause
 * Groups after they are made (bootstrap/): transports, subgroups, and the end of a group. */
#include "runtime/group.h"

#include "backends/services.h"
#include "backends/transport.h"
#include "runtime/comm.h"
#include "runtime/nodes.h"
#include "util/order.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns the rank whose heap has a subgroup's board: the lowest one of this node. */
static uint32_t board_owner(const struct be_group *g)
{
	uint32_t r = 0;

	while (g->process->peers[g->root[r]].node != g->process->node)
		r++;
	return r;
}

/* Ends this rank's use of the board of a subgroup. */
static void leave_board(struct be_group *g)
{
	struct rt_board *b = g->board;

	if (g->rank == board_owner(g))
		group_free_later(g, b, NULL, &b->users);
	atomic_fetch_sub(&b->users, 1); /* last access: the owner may free it now */
}

bool rt_process_owned(const struct rt_process *l)
{
	return l->pid == getpid();
}

static void unref_transport(struct be_transport *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	VEC_FREE(&t->taken);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void rt_process_free(struct rt_process *l)
{
	if (!l)
		return;
	rt_comm_free(l);
	rt_bridge_close(l->bridge);
	for (uint32_t r = 0; l->peers && r < l->size; r++) {
		struct rt_peer *p = &l->peers[r];

		for (size_t i = 0; i < p->maps.n; i++)
			munmap(p->maps.at[i].base, p->maps.at[i].len);
		VEC_FREE(&p->maps);
		rt_heap_unref(p->heap);
		if (p->fd >= 0)
			close(p->fd);
		if (p->event >= 0)
			close(p->event);
	}
	if (l->board)
		munmap(l->board, rt_board_size(l->size));
	if (l->fd >= 0)
		close(l->fd);
	free(l->node_ranks);
	free(l->peers);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void rt_group_unref(struct be_group *g)
{
	struct mpix_sched_ctx *ctx = g->ctx;

	if (atomic_fetch_sub(&g->refs, 1) != 1)
		return;
	if (rt_process_owned(g->process)) {
		rt_stocks_free(g);
		atomic_store(&g->board->slots[g->rank].left, 1);
		if (g->root)
			leave_board(g);
		rt_bridge_ring(g->process);
		rt_sleepers_leave(&ctx->sleepers, &g->tally);
	}
	if (atomic_fetch_sub(&g->process->refs, 1) == 1)
		rt_process_free(g->process);
	unref_transport(g->transport);
	free(g->root);
	free(g->gathered);
	free(g);
	rt_ctx_unref(ctx);
}

int MPIX_Sched_group_free(MPIX_Sched_group *group)
{
	if (!group)
		return MPIX_SCHED_ERR_ARG;
	if (*group && rt_process_owned((*group)->g.process)) {
		atomic_store(&(*group)->g.board->slots[(*group)->g.rank].closed, 1);
		rt_bridge_ring((*group)->g.process);
	}
	if (*group)
		rt_group_unref(&(*group)->g);
	*group = NULL;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_group_rank(MPIX_Sched_group group, int *rank, int *size)
{
	if (!group || !rank || !size)
		return rt_invalid(group ? group->g.ctx : NULL);
	*rank = (int)group->g.rank;
	*size = (int)group->g.size;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_group_nodes(MPIX_Sched_group group, int *nodes)
{
	const struct be_group *g = &group->g;
	bool *seen;

	if (!group || !nodes)
		return rt_invalid(group ? group->g.ctx : NULL);
	seen = mem_calloc(g->process->nnodes, sizeof *seen);
	if (!seen)
		return -rt_fail(g->ctx, -ERR_NOMEM);
	*nodes = 0;
	for (uint32_t r = 0; r < g->size; r++) {
		const uint32_t node = g->process->peers[rt_root_rank(g, r)].node;

		*nodes += !seen[node];
		seen[node] = true;
	}
	free(seen);
	return MPIX_SCHED_SUCCESS;
}

/* ---- transports ---- */

static const char *find_fault(const struct MPIX_Sched_transport *t)
{
	if (!t || t->struct_size != sizeof *t)
		return "transport is NULL, or its struct_size is wrong";
	if (!t->send_init || !t->recv_init || !t->start || !t->test || !t->free)
		return "a function of the transport is NULL";
	if (!t->most_bytes || !t->tags)
		return "most_bytes and tags of a transport are at least 1";
	return NULL;
}

int MPIX_Sched_group_set_transport(MPIX_Sched_group group, const struct MPIX_Sched_transport *transport)
{
	const char *fault = find_fault(transport);
	struct be_transport *t;

	if (!group)
		return MPIX_SCHED_ERR_ARG;
	if (fault)
		return -rt_error(group->g.ctx, -ERR_ARG, "%s", fault);
	if (group->g.root || group->g.transport)
		return -rt_error(group->g.ctx, -ERR_STATE, "the group %s",
				 group->g.root ? "has been split from another" : "has a transport already");
	t = mem_calloc(1, sizeof *t);
	if (!t)
		return -rt_fail(group->g.ctx, -ERR_NOMEM);
	atomic_init(&t->refs, 1);
	t->of = *transport;
	pthread_mutex_init(&t->lock, NULL);
	group->g.transport = t;
	return MPIX_SCHED_SUCCESS;
}

int rt_group_check_backend(struct be_group *g)
{
	const struct be_row *row = g->ctx->backend;
	struct nearest n;

	if (row && row->ops)
		return 0;
	n = be_nearest(env_get(ENV_GOAL_BACKEND));
	nearest_name(&n, BE_AUTO);
	return rt_error(g->ctx, -ERR_ARG, "the environment variable GOAL_BACKEND cannot be \"%s\"%s", n.word,
			!row		 ? nearest_choices(&n) :
			row->simulated ? ": ranks do not run there; it is for goalrun --backend" :
					   ": this build does not have it");
}

const struct be_row *rt_group_backend(const struct be_group *g)
{
	const struct be_row *row = g->ctx->backend;

	if (!row || !row->ops || !row->ops->near || g->process->nnodes == 1)
		return row;
	return g->process->networked ? be_networked() : g->transport ? be_transporter() : row;
}

int MPIX_Sched_group_backend(MPIX_Sched_group group, const char **name)
{
	int err;

	if (!group || !name)
		return rt_invalid(group ? group->g.ctx : NULL);
	err = rt_group_check_backend(&group->g);
	if (!err)
		*name = rt_group_backend(&group->g)->name;
	return -err;
}

struct be_transport *group_transport(struct be_group *g)
{
	return g->transport;
}

int group_transport_rank(struct be_group *g, uint32_t rank)
{
	return (int)rt_root_rank(g, rank);
}

/* ---- subgroups ---- */

struct split_args {
	int color, key;
	uint32_t rank;
};

static int by_key(const void *a, const void *b)
{
	const struct split_args *x = a, *y = b;

	ORDER_BY(x->key, y->key);
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int make_subboard(struct be_group *g, struct be_group *sub, uint64_t *off)
{
	struct rt_process *l = g->process;
	struct rt_board *b = sub->board = group_alloc(g, rt_board_size(sub->size), off);
	uint32_t users = 0;

	if (!b)
		return rt_fail(g->ctx, -ERR_NOMEM);
	b->size = sub->size;
	b->key = sub->id;
	b->home = l->node;
	for (uint32_t r = 0; r < sub->size; r++) {
		b->slots[r].home = l->peers[sub->root[r]].node;
		users += b->slots[r].home == l->node;
	}
	atomic_store(&b->users, users + (l->bridge != NULL));
	if (l->bridge)
		rt_bridge_add(l, b, sub->root[sub->rank], *off);
	return 0;
}

/* Fills in the members of the subgroup, from the arguments of all ranks in g->gathered. The lowest member of each node
 * makes the node's board. */
static int gather_members(struct be_group *g, struct be_group *sub, int color, uint64_t *off)
{
	struct split_args *w = (struct split_args *)(void *)g->gathered;

	for (uint32_t r = 0; r < g->size; r++)
		if (w[r].color == color)
			w[sub->size++] = w[r];
	qsort(w, sub->size, sizeof *w, by_key);
	sub->root = mem_alloc(sub->size * sizeof *sub->root);
	if (!sub->root || !rt_group_rooms(sub))
		return rt_fail(g->ctx, -ERR_NOMEM);
	for (uint32_t r = 0; r < sub->size; r++) {
		sub->root[r] = rt_root_rank(g, w[r].rank);
		if (w[r].rank == g->rank)
			sub->rank = r;
	}
	sub->process = g->process;
	sub->id = rt_id(rt_id(g->id, g->seq), sub->root[0]);
	return sub->rank == board_owner(sub) ? make_subboard(g, sub, off) : 0;
}

struct board_handle {
	uint32_t root; /* rank whose heap has the board */
	uint64_t off;
};

/* Finds the board of the subgroup, from the locations in g->gathered. */
static int find_board(struct be_group *g, struct be_group *sub)
{
	const struct board_handle *p = (const struct board_handle *)(const void *)g->gathered;
	const uint32_t owner = sub->root[board_owner(sub)];

	for (uint32_t r = 0; r < g->size && !sub->board; r++)
		if (p[r].off != UINT64_MAX && p[r].root == owner)
			sub->board = group_peer(g, r, p[r].off, rt_board_size(sub->size));
	return sub->board ? 0 : rt_error(g->ctx, -ERR_SYS, "the heap of a rank cannot be mapped");
}

int MPIX_Sched_group_split(MPIX_Sched_group group, int color, int key, MPIX_Sched_group *out)
{
	const bool in = color != MPIX_SCHED_UNDEFINED;
	struct mpix_sched_group *new;
	struct be_group *g, *sub;
	struct board_handle board_handle = { .off = UINT64_MAX };
	int err;

	if (!group)
		return MPIX_SCHED_ERR_ARG;
	g = &group->g;
	g->step = RT_SPLIT;
	new = mem_calloc(1, sizeof *new);
	err = new ? 0 : rt_fail(g->ctx, -ERR_NOMEM);
	if (!out)
		err = rt_error(g->ctx, -ERR_ARG, "there is no place for the new group");
	if (color < 0 && in)
		err = rt_error(g->ctx, -ERR_ARG, "a color is at least 0, or MPIX_SCHED_UNDEFINED");
	/* Each step ends with an exchange, so that all ranks succeed or fail together. */
	err = group_agree(g, err);
	if (err) {
		free(new);
		return -err;
	}
	sub = &new->g;
	err = group_allgather(g, &(struct split_args){ color, key, g->rank }, sizeof(struct split_args), g->gathered);
	if (!err && in)
		err = gather_members(g, sub, color, &board_handle.off);
	board_handle.root = rt_root_rank(g, g->rank);
	err = group_agree(g, err);
	if (!err)
		err = group_allgather(g, &board_handle, sizeof board_handle, g->gathered);
	if (!err)
		err = group_agree(g, in ? find_board(g, sub) : 0);
	sub->ctx = g->ctx;
	if (err && sub->board)
		leave_board(sub);
	if (err || !in) {
		free(sub->root);
		free(sub->gathered);
		free(new);
		if (!err)
			*out = NULL;
		return -err;
	}
	sub->spins = g->spins;
	sub->transport = g->transport;
	if (g->transport)
		atomic_fetch_add(&g->transport->refs, 1);
	atomic_fetch_add(&g->process->refs, 1);
	atomic_init(&sub->refs, 1);
	rt_ctx_ref(g->ctx);
	sub->tally.sleepers = &sub->process->board->sleepers;
	rt_sleepers_join(&g->ctx->sleepers, &sub->tally);
	*out = new;
	return MPIX_SCHED_SUCCESS;
}
