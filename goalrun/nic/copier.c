/* SPDX-License-Identifier: BSD-3-Clause
 * Copies by two threads. One takes chunks from the front, the helper takes them from the end, until none is left. So
 * the same half of a buffer tends to be in the same core's cache. A helper that does not run takes no chunks, and
 * nobody waits for it. The description of a copy is written before the ticket, and the ticket's number tells one copy
 * from the next. So a thread that has taken a chunk knows which copy it belongs to, and that copy is not over before
 * the chunk is. */
#include "goalrun/nic/copier.h"

#include "backends/backend.h"

#include <sched.h>
#include <string.h>

#define CHUNK 16384u
#define LEAST (2 * CHUNK) /* bytes; a smaller copy is not worth waking the helper */
#define SPINS 200 /* iterations before the helper sleeps, because ranks may need its core */

static uint32_t first_of(uint64_t ticket)
{
	return ticket & 0xffff;
}

static uint32_t end_of(uint64_t ticket)
{
	return ticket >> 16 & 0xffff;
}

static bool any_left(uint64_t ticket)
{
	return first_of(ticket) < end_of(ticket);
}

/* Takes the last chunk if `last` is true, else the first. Returns false if none is left. */
static bool take_ticket(struct copier *c, bool last, size_t *off)
{
	uint64_t t = atomic_load_explicit(&c->ticket, memory_order_acquire);

	while (any_left(t))
		if (atomic_compare_exchange_weak_explicit(&c->ticket, &t, last ? t - (1u << 16) : t + 1, memory_order_acq_rel,
							  memory_order_acquire)) {
			*off = (size_t)CHUNK * (last ? end_of(t) - 1 : first_of(t));
			return true;
		}
	return false;
}

static void copy_chunk(const struct copier *c, size_t off)
{
	const size_t left = c->len - off;

	memcpy(c->to + off, c->from + off, left < CHUNK ? left : CHUNK);
}

static void sleep_until_asked(struct copier *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->asleep, true);
	while (!any_left(atomic_load(&c->ticket)) && !atomic_load(&c->stop))
		pthread_cond_wait(&c->wake, &c->lock);
	atomic_store(&c->asleep, false);
	pthread_mutex_unlock(&c->lock);
}

static void *help_copy(void *arg)
{
	struct copier *c = arg;
	unsigned idle = 0;
	size_t off;

	while (!atomic_load_explicit(&c->stop, memory_order_relaxed)) {
		if (take_ticket(c, true, &off)) {
			copy_chunk(c, off);
			atomic_fetch_add_explicit(&c->copied, 1, memory_order_release);
			idle = 0;
		} else if (++idle < SPINS) {
			be_pause();
		} else {
			sleep_until_asked(c);
			idle = 0;
		}
	}
	return NULL;
}

static void wake_helper(struct copier *c)
{
	if (!atomic_load(&c->asleep))
		return;
	pthread_mutex_lock(&c->lock);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

/* Starts the helper at the first call. Returns false if there is none, for lack of a second CPU or of a thread. */
static bool has_helper(struct copier *c)
{
	cpu_set_t cpus;

	if (c->tried)
		return c->running;
	c->tried = true;
	if (sched_getaffinity(0, sizeof cpus, &cpus) || CPU_COUNT(&cpus) < 2)
		return false;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	c->running = !pthread_create(&c->helper, NULL, help_copy, c);
	if (!c->running) {
		pthread_cond_destroy(&c->wake);
		pthread_mutex_destroy(&c->lock);
	}
	return c->running;
}

void copier_move(struct copier *c, char *to, const char *from, size_t len)
{
	const bool overlap = to < from + len && from < to + len;
	const uint32_t chunks = (uint32_t)((len + CHUNK - 1) / CHUNK);
	const uint32_t before = atomic_load_explicit(&c->copied, memory_order_relaxed);
	uint32_t mine = 0;
	size_t off;

	if (len < LEAST || chunks > 0xffff || overlap || !has_helper(c)) {
		memmove(to, from, len);
		return;
	}
	c->to = to;
	c->from = from;
	c->len = len;
	atomic_store(&c->ticket, ((atomic_load(&c->ticket) >> 32) + 1) << 32 | (uint64_t)chunks << 16);
	wake_helper(c);
	for (; take_ticket(c, false, &off); mine++)
		copy_chunk(c, off);
	while (atomic_load_explicit(&c->copied, memory_order_acquire) - before != chunks - mine)
		be_pause(); /* the helper copies its last chunk */
}

void copier_fini(struct copier *c)
{
	if (!c->running)
		return;
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->stop, true);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->helper, NULL);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
}
