/* SPDX-License-Identifier: BSD-3-Clause
 * The bootstrap: how a group is made. Each rank sends a hello through the caller's allgather. Then one rank of each process
 * (its lead) connects to a socket of the lowest rank of its node (the head). Over the sockets they exchange file
 * descriptors: of the board, and of all heaps. From then on the ranks exchange records on the board. With several nodes
 * each node has a board, and bridge.c keeps them alike. A lead holds a lock on the board's file for each rank of its
 * process. The kernel releases the locks when the process ends, however it ends; that is how the others notice. */
#include "backends/services.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/heap/bell.h"
#include "runtime/wait.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Record that each rank sends to all others at the end of a step of the bootstrap. */
struct rt_ready {
	int err;
	bool caused; /* err was caused by another rank's failure, whose own record says more */
	uint64_t process; /* address of the struct rt_process that a lead has made for all ranks of its process */
	char text[GROUP_RECORD - 24];
};
_Static_assert(sizeof(struct rt_ready) <= GROUP_RECORD, "goalrun's exchange carries it");

/* Finds out which ranks are on which node, and which are on this one. */
static int find_nodes(struct rt_bootstrap *m)
{
	struct rt_process *l = m->process;

	l->node_ranks = mem_alloc(m->size * sizeof *l->node_ranks);
	if (!l->node_ranks)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < m->size; r++) {
		const uint32_t first = rt_boot_head_of(m, r);

		l->peers[r].node = first == r ? l->nnodes++ : l->peers[first].node;
		l->peers[r].cpus = m->all[r].config.cpus;
		if (rt_boot_same_node(m, r))
			l->node_ranks[l->nnode_ranks++] = r;
	}
	l->node = l->peers[m->rank].node;
	return 0;
}

static int build_bridge(struct rt_bootstrap *m)
{
	struct rt_bridge_plan plan = { .cards = m->cards, .listener = m->port, .bell = m->bell, .first = m->rank == m->head };
	struct rt_process *l = m->process;

	if (plan.first) {
		l->board->home = l->node;
		for (uint32_t r = 0; r < m->size; r++)
			l->board->slots[r].home = l->peers[r].node;
	}
	memcpy(plan.secret, m->all[0].cookie, sizeof plan.secret);
	m->port = m->bell = -1;
	return rt_bridge_open(m->ctx, l, &plan);
}

static int make_comm(struct rt_bootstrap *m)
{
	struct rt_process *l = m->process;
	struct rt_comm_config *all = mem_alloc(l->nnode_ranks * sizeof *all);
	int err = all ? 0 : rt_fail(m->ctx, -ERR_NOMEM);

	for (uint32_t i = 0; i < l->nnode_ranks && !err; i++)
		all[i] = m->all[l->node_ranks[i]].config;
	err = err ? err : rt_comm_make(m->ctx, l, m->lead, all);
	free(all);
	return err;
}

static int new_process(struct rt_bootstrap *m)
{
	struct rt_process *l = mem_calloc(1, sizeof *l);

	m->process = l;
	if (!l)
		return rt_fail(m->ctx, -ERR_NOMEM);
	pthread_mutex_init(&l->lock, NULL);
	atomic_init(&l->refs, rt_boot_ranks_of(m, m->rank));
	l->size = m->size;
	l->networked = m->networked;
	l->pid = getpid();
	l->ordered = rt_bell_register();
	l->fd = l->bell = -1;
	l->peers = mem_calloc(m->size, sizeof *l->peers);
	for (uint32_t r = 0; l->peers && r < m->size; r++)
		l->peers[r].fd = l->peers[r].event = -1;
	if (!l->peers || find_nodes(m))
		return rt_fail(m->ctx, -ERR_NOMEM);
	for (uint32_t r = 0; r < m->size; r++) {
		struct rt_peer *p = &l->peers[r];

		p->pid = (int)m->all[r].pid;
		p->lead = rt_boot_lead_of(m, r);
		p->same = rt_boot_same_process(&m->all[r], &m->all[m->rank]);
		if (p->same) {
			p->heap = (struct rt_heap *)(uintptr_t)m->all[r].heap;
			atomic_fetch_add(&p->heap->refs, 1);
		}
	}
	return 0;
}

