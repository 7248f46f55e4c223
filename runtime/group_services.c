/* SPDX-License-Identifier: BSD-3-Clause
 * What a group offers to backends: exchanges, memory that peers reach, properties of the peers, and which of them have died. */
#include "backends/services.h"
#include "runtime/heap/bell.h"
#include "runtime/comm.h"
#include "util/clock.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CHECK_NS 50000000u /* interval of checks for deaths */

static struct rt_peer *peer_of(const struct be_group *g, uint32_t rank)
{
	return &g->process->peers[rt_root_rank(g, rank)];
}

void rt_bridge_ring(const struct rt_process *l)
{
	rt_event_ring(l->bell);
}

bool group_umwaits(const struct be_group *g)
{
	return g->ctx->umwaits;
}

bool group_crowded(const struct be_group *g)
{
	return !g->spins;
}

/* ---- deaths ---- */

/* Returns 0, or -ERR_DEAD with an error message if the board says that the group has lost a rank. */
static int report_lost(struct be_group *g)
{
	const uint64_t failed = atomic_load(&g->board->failed);
	const uint32_t rank = rt_failed(failed), by = rt_failed_by(failed);

	if (!failed)
		return 0;
	if (atomic_load(&g->process->board->slots[rt_root_rank(g, rank)].died) == RT_UNREACHABLE)
		return rt_error(g->ctx, -ERR_DEAD, "rank %u died, or its node cannot be reached any more", rank);
	if (by != RT_NOBODY && !rt_rank_died(g->process, rt_root_rank(g, rank)))
		return rt_error(g->ctx, -ERR_DEAD, "rank %u cannot reach rank %u any more", by, rank);
	return rt_error(g->ctx, -ERR_DEAD, "rank %u died", rank);
}

/* Records that the group has lost a rank. Returns true if no rank was lost before. */
static bool mark_failed(struct be_group *g, uint32_t rank, uint32_t by)
{
	uint64_t none = 0;
	const bool first = atomic_compare_exchange_strong(&g->board->failed, &none, rt_failure(rank, by));

	rt_bridge_ring(g->process);
	return first;
}

int group_died(struct be_group *g, uint32_t rank)
{
	mark_failed(g, rank, RT_NOBODY);
	return report_lost(g);
}

int group_unreachable(struct be_group *g, uint32_t rank, const char *why)
{
	if (!mark_failed(g, rank, g->rank) || rt_rank_died(g->process, rt_root_rank(g, rank)))
		return report_lost(g);
	return rt_error(g->ctx, -ERR_DEAD, "rank %u cannot be reached: %s", rank, why);
}

bool group_lost(const struct be_group *g)
{
	return atomic_load(&g->board->failed) != 0;
}

bool group_left(const struct be_group *g, uint32_t rank)
{
	return atomic_load(&g->board->slots[rank].left) != 0;
}

