/* SPDX-License-Identifier: BSD-3-Clause
 * Huge pages under long buffers of the program. In pages of 4 KiB, which may be anywhere in memory, collectives of 16 MiB take up to half as
 * long again. The kernel makes a huge page of those that are there (MADV_COLLAPSE), and changes neither the bytes, nor where they are, nor
 * what the program may do with them. But that takes as long as several copies of the bytes, in a virtual machine up to twenty times as
 * long, and nobody knows how many collectives will follow. So there is a limit for the time that a context spends, a small part of its life:
 * pages are made when a buffer is bound, and what is left by and by at the ends of epochs. */
#include "runtime/huge.h"

#include "runtime/request.h"
#include "runtime/specialise.h"
#include "util/align.h"
#include "util/clock.h"
#include "util/mem.h"

#include <errno.h>

#define FIRST_NS 20000000 /* that a context may spend at once */
#define SHARE 64 /* and later one of so many nanoseconds */
#define MOST_NS 20000000 /* in one go */
#define LEAST_NS 10000000 /* at the end of an epoch */
#define APART 16u /* epochs from one that ends with pages to the next: most take no longer than without */

/* Returns the time that the context may spend now, ns; it may be negative. */
static int64_t time_left(const struct rt_huge *h)
{
	const int64_t age = (int64_t)(clock_now_ns() - h->since);

	return FIRST_NS + age / SHARE - (int64_t)atomic_load_explicit(&h->spent, memory_order_relaxed);
}

/* Returns the first huge page that fits wholly into a request's buffer behind `done` bytes of them; NULL if none does. */
static char *page_at(const struct mpix_sched_request *req, uint32_t buffer, size_t done)
{
	const struct be_buffer *b = &req->buffers[buffer];
	uintptr_t begin, at;
	int64_t low;
	size_t len;

	if (b->heap || !b->ptr || !rt_span(req->type, b->elements, &low, &len))
		return NULL;
	begin = (uintptr_t)(b->ptr + low);
	at = align_up(begin, MEM_LARGE_PAGE) + done;
	return at + MEM_LARGE_PAGE <= begin + len ? (char *)at : NULL;
}

/* Makes pages until all are made, the time is over, or the system has no more. left: as time_left returns it */
static void make_pages(struct mpix_sched_request *req, int64_t left)
{
	struct rt_huge *h = &req->ctx->huge;
	struct rt_page *p = &req->page;
	const uint64_t from = clock_now_ns(), until = left > 0 ? from + (uint64_t)(left < MOST_NS ? left : MOST_NS) : from;
	uint64_t now = from;

	while (p->buffer < req->nbuffers && now < until && atomic_load_explicit(&h->works, memory_order_relaxed)) {
		char *at = page_at(req, p->buffer, p->done);

		if (!at) {
			p->buffer++;
			p->done = 0;
			continue;
		}
		if (mem_collapse(at, MEM_LARGE_PAGE) == ENOMEM)
			atomic_store_explicit(&h->works, false, memory_order_relaxed);
		p->done += MEM_LARGE_PAGE;
		now = clock_now_ns();
	}
	atomic_fetch_add_explicit(&h->spent, now - from, memory_order_relaxed);
	req->makes_pages = p->buffer < req->nbuffers && atomic_load_explicit(&h->works, memory_order_relaxed);
}

/* True if one of the last requests had such a buffer: the pages are made, unless it is other memory at the same address. */
static bool was_seen(struct mpix_sched_ctx *ctx, const struct be_buffer *b)
{
	struct rt_huge *h = &ctx->huge;
	bool seen = false;

	pthread_mutex_lock(&ctx->lock);
	for (unsigned i = 0; i < RT_HUGE_SEEN && !seen; i++)
		seen = h->seen[i].ptr == b->ptr && h->seen[i].elements == b->elements;
	if (!seen) {
		h->seen[h->next].ptr = b->ptr;
		h->seen[h->next].elements = b->elements;
		h->next = (h->next + 1) % RT_HUGE_SEEN;
	}
	pthread_mutex_unlock(&ctx->lock);
	return seen;
}

void rt_huge_bind(struct mpix_sched_request *req)
{
	bool all_seen = true;

	req->page = (struct rt_page){ 0 };
	req->makes_pages = false;
	/* What a network has registered cannot be moved. Where ranks share CPUs, that could take a minute (doc/decisions/memory.md). */
	if (!req->be->near || req->crowded || !atomic_load_explicit(&req->ctx->huge.works, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < req->nbuffers; i++)
		if (page_at(req, i, 0)) {
			req->makes_pages = true;
			all_seen &= was_seen(req->ctx, &req->buffers[i]);
		}
	if (!all_seen)
		make_pages(req, time_left(&req->ctx->huge));
}

void rt_huge_go_on(struct mpix_sched_request *req)
{
	int64_t left;

	if (++req->page.epochs < APART)
		return;
	left = time_left(&req->ctx->huge);
	if (left < LEAST_NS)
		return;
	req->page.epochs = 0;
	make_pages(req, left);
}
