/* SPDX-License-Identifier: BSD-3-Clause
 * What the modes of messages have in common; move.h describes the functions. */
#include "backends/shm/move.h"

#include "backends/services.h"
#include "util/err.h"

void sm_reduce_part(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes, const char *in)
{
	const struct bin_op *o = &s->b.ops[m->op];
	const size_t basic = s->b.layout->basic;
	uint64_t first = o->off[0], n = o->len;

	if (m->whole && bytes < m->bytes) {
		memcpy(m->whole + skip, in, bytes);
		if (skip + bytes < m->bytes)
			return;
		in = m->whole;
		skip = 0;
		bytes = m->bytes;
	}
	if (bytes < m->bytes) {
		first += skip / basic;
		n = bytes / basic;
	}
	s->b.reduce_packed(s->b.reduce_arg, in, m->operand ? m->operand + skip : NULL, s->b.buffers[o->buf[0]].ptr, first, n,
			   o->kind == BIN_OP_RECV_REDUCE_WITH);
}

int sm_unreachable(const struct sm_bound *s, const struct sm_msg *m)
{
	return s->view ? 0 : group_error(s->b.group, -ERR_SYS, "the heap of rank %u cannot be mapped", m->peer);
}

__attribute__((noinline, cold)) void sm_want_credit(const struct sm_bound *s, const struct sm_msg *m)
{
	_Atomic uint64_t *wanted = &s->peers[m->peer]->wanted;
	uint64_t now = atomic_load_explicit(wanted, memory_order_relaxed);

	while (now < s->epoch && !atomic_compare_exchange_weak_explicit(wanted, &now, s->epoch, memory_order_relaxed,
									memory_order_relaxed))
		;
}
