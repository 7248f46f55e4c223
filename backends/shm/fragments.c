/* SPDX-License-Identifier: BSD-3-Clause
 * Large copies in fragments. The thread that makes progress for a rank puts a copy into the rank's queue and takes
 * fragments from it; the rank's own thread does so too once it waits. Also: what of a peer's memory this process reaches. */
#include "backends/shm/copy.h"
#include "backends/common/dispatch_trace.h"
#include "backends/shm/sm.h"
#include "backends/services.h"
#include "util/clock.h"

#include <string.h>
#include <sys/uio.h>

enum { BY_DRIVER, BY_JOINER };

static void count_copied(struct sm_bound *s, int by, uint64_t bytes)
{
	if (bytes)
		atomic_fetch_add_explicit(&s->head->turn.copied[by], bytes, memory_order_relaxed);
}

int sm_copy_parts(struct sm_bound *s, struct sm_moved *now, uint32_t op, const struct sm_location *location, char *to,
		  const char *from, uint64_t bytes)
{
	const struct copyq_what what = { op, location ? location->address : 0, location ? location->heap : 0 };
	struct copyq_part p;
	uint64_t copied = 0;

	if (!now->queued) {
		if (!copyq_put(s->queue, &what, bytes, s->sh->fragment))
			return 0;
		now->queued = true;
		be_ring(s->bells); /* the rank may be asleep */
	}
	while (copyq_peek(s->queue, &p))
		if (copyq_take(s->queue, &p)) {
			copy_long(to + p.off, from + p.off, p.len, s->sh->past);
			copied += p.len;
			copyq_done(s->queue);
		}
	count_copied(s, BY_DRIVER, copied);
	if (!copyq_complete(s->queue))
		return 0;
	now->queued = false;
	return 1;
}

char *sm_find(const struct sm_bound *s, const struct sm_msg *m, const struct sm_location *p, bool *fails)
{
	char *at = NULL;

	if (m->same)
		return (char *)(uintptr_t)p->address;
	if (p->heap)
		at = group_peer(s->b.group, m->peer, p->heap - 1, m->bytes);
	*fails = p->heap && !at;
	return at;
}

bool sm_can_read(const struct sm_bound *s, uint32_t peer)
{
	const struct sm_head *h = s->peers[peer];
	_Atomic bool *before = group_readable(s->b.group, peer);
	uint64_t token = 0;
	struct iovec local = { &token, sizeof token };
	struct iovec remote = { (void *)(uintptr_t)(h->address + offsetof(struct sm_head, token)), sizeof token };

	if (!h->allowed || !s->head->allowed)
		return false;
	if (group_same_process(s->b.group, peer) || atomic_load_explicit(before, memory_order_relaxed))
		return true;
	if (process_vm_readv(group_pid(s->b.group, peer), &local, 1, &remote, 1, 0) != sizeof token || token != h->token)
		return false;
	atomic_store_explicit(before, true, memory_order_relaxed);
	return true;
}

/* Destination and source of a copy. */
struct ends {
	char *to;
	const char *from;
};

/* Returns the addresses in this process of a queued copy. An address is NULL if it cannot be found. */
static struct ends find_ends(const struct sm_bound *s, const struct copyq_what *what)
{
	const struct sm_location location = { what->address, what->heap };
	const struct bin_op *o = &s->b.ops[what->op];
	const struct sm_msg *m = &s->msgs[what->op];
	const size_t basic = s->b.layout->basic;
	bool fails = false;

	if (bin_is_message(o->kind))
		return (struct ends){ m->mine, sm_find(s, m, &location, &fails) };
	return (struct ends){ s->b.buffers[o->buf[1]].ptr + o->off[1] * basic,
			      s->b.buffers[o->buf[0]].ptr + o->off[0] * basic };
}

void sm_join(struct be_bound *bound)
{
	struct sm_bound *s = (struct sm_bound *)bound;
	struct ends ends = { NULL, NULL };
	struct copyq_what known;
	struct copyq_part p;
	uint64_t copied = 0, begin = 0;
	bool last = false;

	if (!s->queue)
		return;
	while (copyq_peek(s->queue, &p)) {
		if (s->trace && !begin)
			begin = clock_now_ns();
		if (!ends.to || memcmp(&p.what, &known, sizeof known) != 0)
			ends = find_ends(s, &p.what);
		known = p.what;
		if (!ends.to || !ends.from)
			break;
		if (copyq_take(s->queue, &p)) {
			copy_long(ends.to + p.off, ends.from + p.off, p.len, s->sh->past);
			copied += p.len;
			last = copyq_done(s->queue);
		}
	}
	count_copied(s, BY_JOINER, copied);
	if (s->trace && copied) /* if there were several copies, the last one stands for all */
		dispatch_trace_joined(s->trace, known.op, begin);
	if (last)
		be_ring(s->bells); /* the thread that has put the copy in may be asleep */
}
