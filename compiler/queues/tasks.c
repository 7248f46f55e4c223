/* SPDX-License-Identifier: BSD-3-Clause
 * Tasks of lower-smcq, and sets of them. */
#include "compiler/queues/tasks.h"

#include "util/mem.h"

#include <string.h>

int smcq_add(struct smcq_set *s, uint32_t x)
{
	size_t i = s->n;

	while (i && s->at[i - 1] >= x)
		if (s->at[--i] == x)
			return 0;
	if (VEC_RESERVE(s, s->n + 1))
		return -ERR_NOMEM;
	memmove(s->at + i + 1, s->at + i, (s->n - i) * sizeof *s->at);
	s->at[i] = x;
	s->n++;
	return 0;
}

int64_t smcq_task(struct smcq_tasks *t, uint32_t from, uint32_t to, uint64_t key)
{
	struct smcq_task task = { .key = key,
				  .from = from,
				  .to = to,
				  .entry = { .kind = BIN_E_PIGGYBACK,
					     .flags = BIN_E_STRONG,
					     .peer = to,
					     .queue = BIN_NONE,
					     .op = BIN_NONE,
					     .at = BIN_NONE },
				  .nic = SMCQ_ANY,
				  .block = BIN_NONE };

	if (t->v.n >= BIN_MAX_OPS)
		return -ERR_NOMEM;
	return VEC_PUSH(&t->v, task) ? -ERR_NOMEM : (int64_t)t->v.n - 1;
}