/* Makes the board of a node with one process. */
static int private_board(struct rt_bootstrap *m)
{
	void *p = mmap(NULL, rt_board_size(m->size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return rt_sys_error(m->ctx, "mmap");
	m->process->board = p;
	return 0;
}

/* On a lead: makes its struct rt_process, and connects it with the other processes of the node. */
static int make_process(struct rt_bootstrap *m)
{
	bool alone = true;
	int err = new_process(m);

	for (uint32_t r = 0; r < m->size; r++)
		alone &= !rt_boot_same_node(m, r) || rt_boot_same_process(&m->all[r], &m->all[m->rank]);
	m->until = clock_now_ns() + (uint64_t)RT_BOOTSTRAP_MS * 1000000u;
	if (alone) {
		err = err ? err : private_board(m);
	} else {
		err = m->rank == m->head ? rt_boot_serve_node(m, err) : rt_boot_join_head(m, err);
		err = err ? err : rt_boot_map_board(m);
	}
	if (!err && m->rank == m->head)
		m->process->board->size = m->size;
	return err ? err : make_comm(m);
}

/* On a lead: gives up the group. Sets `left` before it releases the locks, because the other ranks would take the release
 * for a death. */
static void drop_process(struct rt_bootstrap *m)
{
	struct rt_process *l = m->process;

	for (uint32_t r = 0; l && l->board && r < l->size; r++)
		if (l->peers[r].same) {
			atomic_store(&l->board->slots[r].closed, 1);
			atomic_store(&l->board->slots[r].left, 1);
		}
	rt_process_free(l);
}

/* Makes a socket of this rank for the processes of its node. The kernel chooses an abstract name, so that nothing stays in
 * the file system. */
static int make_listener(struct rt_bootstrap *m, char name[12], uint32_t *name_len)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof a;

	m->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->listener < 0 || bind(m->listener, (struct sockaddr *)&a, sizeof(sa_family_t)) ||
	    listen(m->listener, (int)m->size) || getsockname(m->listener, (struct sockaddr *)&a, &len))
		return rt_sys_error(m->ctx, "socket");
	*name_len = len - (socklen_t)sizeof(sa_family_t);
	if (*name_len > sizeof m->all[0].name)
		return rt_error(m->ctx, -ERR_SYS, "socket: its name is too long");
	memcpy(name, a.sun_path, *name_len);
	return 0;
}

static int say_hello(struct rt_bootstrap *m, struct rt_hello *h)
{
	const void *random = (const void *)getauxval(AT_RANDOM); // NOLINT(performance-no-int-to-ptr)
	int err;

	*h = (struct rt_hello){ .rank = (int)m->rank, .node = rt_node_id(), .pid = (uint64_t)getpid(), .autogroup = rt_autogroup(),
			     .heap_fd = m->ctx->heap->fd, .event = m->ctx->heap->event };
	h->heap = (uint64_t)(uintptr_t)m->ctx->heap;
	pthread_mutex_lock(&m->ctx->lock);
	h->number = ++m->ctx->number;
	pthread_mutex_unlock(&m->ctx->lock);
	if (random)
		memcpy(h->process, random, sizeof h->process);
	err = rt_comm_ask(m->ctx, m->rank, &h->config);
	if (err || m->size == 1)
		return err;
	if (m->rank) { /* made before the hello, so that the hello can report it if no descriptor is free */
		m->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		return m->sock < 0 ? rt_sys_error(m->ctx, "socket") : 0;
	}
	if (getrandom(h->cookie, sizeof h->cookie, 0) != sizeof h->cookie)
		return rt_sys_error(m->ctx, "getrandom");
	return make_listener(m, h->name, &h->name_len);
}

static int check_hellos(struct rt_bootstrap *m)
{
	char text[512];

	if (m->all[m->rank].err) { /* the other ranks only get the error number */
		MPIX_Sched_error_detail(m->ctx, text, sizeof text);
		return rt_error(m->ctx, m->all[m->rank].err, "rank %u: %s", m->rank, text);
	}
	for (uint32_t r = 0; r < m->size; r++) {
		if (m->all[r].err)
			return rt_error(m->ctx, m->all[r].err, "rank %u: %s", r, err_text(m->all[r].err));
		if (m->all[r].rank != (int)r)
			return rt_error(m->ctx, -ERR_ARG, "the allgather gave rank %d in place of %u",
					m->all[r].rank, r);
	}
	for (uint32_t r = 1; r < m->size; r++) {
		int err = rt_comm_compare(m->ctx, &m->all[0].config, &m->all[r].config, r);

		if (err)
			return err;
	}
	m->lead = rt_boot_lead_of(m, m->rank);
	m->head = rt_boot_head_of(m, m->rank);
	return 0;
}

static uint32_t count_nodes(const struct rt_bootstrap *m)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += rt_boot_head_of(m, r) == r;
	return n;
}

/* Fills in the card of this node, if the rank is the lowest one of the node. Other ranks do nothing. */
static int make_card(struct rt_bootstrap *m, struct rt_card *card)
{
	int err = 0;

	if (m->rank != m->head)
		return 0;
	if (m->rank) {
		err = make_listener(m, card->name, &card->name_len);
	} else {
		memcpy(card->name, m->all[0].name, sizeof card->name);
		card->name_len = m->all[0].name_len;
	}
	m->bell = err ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!err && m->bell < 0)
		err = rt_sys_error(m->ctx, "eventfd");
	return err ? err : rt_bridge_listen(m->ctx, card, count_nodes(m), &m->port);
}