/* True if the process of a rank, not this process, has ended: it held a lock for each of its ranks. */
static bool lock_is_gone(const struct rt_process *l, uint32_t rank)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1 };

	return fcntl(l->fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

bool rt_rank_died(const struct rt_process *l, uint32_t rank)
{
	if (l->peers[rank].node != l->node)
		return atomic_load(&l->board->slots[rank].died) != 0;
	return l->fd >= 0 && !l->peers[rank].same && atomic_load(&l->board->slots[rank].joined) && lock_is_gone(l, rank);
}

/* Returns a rank of the group in another process that has died, or -1. Such a rank has joined and not left, but its lock is
 * released. A process holds its locks until it has left the group of all ranks and all subgroups. */
static int64_t find_dead(const struct be_group *g)
{
	const struct rt_slot *slots = g->board->slots;

	for (uint32_t r = 0; r < g->size; r++) {
		/* A rank that leaves sets left first, and releases its lock later. So left is read again after the lock. */
		if (!atomic_load(&slots[r].left) && rt_rank_died(g->process, rt_root_rank(g, r)) &&
		    !atomic_load(&slots[r].left))
			return r;
	}
	return -1;
}

/* Checks for lost ranks, at most every 50 ms. awaits: also for ranks that have left without writing their record of this round. */
static int check_lost(struct be_group *g, bool awaits)
{
	uint64_t now = clock_now_ns();
	int64_t rank;
	int err = report_lost(g);

	if (err || now - atomic_load(&g->checked) < CHECK_NS)
		return err;
	atomic_store(&g->checked, now);
	/* A rank that has left comes first, because others may have ended as a consequence. */
	rank = awaits ? rt_board_missing(g->board, g->seq) : -1;
	if (rank >= 0)
		return rt_error(g->ctx, -ERR_DEAD, "rank %u has left the group", (unsigned)rank);
	rank = awaits ? rt_stock_ahead(g) : -1;
	if (rank >= 0) {
		mark_failed(g, g->rank, (uint32_t)rank); /* its request must not wait for one of this rank */
		return rt_error(g->ctx, -ERR_MISMATCH, "rank %u binds what it has bound before, rank %u does not", (unsigned)rank,
				g->rank);
	}
	/* Skips ranks of this process, as its threads die together. */
	rank = find_dead(g);
	return rank >= 0 ? group_died(g, (uint32_t)rank) : 0;
}

int group_check(struct be_group *g)
{
	return check_lost(g, false);
}

/* ---- exchanges ---- */

static int check_group(void *arg)
{
	return check_lost(arg, true);
}

int group_post(struct be_group *g, const void *in, size_t size)
{
	int err = report_lost(g);

	if (err)
		return err;
	rt_board_here(g->board, g->rank);
	rt_board_post(g->board, g->rank, rt_seq(++g->seq, g->step), in, size);
	rt_bridge_ring(g->process);
	return 0;
}

/* Checks that all ranks are in the same collective call. Their records stay until this rank writes its next one. */
static int compare_steps(struct be_group *g)
{
	for (uint32_t r = 0; r < g->size; r++) {
		const enum rt_step step = rt_step_of(atomic_load(&g->board->slots[r].record[g->seq & 1].seq));

		if (step != g->step && step < RT_STEPS)
			return rt_error(g->ctx, -ERR_MISMATCH, "rank %u calls %s, but rank %u calls %s", g->rank,
					rt_step_names[g->step], r, rt_step_names[step]);
	}
	return 0;
}

int group_collect(struct be_group *g, size_t size, void *out)
{
	int err = rt_board_collect(g->board, g->seq, size, out, g->spins, check_group, g);

	return err ? err : compare_steps(g);
}

int group_allgather(struct be_group *g, const void *in, size_t size, void *out)
{
	int err = group_post(g, in, size);

	return err ? err : group_collect(g, size, out);
}

bool rt_group_rooms(struct be_group *g)
{
	g->row = RT_SETTLED;
	g->gathered = mem_calloc(g->size, GROUP_RECORD + RT_SETTLED * sizeof *g->reach + RT_STOCKS * sizeof *g->stocks->next);
	if (!g->gathered)
		return false;
	g->reach = (uint64_t *)(void *)(g->gathered + (size_t)g->size * GROUP_RECORD);
	for (uint32_t i = 0; i < RT_STOCKS; i++)
		g->stocks[i].next = (struct rt_offer *)(void *)(g->reach + (size_t)RT_SETTLED * g->size) + (size_t)i * g->size;
	return true;
}

void *group_room(struct be_group *g)
{
	return g->gathered;
}

struct opinion {
	int err;
	char text[GROUP_RECORD - sizeof(int)];
};

int group_agree(struct be_group *g, int err)
{
	struct opinion mine = { .err = err }, *all = (struct opinion *)(void *)g->gathered;
	int rc;

	if (err)
		MPIX_Sched_error_detail(g->ctx, mine.text, sizeof mine.text);
	rc = group_allgather(g, &mine, sizeof mine, all);
	for (uint32_t r = 0; r < g->size && !rc; r++)
		if (all[r].err)
			rc = rt_error(g->ctx, all[r].err, "rank %u: %s", r, all[r].text);
	return rc;
}

/* ---- memory and peers ---- */

void *group_alloc(struct be_group *g, size_t size, uint64_t *off)
{
	return rt_heap_alloc(g->ctx->heap, size, off);
}

void *group_alloc_raw(struct be_group *g, size_t size, uint64_t *off)
{
	return rt_heap_alloc_scratch(g->ctx->heap, size, off);
}

void group_free(struct be_group *g, void *block)
{
	if (block)
		rt_heap_free(g->ctx->heap, block);
}

size_t group_block_bytes(struct be_group *g, const void *block)
{
	return block ? rt_heap_bytes(g->ctx->heap, block) : 0;
}

void group_free_later(struct be_group *g, void *first, void *second, _Atomic uint32_t *users)
{
	pthread_mutex_lock(&g->ctx->lock);
	/* If this runs out of memory, the blocks stay until the context is freed. */
	(void)VEC_PUSH(&g->ctx->zombies, (struct rt_zombie){ { first, second }, users });
	pthread_mutex_unlock(&g->ctx->lock);
	rt_ctx_reap(g->ctx);
}

static void map_more(struct rt_peer *p, uint64_t end)
{
	struct stat st;
	char *base;

	if (fstat(p->fd, &st) || end > (uint64_t)st.st_size)
		return;
	base = rt_heap_map(p->fd, (size_t)st.st_size);
	if (!base)
		return;
	if (VEC_PUSH(&p->maps, (struct rt_map){ base, (size_t)st.st_size })) {
		munmap(base, (size_t)st.st_size);
		return;
	}
	atomic_store_explicit(&p->base, base, memory_order_relaxed);
	atomic_store_explicit(&p->reach, (size_t)st.st_size, memory_order_release);
}

static bool peer_reaches(struct rt_peer *p, uint64_t end)
{
	return end <= atomic_load_explicit(&p->reach, memory_order_acquire);
}

void *rt_reach(struct rt_process *l, uint32_t rank, uint64_t off, size_t len)
{
	struct rt_peer *p = &l->peers[rank];

	if (p->same)
		return p->heap->base + off;
	if (off > SIZE_MAX / 2 || len > SIZE_MAX / 2)
		return NULL;
	if (!peer_reaches(p, off + len)) {
		pthread_mutex_lock(&l->lock);
		if (!peer_reaches(p, off + len))
			map_more(p, off + len);
		pthread_mutex_unlock(&l->lock);
	}
	return peer_reaches(p, off + len) ? atomic_load_explicit(&p->base, memory_order_relaxed) + off : NULL;
}

void *group_peer(struct be_group *g, uint32_t rank, uint64_t off, size_t len)
{
	return rt_reach(g->process, rt_root_rank(g, rank), off, len);
}

int group_heap(struct be_group *g, char **base)
{
	*base = g->ctx->heap->base;
	return g->ctx->heap->fd;
}

struct rt_door *rt_door_of(struct rt_process *l, uint32_t rank)
{
	return rt_reach(l, rank, 0, sizeof(struct rt_door));
}

/* Returns the lowest of the ranks that share the communication core of `rank`, a rank of this node; UINT32_MAX if `rank` has
 * none. */
static uint32_t core_slot(const struct rt_process *l, uint32_t rank)
{
	const struct rt_comm *comm = l->comm;

	return comm && comm->progress == RT_THREAD ? comm->drivers[comm->driver_of[rank]].slot : UINT32_MAX;
}

const struct be_bells *group_bells(struct be_group *g, uint32_t rank)
{
	struct rt_peer *p = peer_of(g, rank);
	const uint32_t core = core_slot(g->process, rt_root_rank(g, rank));
	struct rt_door *door, *cores = NULL;

	if (atomic_load_explicit(&p->rings, memory_order_acquire))
		return &p->bells;
	door = rt_door_of(g->process, rt_root_rank(g, rank));
	if (core != UINT32_MAX)
		cores = rt_door_of(g->process, core);
	if (!door || (core != UINT32_MAX && !cores))
		return NULL;
	pthread_mutex_lock(&g->process->lock);
	if (!atomic_load(&p->rings))
		p->bells = (struct be_bells){ { &door->bell[0], cores ? &cores->bell[1] : NULL },
					      p->same ? p->heap->event : p->event,
					      door->asks || (cores && cores->asks) || !g->process->ordered };
	atomic_store_explicit(&p->rings, true, memory_order_release);
	pthread_mutex_unlock(&g->process->lock);
	return &p->bells;
}

bool group_same_node(struct be_group *g, uint32_t rank)
{
	return peer_of(g, rank)->node == g->process->node;
}

/* Returns the bytes of the caches of the last level that the ranks of this node have, or UINT64_MAX. */
static uint64_t node_caches(const struct rt_process *l)
{
	struct rt_cpus all = { 0 };
	uint64_t bytes;

	for (uint32_t i = 0; i < l->nnode_ranks; i++)
		rt_cpus_add(&all, &l->peers[l->node_ranks[i]].cpus);
	bytes = rt_cpus_caches(&all).bytes;
	return bytes ? bytes : UINT64_MAX;
}

uint64_t group_caches(struct be_group *g)
{
	uint64_t bytes = atomic_load_explicit(&g->process->caches, memory_order_relaxed);
	uint32_t here = 0;

	if (!bytes) {
		bytes = node_caches(g->process);
		atomic_store_explicit(&g->process->caches, bytes, memory_order_relaxed);
	}
	for (uint32_t r = 0; r < g->size; r++)
		here += group_same_node(g, r);
	return bytes == UINT64_MAX ? bytes : bytes / g->process->nnode_ranks * here;
}

bool group_same_process(struct be_group *g, uint32_t rank)
{
	return peer_of(g, rank)->same;
}

int group_pid(struct be_group *g, uint32_t rank)
{
	return peer_of(g, rank)->pid;
}

_Atomic bool *group_readable(struct be_group *g, uint32_t rank)
{
	return &peer_of(g, rank)->readable;
}

int group_direct_allowed(struct be_group *g)
{
	long v;
	int err = rt_env(g->ctx, ENV_GOAL_SHM_DIRECT, &v);

	return err ? err : (int)v;
}

void **group_state(struct be_group *g)
{
	pthread_mutex_lock(&g->ctx->state_lock);
	return &g->ctx->be_state;
}

void group_state_done(struct be_group *g)
{
	pthread_mutex_unlock(&g->ctx->state_lock);
}

void group_watch(struct be_group *g, int fd)
{
	atomic_store(&g->ctx->watched, fd);
}

int group_error(struct be_group *g, int err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return rt_error(g->ctx, err, "%s", text);
}
