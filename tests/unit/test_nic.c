/* SPDX-License-Identifier: BSD-3-Clause
 * The model of the network interface without its process: what ranks get wrong does not hurt others, sessions die by too
 * much credit, GETs bring what is there, nothing is left of a rank that leaves, strong order holds in every order of packets,
 * and two threads copy as one does. */
#include "format/read.h"
#include "goalrun/nic/device.h"
#include "tests/unit/unit.h"
#include "util/hash64.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAP ((size_t)4 << 20)
#define BLOCK 4096u /* where the block is in the heap */
#define DATA 1024u /* where the rank's buffer is, */
#define BYTES 1024u /* and how long */
#define DEPTH 11u
#define QUEUES 3u /* a normal one, a session, a CPU's */
#define ROUTES 5u

/* One rank, which puts to itself. */
struct rig {
	struct nic nic;
	struct nic_stats stats;
	struct nic_port port;
	char *heap, text[112];
	struct nic_block *block;
	struct nic_pointers *pointers;
	struct nic_queue *queues;
	struct nic_entry *toq[QUEUES];
	uint64_t name, bytes;
};

static uint64_t lay(uint64_t *at, uint64_t n)
{
	const uint64_t here = *at;

	*at = (here + n + 63) / 64 * 64;
	return here;
}

static void *in_block(const struct rig *r, uint64_t off)
{
	return r->heap + BLOCK + off;
}

static int bind_rig(struct rig *r)
{
	return nic_bind(&r->nic, &r->port, BLOCK, r->bytes, &r->name, r->text, sizeof r->text);
}

/* Everything but NIC_BIND; the sessions' offset has so many bits. */
static void open_rig(struct rig *r, uint64_t seed, uint32_t offset)
{
	const struct nic_options o = { .seed = seed, .trace = -1, .stats = &r->stats };
	struct nic_block *b;
	uint64_t end = sizeof *b;

	memset(r, 0, sizeof *r);
	r->port.pid = getpid();
	r->port.heap = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CU_ASSERT(!ftruncate(r->port.heap, (off_t)HEAP) && !fcntl(r->port.heap, F_ADD_SEALS, F_SEAL_SHRINK));
	r->heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_SHARED, r->port.heap, 0);
	CU_ASSERT(r->heap != MAP_FAILED);
	CU_ASSERT(!nic_init(&r->nic, &o) && !nic_open(&r->port, 0, r->text, sizeof r->text));
	b = r->block = (struct nic_block *)(void *)(r->heap + BLOCK);
	*b = (struct nic_block){ .id = 7, .tnis = 6, .cqs = 2, .offset = offset, .nqueues = QUEUES, .nregions = 1,
				 .nroutes = ROUTES, .tcq_depth = 3, .mrq_depth = 3 };
	end = (end + 63) / 64 * 64;
	b->queues = lay(&end, QUEUES * sizeof(struct nic_queue));
	b->regions = lay(&end, sizeof(struct nic_region));
	b->routes = lay(&end, ROUTES * sizeof(struct nic_route));
	b->pointers = lay(&end, QUEUES * sizeof(struct nic_pointers));
	b->tcq_ring = lay(&end, sizeof(struct nic_local) << 3);
	b->mrq_ring = lay(&end, sizeof(struct nic_remote) << 3);
	r->pointers = in_block(r, b->pointers);
	r->queues = in_block(r, b->queues);
	for (unsigned q = 0; q < 2; q++) {
		r->queues[q] = (struct nic_queue){ .mode = q ? BIN_Q_SESSION : BIN_Q_NORMAL, .depth = DEPTH, .tni = (uint16_t)q };
		r->queues[q].toq = lay(&end, sizeof(struct nic_entry) << DEPTH);
		r->toq[q] = in_block(r, r->queues[q].toq);
	}
	r->queues[2].mode = BIN_Q_CPU;
	*(struct nic_region *)in_block(r, b->regions) = (struct nic_region){ DATA, BYTES, 1 };
	r->bytes = end;
}

/* Ways 0 … 2 are to the queues, one to none, and one of GETs for the session. */
static void start_rig(struct rig *r, uint64_t seed, uint32_t offset)
{
	struct nic_route *routes;
	uint64_t gone;

	open_rig(r, seed, offset);
	CU_ASSERT(!bind_rig(r));
	routes = in_block(r, r->block->routes);
	for (uint32_t i = 0; i < ROUTES; i++)
		routes[i] = (struct nic_route){ .peer = r->name, .queue = i < QUEUES ? i : BIN_NONE };
	routes[4] = (struct nic_route){ .peer = r->name, .queue = 1, .gets = 1 };
	CU_ASSERT(!nic_connect(&r->nic, &r->port, r->name, &gone, r->text, sizeof r->text));
}

