/* SPDX-License-Identifier: BSD-3-Clause
 * Chunks are stored into their slots through the caches, or past them if that is faster by far: a core that is far away keeps the lines
 * that its rank has read, and each store has to get them. Nobody knows where the cores of a virtual machine are, so the sender now and
 * then stores a chunk either way, and measures. The receiver need not know. */
#include "backends/services.h"
#include "backends/shm/copy.h"
#include "backends/shm/move.h"
#include "util/clock.h"

enum sm_fill_way sm_fill_way(const struct sm_bound *s, const struct sm_msg *m, uint64_t n)
{
	const uint64_t at = sm_tries_fill(s, m) ? m->now->moved : (n - SM_FILL_FIRST) % SM_FILLS;

	return at == 0 ? SM_FILL_CACHES : at == 1 ? SM_FILL_PAST : SM_FILL_AS_CHOSEN;
}

void sm_note_fill(struct sm_fill *f, enum sm_fill_way way, bool sure, uint64_t ns, size_t bytes)
{
	const uint64_t took = 1024 * ns / bytes;
	bool past;

	if (way == SM_FILL_CACHES) {
		f->took = (uint32_t)took;
		return;
	}
	/* A near core costs stores up to twice as long as memory does, and yet the bytes are better in the caches, where the receiver gets
	 * them sooner. A core that is far away costs them 2.5 to 13 times as long (an EPYC), but less if earlier ones went past the caches. */
	past = f->past ? f->took > took : 2 * (uint64_t)f->took > 5 * took;
	/* One of two times may be that of a disturbance. */
	if (f->doubts || (past && sure))
		f->past = past;
	f->doubts = past != f->past;
}

void sm_fill(struct sm_fill *f, enum sm_fill_way way, bool sure, char *to, const char *from, size_t bytes)
{
	uint64_t since;

	if (way == SM_FILL_AS_CHOSEN) {
		copy_long(to, from, bytes, f->past);
		return;
	}
	atomic_thread_fence(memory_order_seq_cst); /* earlier stores and these have left the core */
	since = clock_now_ns();
	copy_long(to, from, bytes, way == SM_FILL_PAST);
	atomic_thread_fence(memory_order_seq_cst);
	sm_note_fill(f, way, sure, clock_now_ns() - since, bytes);
}

void sm_fill_slot(const struct sm_bound *s, struct sm_msg *m, uint64_t n, uint64_t skip, size_t bytes)
{
	const enum sm_fill_way way = sm_fill_way(s, m, n);
	char *slot = m->ring + n % m->slots * sm_slot_bytes(m->bytes, m->chunk);
	/* slots that are new, as in the first of all trials, say nothing, and a trial of the message cannot wait */
	const bool sure = n < 2 * SM_FILLS || sm_tries_fill(s, m);

	if (m->mine)
		sm_fill(&m->fill, way, sure, slot, m->mine + skip, bytes);
	else
		sm_pack(s, m, skip, bytes, slot);
}
