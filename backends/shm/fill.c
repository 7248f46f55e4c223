/* SPDX-License-Identifier: BSD-3-Clause
 * What a sender stores for the receiver, chunks in slots or a message by pull in the receiver's buffer, goes through the caches, or past
 * them if that is faster by far: a core that is far away keeps the lines that its rank has read, and each store has to get them. Nobody
 * knows where the cores of a virtual machine are, so the sender now and then stores some bytes either way, and measures. The receiver need
 * not know. */
#include "backends/services.h"
#include "backends/shm/copy.h"
#include "backends/shm/local_copy.h"
#include "backends/shm/move.h"
#include "util/clock.h"

/* Returns the way of a message whose ring may be narrow: a trial is at its beginning. */
static enum sm_fill_way way_of_short(const struct sm_msg *m)
{
	const uint64_t at = (m->now->staged / m->chunks - SM_NARROW_FILLS) % SM_FILLS;

	if (m->now->moved)
		return SM_FILL_AS_CHOSEN;
	return at == 0 ? SM_FILL_CACHES : at == SM_NARROW_FILLS ? SM_FILL_PAST : SM_FILL_AS_CHOSEN;
}

enum sm_fill_way sm_fill_way(const struct sm_bound *s, const struct sm_msg *m, uint64_t n)
{
	const uint64_t first = m->ring.first < m->ring.slots ? m->ring.first + SM_FILL_WAITS : SM_FILL_FIRST;
	const uint64_t at = sm_tries_fill(s, m) ? m->now->moved : (n - first) % SM_FILLS;

	if (m->chunk < SM_CHUNK_SHORT)
		return way_of_short(m);
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

/* Stores bytes in such a way, and notes how long a trial takes. */
static void store(struct sm_fill *f, enum sm_fill_way way, bool sure, char *to, const char *from, size_t bytes)
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

void sm_fill_slot(const struct sm_bound *s, struct sm_msg *m, uint64_t n, uint64_t skip, size_t bytes, char *slot)
{
	const enum sm_fill_way way = sm_fill_way(s, m, n);
	/* slots that are new, as in the first of all trials, say nothing, and a trial of the message cannot wait */
	const bool sure = (m->chunk < SM_CHUNK_SHORT ? s->epoch : n) < 2 * SM_FILLS || sm_tries_fill(s, m);
	char *copy = m->twin && s->sh->past ? sm_twin_takes(s, m, skip, bytes) : NULL;

	if (!m->mine) {
		sm_pack(s, m, skip, bytes, slot);
	} else if (copy && way == SM_FILL_AS_CHOSEN) {
		copy_twice(slot, m->fill.past, copy, m->mine + skip, bytes);
	} else {
		store(&m->fill, way, sure, slot, m->mine + skip, bytes);
		if (copy)
			copy_past(copy, m->mine + skip, bytes);
	}
}

/* Bytes of a message, of all epochs, after which there is a trial: at first, and later; and up to how many bytes and epochs it is at
 * first */
#define TRIED_FIRST ((uint64_t)512 << 10)
#define TRIED_LATER ((uint64_t)4 << 20)
#define FIRST_ENDS ((uint64_t)2 << 20)
#define FIRST_EPOCHS 3u

static bool is_early(const struct sm_bound *s, const struct sm_msg *m)
{
	return s->epoch <= FIRST_EPOCHS || s->epoch * m->bytes < FIRST_ENDS;
}

bool sm_tries_peer(const struct sm_bound *s, const struct sm_msg *m)
{
	const uint64_t end = s->epoch * m->bytes, each = is_early(s, m) ? TRIED_FIRST : TRIED_LATER;

	return end / each != (end - m->bytes) / each;
}

/* Returns how many bytes are stored in the same way from offset `at` of a message on, and sets *way. A trial is of the last bytes: the
 * receiver has read them last, and so may have them in its caches still, as it has most of what is stored. */
static uint64_t run_at(const struct sm_bound *s, const struct sm_msg *m, uint64_t at, enum sm_fill_way *way)
{
	const uint64_t end = m->bytes / (2 * SM_FILL_TRIED) * (2 * SM_FILL_TRIED), past = end - SM_FILL_TRIED, caches = past - SM_FILL_TRIED;

	*way = SM_FILL_AS_CHOSEN;
	if (at >= end || !sm_tries_peer(s, m))
		return UINT64_MAX;
	if (at < caches)
		return caches - at;
	*way = at < past ? SM_FILL_CACHES : SM_FILL_PAST;
	return at < past ? past - at : end - at;
}

void sm_fill_peer(const struct sm_bound *s, struct sm_msg *m, uint64_t at, const char *from, size_t bytes)
{
	/* Memory that is new, as in the first epoch, says nothing. The first trials after that have to do. */
	const bool sure = s->epoch > 1 && is_early(s, m);
	enum sm_fill_way way;

	if (s->sh->past) {
		copy_past(m->at + at, from, bytes);
		return;
	}
	for (size_t n; bytes; at += n, from += n, bytes -= n) {
		const uint64_t run = run_at(s, m, at, &way);

		n = run < bytes ? (size_t)run : bytes;
		store(&m->fill, way, sure, m->at + at, from, n);
	}
}
