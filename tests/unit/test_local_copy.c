/* SPDX-License-Identifier: BSD-3-Clause
 * Copies of bytes that are also sent through a ring: who makes which part of them. */
#include "backends/shm/local_copy.h"
#include "backends/shm/move.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { SEND, COPY, OPS };
enum { CHUNK = 8192, CHUNKS = 45, SLOTS = 4, BYTES = (CHUNKS - 1) * CHUNK + 1016, POLLS = 16, PIECE = 128 << 10 };

/* A rank that sends its block, and copies it behind the first OFF bytes of another buffer. */
struct example {
	_Alignas(SM_LINE) char from[BYTES];
	_Alignas(SM_LINE) char to[BYTES + SM_LINE];
	_Alignas(SM_LINE) char ring[SLOTS * CHUNK];
	struct sm_msg msgs[OPS];
	struct sm_moved moved[OPS];
	struct sm_shared sh;
	struct bin_op ops[OPS];
	struct be_buffer buffers[2];
	struct be_layout layout;
	struct sm_bound s;
};
#define OFF 8u

static struct example *make(bool past)
{
	struct example *x = memset(aligned_alloc(_Alignof(struct example), sizeof *x), 0, sizeof *x);

	for (size_t i = 0; i < BYTES; i++)
		x->from[i] = (char)(i * 7 + i / 256 + 1);
	x->ops[SEND] = (struct bin_op){ .kind = BIN_OP_SEND, .len = BYTES / 8 };
	x->ops[COPY] = (struct bin_op){ .kind = BIN_OP_COPY, .buf = { 0, 1 }, .off = { 0, OFF / 8 }, .len = BYTES / 8 };
	x->buffers[0].ptr = x->from;
	x->buffers[1].ptr = x->to;
	x->layout = (struct be_layout){ .basic = 8, .contiguous = true };
	x->sh.past = past;
	for (int i = 0; i < OPS; i++)
		x->msgs[i].now = &x->moved[i];
	x->msgs[SEND].way = x->msgs[SEND].mode = SM_STAGED;
	x->msgs[SEND].bytes = BYTES;
	x->msgs[SEND].chunk = CHUNK;
	x->msgs[SEND].chunks = CHUNKS;
	x->msgs[SEND].ring = (struct sm_ring){ .at = x->ring, .slots = SLOTS, .first = SLOTS, .slot = CHUNK };
	x->msgs[SEND].mine = x->from;
	x->s = (struct sm_bound){ .sh = &x->sh, .epoch = 1, .fills = 1, .msgs = x->msgs };
	x->s.b = (struct be_bind){ .ops = x->ops, .nops = OPS, .layout = &x->layout, .buffers = x->buffers };
	sm_link_twins(&x->s);
	return x;
}

static int issue(struct example *x)
{
	return sm_how_long_copy(&x->s, COPY).issue(&x->s.dispatcher, &x->ops[COPY]);
}

static int poll(struct example *x)
{
	return sm_how_long_copy(&x->s, COPY).poll(&x->s.dispatcher, &x->ops[COPY]);
}

/* Sends chunks up to number `end`, each of which must arrive in its slot. */
static void send_until(struct example *x, uint32_t end)
{
	struct sm_msg *m = &x->msgs[SEND];

	for (; m->now->moved < end; m->now->moved++) {
		const uint32_t n = m->now->moved;

		sm_fill_slot(&x->s, m, n, (uint64_t)n * CHUNK, sm_chunk_bytes(m, n), sm_ring_slot(&m->ring, n));
		CU_ASSERT_EQUAL(memcmp(x->ring + (size_t)(n % SLOTS) * CHUNK, x->from + (size_t)n * CHUNK, sm_chunk_bytes(m, n)), 0);
	}
}

/* True if the first n bytes are copied, and no others. */
static bool has(const struct example *x, size_t n)
{
	for (size_t i = n; i < BYTES; i++)
		if (x->to[OFF + i])
			return false;
	return !memcmp(x->to + OFF, x->from, n) && !x->to[0] && !x->to[OFF + BYTES];
}

/* The send makes the copy, chunks that are trials included. */
static void by_send(void)
{
	struct example *x = make(true);

	for (x->s.epoch = x->s.fills = 1; x->s.epoch <= 2; x->s.fills = ++x->s.epoch) {
		memset(x->to, 0, sizeof x->to);
		x->moved[SEND].moved = 0;
		CU_ASSERT_EQUAL(issue(x), 0);
		for (uint32_t n = 1; n < CHUNKS; n++) {
			CU_ASSERT_EQUAL(poll(x), 0);
			send_until(x, n);
			CU_ASSERT(has(x, (size_t)n * CHUNK));
		}
		send_until(x, CHUNKS);
		CU_ASSERT(has(x, BYTES));
		CU_ASSERT_EQUAL(poll(x), 1);
		CU_ASSERT(has(x, BYTES));
	}
	free(x);
}

