/* SPDX-License-Identifier: BSD-3-Clause
 * Rings that grow: no chunk is stored to a slot whose chunk the receiver may not have read. And the memory they find. */
#include "backends/shm/ring.h"
#include "tests/unit/unit.h"
#include "util/mem.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 64, CHUNKS = 4 * SLOTS * SM_RING_ROUNDS };

/* Returns the number of a chunk's slot. */
static uint64_t slot_of(const struct sm_ring *r, uint64_t n)
{
	return (uint64_t)(sm_ring_slot(r, n) - r->at);
}

/* Follows a sender that is as far ahead as the window allows. What it has looked up at an earlier chunk allows less. */
static void follow(const struct sm_ring *r)
{
	bool whole = true, apart = true;

	for (uint64_t n = 0; n < CHUNKS; n++) {
		const uint64_t window = sm_ring_window(r, n);

		apart &= window >= r->first && window <= r->slots && (!n || window >= sm_ring_window(r, n - 1));
		for (uint64_t back = 1; back < window && back <= n; back++)
			apart &= slot_of(r, n) != slot_of(r, n - back);
		whole &= slot_of(r, n) < r->slots;
	}
	CU_ASSERT(apart);
	CU_ASSERT(whole);
	CU_ASSERT_EQUAL(sm_ring_window(r, CHUNKS), r->slots);
	CU_ASSERT_EQUAL(sm_ring_used(r, CHUNKS), r->slots);
}

static void grows(void)
{
	static char slots[SLOTS];

	for (uint32_t n = SM_RING; n <= SLOTS; n++)
		for (uint32_t least = 1; least <= n; least++) {
			struct sm_ring r = { .at = slots, .slot = 1 };

			sm_ring_size(&r, n, least);
			CU_ASSERT(r.slots <= n && n < r.slots + r.slots / r.first && r.first >= least && r.first >= SM_RING);
			CU_ASSERT(r.first < 2 * least || r.first < 2 * SM_RING);
			follow(&r);
		}
}

/* New slots are a small share of those that chunks go through. */
static void seldom_new(void)
{
	const struct sm_ring r = { .slots = SLOTS, .first = SM_RING, .slot = 1 };
	uint64_t most = SM_RING, begun = 0;

	for (uint64_t n = 0; n < CHUNKS; n++) {
		const uint64_t slot = n % sm_ring_used(&r, n);

		if (slot < most)
			continue;
		begun += slot + 1 - most;
		most = slot + 1;
		CU_ASSERT(begun * SM_RING_ROUNDS <= n);
	}
	CU_ASSERT_EQUAL(most, SLOTS);
}

/* Memory is present once each of its pages has been stored to. A range need not begin or end with a page. */
static void present(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 600;
	const int fd = memfd_create("ring", 0);
	char *at;

	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, (off_t)(pages * page)));
	at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CU_ASSERT_FATAL(at != MAP_FAILED);
	for (size_t k = 0; k < pages; k++) {
		const size_t i = k * 7 % pages; /* each once, the last page not last */

		CU_ASSERT(!mem_is_present(at + 8, pages * page - 16));
		CU_ASSERT(!mem_is_present(at + i * page, 1));
		at[i * page] = 1;
		CU_ASSERT(mem_is_present(at + i * page + 9, 2));
	}
	CU_ASSERT(mem_is_present(at, pages * page));
	munmap(at, pages * page);
	close(fd);
}

static const struct unit_test tests[] = {
	{ "present", present },
	{ "grows", grows },
	{ "seldom_new", seldom_new },
	{ NULL, NULL },
};

const struct unit_suite suite_ring = { "ring", tests };