/* Handles a failure of the caller's allgather. If a rank died, stores that error, and marks the board for ranks that have
 * passed this step already. */
static int report_dead_rank(struct rt_bootstrap *m)
{
	const int64_t rank = rt_boot_find_dying(m);
	uint64_t none = 0;

	if (rank < 0)
		return rt_error(m->ctx, -ERR_SYS, "the caller's allgather failed");
	if (m->process && m->process->board)
		atomic_compare_exchange_strong(&m->process->board->failed, &none, rt_failure((uint32_t)rank, RT_NOBODY));
	return rt_boot_report_dead(m, rank);
}

/* Returns the kind of network by which this rank may send to other nodes, or 0. A rank without an eventfd could not sleep until
 * the network wakes it. */
static uint64_t find_network(const struct rt_bootstrap *m)
{
	return m->ctx->automatic && m->ctx->heap->event >= 0 ? be_networked()->ops->network(m->group) : 0;
}

/* True if all ranks have the same kind of network. */
static bool agree_on_network(const struct rt_bootstrap *m)
{
	bool same = m->cards[0].network != 0;

	for (uint32_t r = 1; r < m->size; r++)
		same &= m->cards[r].network == m->cards[0].network;
	return same;
}

/* With several nodes: exchanges their cards. All ranks return the same error; only the messages differ. */
static int exchange_cards(struct rt_bootstrap *m)
{
	struct rt_card mine = { .network = find_network(m) };
	char text[512];

	mine.err = make_card(m, &mine);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	if (m->allgather(&mine, m->cards, sizeof mine, m->arg))
		return report_dead_rank(m);
	if (mine.err)
		return rt_error(m->ctx, mine.err, "rank %u: %s", m->rank, text);
	for (uint32_t r = 0; r < m->size; r++)
		if (m->cards[r].err)
			return rt_error(m->ctx, m->cards[r].err, "rank %u: %s", r, err_text(m->cards[r].err));
	m->networked = agree_on_network(m);
	return 0;
}

/* Ends a step, in which each rank did what it could: all ranks continue, or all fail. A rank fails with its own error, or
 * else with that of the first rank whose failure no other rank caused. After a death the function returns at once, because
 * no collective call would end any more. */
static int agree(struct rt_bootstrap *m, int err)
{
	struct rt_ready mine = { .err = err, .caused = m->caused, .process = (uint64_t)(uintptr_t)m->process };
	/* The rank's own error, if no other rank caused it. */
	const struct rt_ready *worst = err && !m->caused ? &m->ready[m->rank] : NULL;
	char text[sizeof mine.text];

	if (err == -ERR_DEAD)
		return err;
	if (err)
		MPIX_Sched_error_detail(m->ctx, mine.text, sizeof mine.text);
	if (m->allgather(&mine, m->ready, sizeof mine, m->arg))
		return err && !m->caused ? err : report_dead_rank(m);
	for (uint32_t r = 0; r < m->size; r++)
		if (m->ready[r].err && (!worst || (worst->caused && !m->ready[r].caused)))
			worst = &m->ready[r];
	if (!worst)
		return 0;
	memcpy(text, worst->text, sizeof text);
	text[sizeof text - 1] = '\0';
	return rt_error(m->ctx, worst->err, "rank %u: %s", (unsigned)(worst - m->ready), text);
}

/* True if all ranks of this node are in one autogroup: those that share a core let each other run by yielding (util/patience.h). */
static bool can_yield(const struct rt_bootstrap *m)
{
	const struct rt_hello *me = &m->all[m->rank];
	bool one = true;

	for (uint32_t r = 0; r < m->size; r++)
		one &= m->all[r].node != me->node || m->all[r].autogroup == me->autogroup;
	return one;
}

/* Returns how many iterations this rank may spin. Moves the settings of this node's ranks to the front of m->all. */
static unsigned count_spins(struct rt_bootstrap *m)
{
	const uint64_t node = m->all[m->rank].node;
	uint32_t n = 0, me = 0;

	for (uint32_t r = 0; r < m->size; r++) {
		if (m->all[r].node != node)
			continue;
		if (r == m->rank)
			me = n;
		m->all[n++].config = m->all[r].config;
	}
	return rt_cpus_spins(&m->all->config.cpus, sizeof *m->all, n, me);
}

/* Allocates the arrays whose length depends on the size of the group. Returns false if out of memory. */
static bool prepare(struct rt_bootstrap *m)
{
	m->all = mem_calloc(m->size, sizeof *m->all);
	m->ready = mem_calloc(m->size, sizeof *m->ready);
	return m->all && m->ready;
}