/* While the send stays, pieces are copied without it. */
static void by_itself(void)
{
	struct example *x = make(true);

	issue(x);
	send_until(x, 2);
	for (int i = 0; i < POLLS; i++)
		CU_ASSERT_EQUAL(poll(x), 0);
	CU_ASSERT(has(x, 2 * CHUNK));
	CU_ASSERT_EQUAL(poll(x), 0);
	CU_ASSERT(has(x, 2 * CHUNK + PIECE));
	send_until(x, 3);
	CU_ASSERT_EQUAL(poll(x), 0); /* the send goes on */
	CU_ASSERT(has(x, 2 * CHUNK + PIECE));
	send_until(x, 2 + PIECE / CHUNK);
	CU_ASSERT(has(x, 2 * CHUNK + PIECE));
	send_until(x, 2 + PIECE / CHUNK + 1);
	CU_ASSERT(has(x, 3 * CHUNK + PIECE));
	send_until(x, CHUNKS);
	CU_ASSERT_EQUAL(poll(x), 1);
	CU_ASSERT(has(x, BYTES));
	free(x);
}

/* A copy that begins later, or after the send, or whose bytes are not sent through a ring, is whole as well. */
static void later(void)
{
	for (int at = 0; at < 3; at++) {
		struct example *x = make(true);

		if (at == 2)
			x->msgs[SEND].way = SM_PULL;
		else
			send_until(x, at ? CHUNKS : CHUNKS / 2);
		CU_ASSERT(has(x, 0));
		issue(x);
		if (at < 2)
			send_until(x, CHUNKS);
		CU_ASSERT(has(x, 0));
		CU_ASSERT_EQUAL(poll(x), 1);
		CU_ASSERT(has(x, BYTES));
		free(x);
	}
}

/* Data that the caches have is copied after it is sent. */
static void in_caches(void)
{
	struct example *x = make(false);

	issue(x);
	send_until(x, CHUNKS);
	CU_ASSERT(has(x, 0));
	CU_ASSERT_EQUAL(poll(x), 0);
	while (poll(x) == 0)
		;
	CU_ASSERT(has(x, BYTES));
	free(x);
}

/* Only a send of just these bytes, by a rank without helpers, is a twin. */
static void twins(void)
{
	for (int change = 0; change < 5; change++) {
		struct example *x = make(true);

		CU_ASSERT_EQUAL(x->msgs[SEND].twin, COPY + 1);
		CU_ASSERT_EQUAL(x->msgs[COPY].twin, SEND + 1);
		x->msgs[SEND].twin = x->msgs[COPY].twin = 0;
		x->ops[SEND].len -= change == 0;
		x->ops[SEND].off[0] += change == 1;
		x->ops[SEND].buf[0] += change == 2;
		x->s.b.helped = change == 3;
		x->layout.contiguous = change != 4;
		sm_link_twins(&x->s);
		CU_ASSERT_EQUAL(x->msgs[COPY].twin, 0);
		CU_ASSERT_EQUAL(x->msgs[SEND].twin, 0);
		free(x);
	}
}

/* Where two ranks send to each other what exceeds the caches, a poll moves two chunks, and says if there is room for more; otherwise it
 * fills all slots. */
static void bursts(void)
{
	for (int past = 0; past < 2; past++) {
		struct example *x = make(past);
		struct sm_msg *m = &x->msgs[SEND];
		struct sm_in in = { 0 };
		struct sm_out out = { 0 };
		const struct be_bells bells = { 0 };
		uint64_t known = 1;

		m->in = &in;
		m->out = &out;
		m->produced = &in.produced;
		m->known = &known;
		m->bells = &bells;
		m->two_way = x->s.quiet = true;
		for (uint32_t sent = past ? 2 : SLOTS; sent <= SLOTS; sent += 2) {
			x->s.cut = false;
			CU_ASSERT_EQUAL(sm_send_staged(&x->s.dispatcher, m), 0);
			CU_ASSERT_EQUAL(m->now->moved, sent);
			CU_ASSERT_EQUAL(x->s.cut, past);
		}
		x->s.cut = false;
		CU_ASSERT_EQUAL(sm_send_staged(&x->s.dispatcher, m), 0);
		CU_ASSERT_EQUAL(m->now->moved, SLOTS);
		CU_ASSERT(!x->s.cut); /* the ring is full */
		free(x);
	}
}

static const struct unit_test tests[] = {
	{ "by_send", by_send }, { "by_itself", by_itself }, { "later", later },
	{ "in_caches", in_caches }, { "twins", twins }, { "bursts", bursts }, { 0 },
};

const struct unit_suite suite_local_copy = { "local_copy", tests };