static void close_rig(struct rig *r)
{
	nic_close(&r->nic, &r->port);
	nic_fini(&r->nic);
	munmap(r->heap, HEAP);
	close(r->port.heap);
}

static void post(struct rig *r, unsigned queue, struct nic_entry e)
{
	const uint64_t at = atomic_load(&r->pointers[queue].producer);

	r->toq[queue][at & ((1u << DEPTH) - 1)] = e;
	atomic_store(&r->pointers[queue].producer, at + 1);
	atomic_fetch_add(&r->block->doorbell, 1);
}

static void run(struct rig *r)
{
	nic_poll(&r->nic);
	while (nic_step(&r->nic))
		;
}

static const struct nic_entry credit15 = { .command = BIN_E_PIGGYBACK, .sps = 15, .route = 1 };

static void sessions(void)
{
	struct rig r;

	/* Credit comes before entries; a NOP takes some. */
	start_rig(&r, 0, 25);
	post(&r, 0, (struct nic_entry){ .command = BIN_E_PIGGYBACK, .sps = 2, .route = 1 });
	run(&r);
	CU_ASSERT(atomic_load(&r.pointers[1].scheduling) == 2 && atomic_load(&r.pointers[1].consumer) == 0);
	memset(r.heap + DATA, 'x', 8);
	post(&r, 1, (struct nic_entry){ .command = BIN_E_NOP });
	for (uint64_t i = 1; i < 3; i++)
		post(&r, 1, (struct nic_entry){ .command = BIN_E_PUT, .flags = BIN_E_LOCAL | BIN_E_REMOTE, .len = 8, .route = 3,
						.off = { 0, 8 * i } });
	run(&r);
	CU_ASSERT(atomic_load(&r.pointers[1].consumer) == 2);
	CU_ASSERT(!memcmp(r.heap + DATA, "xxxxxxxxxxxxxxxx\0", 17));
	CU_ASSERT(atomic_load(&r.block->tcq) == 1 && atomic_load(&r.block->mrq) == 1 && !atomic_load(&r.block->fault));
	CU_ASSERT(!nic_unbind(&r.nic, &r.port, r.name)); /* something is posted and waits for credit */
	post(&r, 0, credit15);
	run(&r);
	CU_ASSERT(nic_unbind(&r.nic, &r.port, r.name));
	close_rig(&r);

	/* 2^4 ahead is too far. */
	start_rig(&r, 0, 4);
	post(&r, 0, credit15);
	run(&r);
	CU_ASSERT(!atomic_load(&r.block->fault));
	post(&r, 0, credit15);
	run(&r);
	CU_ASSERT(atomic_load(&r.block->fault) == NIC_DEAD_SESSION && r.block->fault_queue == 1);
	CU_ASSERT(nic_unbind(&r.nic, &r.port, r.name));
	close_rig(&r);
}

static void notices(void)
{
	struct rig r;

	start_rig(&r, 0, 25);
	for (unsigned i = 0; i < 3; i++)
		post(&r, 0, (struct nic_entry){ .command = BIN_E_PIGGYBACK, .sps = 1, .route = 2 });
	run(&r);
	CU_ASSERT(atomic_load(&r.block->mrq) == 3);
	CU_ASSERT(((struct nic_remote *)in_block(&r, r.block->mrq_ring))[2].what == NIC_CREDIT);
	for (unsigned i = 0; i < 6; i++)
		post(&r, 0, (struct nic_entry){ .command = BIN_E_PIGGYBACK, .sps = 1, .route = 2 });
	run(&r);
	CU_ASSERT(atomic_load(&r.block->fault) == NIC_NOTICES); /* nobody reads them */
	close_rig(&r);
}

