/* SPDX-License-Identifier: BSD-3-Clause
 * Views, through which a process makes progress on another rank's request. In the rank's own process a view uses the
 * rank's struct sm_bound. In another process the view builds its own struct sm_bound from what lies in the rank's
 * block. */
#include "backends/common/dispatch_trace.h"
#include "backends/shm/sm.h"
#include "backends/services.h"
#include "util/err.h"
#include "util/mem.h"

#include <stdlib.h>

/* ---- in the rank's process ---- */

struct alias {
	struct be_bound base;
	struct sm_bound *of; /* the rank's struct sm_bound; valid while the request is active */
	struct sm_head *head;
};

static int alias_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct be_bound *of = &((struct alias *)bound)->of->base;
	const uint64_t before = of->moved;
	int rc = of->ops->progress(of, who & ~(unsigned)BE_APP, spins);

	bound->moved += of->moved - before;
	of->moved = before;
	return rc;
}

static uint64_t alias_alarm(const struct be_bound *bound)
{
	const struct be_bound *of = &((const struct alias *)bound)->of->base;

	return of->ops->alarm(of);
}

static void alias_unbind(struct be_bound *bound)
{
	if (!bound)
		return;
	atomic_fetch_sub(&((struct alias *)bound)->head->users, 1);
	free(bound);
}

static void alias_memory(const struct be_bound *bound, struct be_memory *m)
{
	m->private += mem_bytes(bound);
}

static const struct be_ops alias_ops = {
	.name = "shm",
	.memory = alias_memory,
	.progress = alias_progress,
	.alarm = alias_alarm,
	.unbind = alias_unbind,
};

static struct be_bound *make_alias(struct sm_head *head)
{
	struct alias *a = mem_alloc(sizeof *a);

	if (!a)
		return NULL;
	*a = (struct alias){ .base = { .ops = &alias_ops, .turn = &head->turn },
			     .of = (struct sm_bound *)(uintptr_t)head->own,
			     .head = head };
	return &a->base;
}

/* ---- in another process ---- */

static struct sm_bound *to_sm(struct be_bound *b)
{
	return (struct sm_bound *)b;
}

/* Finds the rank's buffers in this process. Buffers in private memory get no pointer, because no op of this view uses
 * them. */
static bool find_buffers(struct sm_bound *s)
{
	const struct sm_buffer *shared = sm_at(s, s->sh->buffers);
	struct be_buffer *mine = (struct be_buffer *)(uintptr_t)s->b.buffers;

	for (uint32_t i = 0; i < s->sh->nbuffers; i++) {
		mine[i] = (struct be_buffer){ .elements = shared[i].elements };
		if (!shared[i].heap)
			continue;
		mine[i].heap = true;
		mine[i].heap_off = shared[i].heap - 1;
		mine[i].ptr = group_peer(s->b.group, s->b.rank, mine[i].heap_off, shared[i].elements * s->b.layout->basic);
		if (!mine[i].ptr)
			return false;
	}
	for (uint32_t i = 0; i < s->b.nops; i++)
		if (bin_is_message(s->b.ops[i].kind))
			sm_settle(s, i, mine);
	s->generation = s->sh->generation;
	return true;
}

static int view_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct sm_bound *s = to_sm(bound);

	(void)spins;
	sm_set_epoch(s, s->sh->epoch);
	if (s->generation != s->sh->generation && !find_buffers(s))
		return 0; /* leaves the request to processes that can map the heap */
	return dispatch_progress(&s->dispatcher, who & BE_ANY);
}

static void view_unbind(struct be_bound *bound)
{
	struct sm_bound *s = to_sm(bound);

	if (!s)
		return;
	atomic_fetch_sub(&s->head->users, 1);
	free(s->trace);
	free(s);
}

static const struct be_ops view_ops = {
	.name = "shm",
	.memory = sm_memory,
	.progress = view_progress,
	.alarm = sm_alarm,
	.unbind = view_unbind,
};

/* Finds the peers' ends of the rank's messages, from the positions that the rank has recorded. */
static bool find_links(struct sm_bound *s)
{
	struct be_group *g = s->b.group;

	for (uint32_t i = 0; i < s->head->ndescs; i++) {
		const struct sm_desc *e = &s->head->descs[i];
		const struct sm_partner *to = &sm_partners(s)[i];

		if (!s->peers[e->peer])
			s->peers[e->peer] = (void *)group_peer(g, e->peer, to->handle.off, to->handle.size);
		if (!s->peers[e->peer] || !group_bells(g, e->peer))
			return false;
		s->msgs[e->op].other = &s->peers[e->peer]->descs[to->desc];
		sm_connect_message(s, e);
	}
	s->bells = group_bells(g, s->b.rank);
	return s->bells && sm_reach_rings(s);
}

static struct be_bound *make_view(const struct be_bind *like, struct sm_head *head)
{
	struct sm_shared *sh = (struct sm_shared *)(void *)((char *)head + head->shared);
	const size_t nops = sh->nops, size = like->size;
	struct sm_bound *s = mem_calloc(1, sizeof *s + SM_LINE + nops * sizeof *s->msgs +
						   size * (sizeof *s->peers + sizeof *s->known) +
						   dispatch_own_room(sh->nops) + sh->nbuffers * sizeof *s->b.buffers);

	if (!s)
		return NULL;
	s->base = (struct be_bound){ .ops = &view_ops, .turn = &head->turn };
	s->view = true;
	s->head = head;
	s->msgs = (struct sm_msg *)align_up((uintptr_t)(s + 1), SM_LINE);
	s->known = (uint64_t *)(void *)(s->msgs + nops);
	s->peers = (struct sm_head **)(void *)(s->known + size);
	s->own = s->peers + size;
	sm_share(s, sh);
	s->b = *like;
	s->b.ops = sm_at(s, sh->ops);
	s->b.nops = sh->nops;
	s->b.buffers = (struct be_buffer *)(void *)((char *)s->own + dispatch_own_room(sh->nops));
	dispatch_view(&s->dispatcher, sh->nops, sm_at(s, sh->dispatcher), s->own, &s->base);
	sm_set_how(s);
	if (!find_links(s) || dispatch_trace_make(&s->trace, &s->b, &s->epoch)) {
		free(s);
		return NULL;
	}
	dispatch_trace(&s->dispatcher, s->trace);
	return &s->base;
}

int sm_adopt(const struct be_bind *like, const struct be_handle *handle, struct be_bound **out)
{
	struct sm_head *head = (void *)group_peer(like->group, like->rank, handle->off, handle->size);

	if (!head)
		return group_error(like->group, -ERR_SYS, "the heap of rank %u cannot be mapped", like->rank);
	if (group_same_process(like->group, like->rank))
		*out = make_alias(head);
	else
		*out = make_view(like, head);
	if (*out)
		return 0;
	atomic_fetch_sub(&head->users, 1); /* the rank has counted this view among its users */
	return group_error(like->group, -ERR_NOMEM, "no view of rank %u", like->rank);
}