/* Runs the bootstrap. Afterwards each lead has made m->process. */
static int meet(struct rt_bootstrap *m)
{
	struct rt_hello hello;
	int err = say_hello(m, &hello);

	hello.err = err;
	if (m->allgather(&hello, m->all, sizeof hello, m->arg))
		return rt_error(m->ctx, -ERR_SYS, "the caller's allgather failed");
	err = check_hellos(m);
	if (!err && count_nodes(m) > 1) {
		m->cards = mem_calloc(m->size, sizeof *m->cards);
		/* Without memory this rank stops, so the caller's allgather fails on the others. */
		err = m->cards ? exchange_cards(m) : -ERR_NOMEM;
	}
	if (err)
		return err;
	err = agree(m, m->lead == m->rank ? make_process(m) : 0);
	if (!err && m->cards)
		err = agree(m, m->lead == m->rank ? build_bridge(m) : 0);
	return err;
}

static void leave_bootstrap(struct rt_bootstrap *m)
{
	const int fds[] = { m->listener, m->sock, m->port, m->bell };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(m->cards);
	free(m->all);
	free(m->ready);
}

/* Gives a group its id, which depends on the program alone, for traces and seeds. It may be the n-th group of one rank's context and the
 * first one of another's: so it gets the highest number that a rank would give it, and its ranks' later groups get higher ones. */
static void number_group(const struct rt_bootstrap *m)
{
	struct mpix_sched_ctx *ctx = m->ctx;
	uint32_t highest = 0;

	for (uint32_t r = 0; r < m->size; r++)
		highest = m->all[r].number > highest ? m->all[r].number : highest;
	pthread_mutex_lock(&ctx->lock);
	if (ctx->number < highest)
		ctx->number = highest;
	pthread_mutex_unlock(&ctx->lock);
	m->group->id = rt_id(highest, m->all[0].number); /* threads that make two groups at once have given these two numbers */
}

/* Counts a group of a context, and notes how it waits. spins, yields: of the group's own ranks. The ranks of an earlier group still need the cores if only some of
 * them are in this one.
 *
 * Where ranks share cores and yield in vain, or do not try to, they sleep often, and a membarrier, which waits until other CPUs have
 * executed it, costs more than what it saves in all rings. So if the first group is such a one, ringers do without membarrier, also
 * those of later groups. They read `asks` when they bind, after this. */
static void count_group(struct be_group *g, unsigned spins, bool yields)
{
	struct mpix_sched_ctx *ctx = g->ctx;
	struct rt_heap *heap = ctx->heap;

	pthread_mutex_lock(&ctx->lock);
	ctx->ngroups++;
	if (!spins)
		heap->crowded = true;
	g->spins = heap->crowded ? 0 : spins;
	if (ctx->ngroups == 1 && heap->crowded && (!yields || ctx->policy > RT_YIELD))
		rt_heap_door(heap)->asks = true;
	pthread_mutex_unlock(&ctx->lock);
}

int MPIX_Sched_group_create(MPIX_Sched_ctx ctx, int rank, int size, MPIX_Sched_allgather_fn *allgather,
			    void *arg, MPIX_Sched_group *group)
{
	struct rt_bootstrap m = { .ctx = ctx,
			       .allgather = allgather,
			       .arg = arg,
			       .rank = (uint32_t)rank,
			       .size = (uint32_t)size,
			       .listener = -1,
			       .sock = -1,
			       .port = -1,
			       .bell = -1 };
	struct mpix_sched_group *g;
	struct rt_process *process;
	/* Without memory to gather into, this rank stops, so the caller's allgather fails on the others. */
	int err = -ERR_NOMEM;

	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	if (!group || !allgather || size < 1 || rank < 0 || rank >= size)
		return -rt_error(ctx, -ERR_ARG, "a group needs a rank within its size and an allgather");
	g = mem_calloc(1, sizeof *g);
	if (g) {
		m.group = &g->g;
		g->g.ctx = ctx;
		g->g.rank = m.rank;
		g->g.size = m.size;
		if (rt_group_rooms(&g->g) && prepare(&m))
			err = meet(&m);
	}
	if (err) {
		drop_process(&m);
		if (g)
			free(g->g.gathered);
		free(g);
	} else {
		process = (struct rt_process *)(uintptr_t)m.ready[m.lead].process;
		g->g.process = process;
		g->g.board = process->board;
		number_group(&m);
		count_group(&g->g, count_spins(&m), can_yield(&m));
		atomic_init(&g->g.refs, 1);
		rt_ctx_ref(ctx);
		g->g.tally.sleepers = &process->board->sleepers;
		rt_sleepers_join(&ctx->sleepers, &g->g.tally);
		*group = g;
	}
	leave_bootstrap(&m);
	return err == -ERR_NOMEM ? -rt_fail(ctx, err) : -err;
}