/* What an entry says is looked at when it is carried out. */
static void bad_entries(void)
{
	static const struct nic_entry bad[] = {
		{ .command = 99 },
		{ .command = BIN_E_PUT, .len = 8, .route = ROUTES },
		{ .command = BIN_E_PUT, .len = 8, .route = 3, .region = { 1, 0 } },
		{ .command = BIN_E_PUT, .len = 8, .route = 3, .off = { 0, BYTES - 7 } },
		{ .command = BIN_E_PUT, .len = 8, .route = 3, .off = { UINT64_MAX - 3, 0 } },
		{ .command = BIN_E_PUT, .len = BYTES + 1, .route = 3 },
		{ .command = BIN_E_PIGGYBACK, .len = 1, .route = 3 },
		{ .command = BIN_E_ARMW, .len = 4, .route = 3, .armw = BIN_ARMW_ADD8 },
		{ .command = BIN_E_ARMW, .len = 8, .route = 3, .armw = 0 },
		{ .command = BIN_E_GET, .len = 8, .route = 3 },
		{ .command = BIN_E_PUT, .len = 8, .route = 4 },
		{ .command = BIN_E_GET, .len = 8, .route = 4, .off = { 0, BYTES - 7 } },
		{ .command = BIN_E_GET, .len = 8, .route = 4, .region = { 1, 0 } },
	};
	struct rig r;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		start_rig(&r, 0, 25);
		post(&r, 0, bad[i]);
		run(&r);
		CU_ASSERT(atomic_load(&r.block->fault) == NIC_BAD_ENTRY);
		close_rig(&r);
	}
}

static void bad_blocks(void)
{
	struct rig r;

#define REFUSED(change)                    \
	do {                               \
		open_rig(&r, 0, 25);       \
		change;                    \
		CU_ASSERT(bind_rig(&r) != 0);  \
		CU_ASSERT(*r.text);            \
		close_rig(&r);             \
	} while (0)
	REFUSED(r.bytes = HEAP);
	REFUSED(r.bytes = 64);
	REFUSED(r.block->queues = r.bytes);
	REFUSED(r.block->nqueues = UINT32_MAX);
	REFUSED(r.block->routes = UINT64_MAX - 7);
	REFUSED(r.block->nregions = 1u << 30);
	REFUSED(r.block->mrq_depth = 32);
	REFUSED(r.block->tcq_depth = 200);
	REFUSED(r.block->pointers += 8);
	REFUSED(r.queues[0].depth = 22);
	REFUSED(r.queues[0].toq = r.bytes - 64);
	REFUSED(r.queues[1].mode = 17);
	REFUSED(r.queues[1].tni = 6);
	REFUSED(r.block->cqs = 0);
	REFUSED(*(struct nic_region *)in_block(&r, r.block->regions) = ((struct nic_region){ HEAP - 8, 16, 1 }));
	REFUSED(*(struct nic_region *)in_block(&r, r.block->regions) = ((struct nic_region){ 8, 16, 0 }));
#undef REFUSED
	open_rig(&r, 0, 25);
	CU_ASSERT(!bind_rig(&r));
	close_rig(&r);
}

/* Two puts to one place, one way: the second one stays, if it has strong order; else it does not in every order. */
static unsigned firsts(uint8_t flags)
{
	unsigned n = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct rig r;

		start_rig(&r, seed, 25);
		memset(r.heap + DATA, 'a', 64);
		memset(r.heap + DATA + 64, 'b', 64);
		for (uint64_t i = 0; i < 2; i++)
			post(&r, 0, (struct nic_entry){ .command = BIN_E_PUT, .flags = flags, .len = 64, .route = 3,
							.off = { 64 * i, 128 } });
		run(&r);
		n += memchr(r.heap + DATA + 128, 'a', 64) != NULL;
		close_rig(&r);
	}
	return n;
}

/* GETs bring back what range 1 holds, and then their credit, in their order. */
static void gets(void)
{
	for (uint64_t seed = 0; seed <= 100; seed++) {
		struct rig r;

		start_rig(&r, seed, 25);
		memset(r.heap + DATA + 256, 'g', 256);
		for (uint64_t i = 0; i < 2; i++)
			post(&r, 0, (struct nic_entry){ .command = BIN_E_GET, .flags = BIN_E_STRONG | BIN_E_LOCAL | BIN_E_REMOTE,
							.sps = (uint8_t)(1 + i), .len = 256, .route = 4, .off = { 512 * i, 256 } });
		/* Released by the first one: what it puts is there. */
		post(&r, 1,
		     (struct nic_entry){ .command = BIN_E_PUT, .flags = BIN_E_STRONG, .len = 8, .route = 3, .off = { 248, 900 } });
		nic_poll(&r.nic);
		while (!atomic_load(&r.pointers[1].scheduling) && nic_step(&r.nic))
			CU_ASSERT(atomic_load(&r.pointers[1].consumer) == 0);
		CU_ASSERT(!memchr(r.heap + DATA, 0, 512) && atomic_load(&r.pointers[1].scheduling) == 1);
		run(&r);
		CU_ASSERT(!memchr(r.heap + DATA, 0, 768) && !memcmp(r.heap + DATA + 900, "gggggggg", 9) && atomic_load(&r.pointers[1].scheduling) == 3);
		CU_ASSERT(atomic_load(&r.block->tcq) == 2 && atomic_load(&r.block->mrq) == 2 && !atomic_load(&r.block->fault));
		CU_ASSERT(atomic_load(&r.pointers[0].consumer) == 2 && r.stats.bytes == 2 * 256 + 8);
		close_rig(&r);
	}
}

/* The rank goes at any moment of a put or a GET in several packets: nothing of it is left (which sanitizers see), nor moves. */
static void goes(uint8_t command)
{
	for (uint64_t i = 0; i < 400; i++) {
		struct rig r;

		start_rig(&r, i % 20, 25);
		for (unsigned k = 0; k < 3; k++)
			post(&r, 0, (struct nic_entry){ .command = command, .flags = BIN_E_STRONG, .len = 256, .off = { 0, 256 },
							.route = command == BIN_E_GET ? 4 : 3 });
		nic_poll(&r.nic);
		for (uint64_t k = 0; k < i / 20; k++)
			nic_step(&r.nic);
		nic_close(&r.nic, &r.port);
		if (i % 2) /* else what is under way is lost with the interface */
			while (nic_step(&r.nic))
				CU_ASSERT(r.nic.bound.n == 0);
		nic_fini(&r.nic);
		munmap(r.heap, HEAP);
		close(r.port.heap);
	}
}

static void leaving(void)
{
	goes(BIN_E_PUT);
	goes(BIN_E_GET);
}

/* A way to a block of a rank that is gone is told from one to a block that never was. */
static void gone_before(void)
{
	struct rig r;
	struct nic_route *routes;
	uint64_t first, gone = 0;

	open_rig(&r, 0, 25);
	CU_ASSERT(!bind_rig(&r));
	first = r.name;
	CU_ASSERT(!bind_rig(&r) && r.name != first && nic_unbind(&r.nic, &r.port, first));
	routes = in_block(&r, r.block->routes);
	for (uint32_t i = 0; i < ROUTES; i++)
		routes[i] = (struct nic_route){ .peer = i ? r.name : first, .queue = BIN_NONE };
	CU_ASSERT(nic_connect(&r.nic, &r.port, r.name, &gone, r.text, sizeof r.text) == -ERR_DEAD && gone == first);
	routes[0].peer = 99;
	CU_ASSERT(nic_connect(&r.nic, &r.port, r.name, &gone, r.text, sizeof r.text) == -ERR_ARG);
	close_rig(&r);
}

static void strong_order(void)
{
	CU_ASSERT(firsts(BIN_E_STRONG) == 0);
	CU_ASSERT(firsts(0) > 10);
}

/* Copies of all sizes that two threads make, with and without pauses that the helper sleeps in; some overlap. */
static void copies(void)
{
	enum { ROOM = 400000 };
	unsigned char *got = malloc(ROOM), *want = malloc(ROOM);
	struct copier c = { 0 };
	uint64_t x = 1;
	int wrong = 0;

	CU_ASSERT_FATAL(got && want);
	for (int i = 0; i < ROOM; i++)
		got[i] = want[i] = (unsigned char)(hash64(x++) & 0xff);
	for (int i = 0; i < 2000; i++) {
		const size_t len = hash64(x++) % (i % 3 ? 140000 : 300000), from = hash64(x++) % (ROOM - len),
			     to = hash64(x++) % (ROOM - len);

		if (i % 50 == 0)
			usleep(500);
		copier_move(&c, (char *)got + to, (const char *)got + from, len);
		memmove(want + to, want + from, len);
		got[hash64(x) % ROOM] = want[hash64(x) % ROOM] = (unsigned char)i;
		wrong += memcmp(got, want, ROOM) != 0;
	}
	CU_ASSERT(!wrong);
	copier_fini(&c);
	free(got);
	free(want);
}

static const struct unit_test tests[] = {
	{ "copies", copies },		{ "gets", gets },		  { "leaving", leaving },
	{ "sessions", sessions },	{ "notices", notices },		  { "bad_entries", bad_entries },
	{ "bad_blocks", bad_blocks },	{ "strong_order", strong_order }, { "gone_before", gone_before },
	{ NULL, NULL },
};
const struct unit_suite suite_nic = { "nic", tests };
