/* SPDX-License-Identifier: BSD-3-Clause
 * Staged messages whose ring may be narrow: both ends agree on the slots, whatever the sender chooses and when. */
#include "backends/shm/move.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = SM_CHUNK_MIN, CHUNKS = 5, SLOTS = 40, BYTES = (CHUNKS - 1) * CHUNK + 808, EPOCHS = 4000, SEND = 0, RECV = 1 };

/* A message from one rank to another, both in this thread. */
struct example {
	_Alignas(SM_LINE) char from[BYTES];
	_Alignas(SM_LINE) char to[BYTES];
	_Alignas(SM_LINE) char ring[SLOTS * CHUNK];
	struct sm_in in;
	struct sm_out out;
	_Atomic uint64_t started; /* by the receiver */
	uint64_t known;
	struct be_bells bells;
	struct be_layout layout;
	struct sm_moved moved[2];
	struct sm_shared sh[2];
	struct bin_op ops[2];
	struct sm_msg msgs[2];
	struct sm_bound s[2];
};

static struct example *make(void)
{
	struct example *x = memset(aligned_alloc(_Alignof(struct example), sizeof *x), 0, sizeof *x);

	x->layout = (struct be_layout){ .basic = 8, .contiguous = true };
	for (int i = 0; i < 2; i++) {
		x->ops[i] = (struct bin_op){ .kind = i == SEND ? BIN_OP_SEND : BIN_OP_RECV, .len = BYTES / 8 };
		x->msgs[i] = (struct sm_msg){ .mode = SM_STAGED,
					      .way = SM_STAGED,
					      .chunks = CHUNKS,
					      .chunk = CHUNK,
					      .now = &x->moved[i],
					      .in = &x->in,
					      .out = &x->out,
					      .produced = &x->in.produced,
					      .bells = &x->bells,
					      .bytes = BYTES,
					      .mine = i == SEND ? x->from : x->to,
					      .started = &x->started,
					      .known = &x->known };
		sm_ring_size(&x->msgs[i].ring, SLOTS, 2 * CHUNKS);
		x->msgs[i].ring.at = x->ring;
		x->msgs[i].ring.slot = CHUNK;
		x->s[i] = (struct sm_bound){ .sh = &x->sh[i], .msgs = &x->msgs[i], .quiet = true };
		x->s[i].b = (struct be_bind){ .ops = &x->ops[i], .nops = 1, .layout = &x->layout, .helped = true };
	}
	return x;
}

static void write_epoch(struct example *x, uint64_t epoch)
{
	for (size_t i = 0; i < BYTES; i++)
		x->from[i] = (char)(i * 7 + i / 256 + epoch * 13);
}

/* The sender goes on, through part of the next epoch if it can. *sent: epochs that it has completed */
static void send_some(struct example *x, uint64_t *sent, uint64_t most)
{
	struct sm_bound *s = &x->s[SEND];

	if (s->epoch == *sent) {
		if (*sent == most)
			return;
		s->epoch++;
		write_epoch(x, s->epoch);
		*sent += sm_send_staged_issue(&s->dispatcher, &x->msgs[SEND]) != 0;
		return;
	}
	*sent += sm_send_staged(&s->dispatcher, &x->msgs[SEND]) != 0;
}

static bool arrived(const struct example *x)
{
	for (size_t i = 0; i < BYTES; i++)
		if (x->to[i] != (char)(i * 7 + i / 256 + x->s[RECV].epoch * 13))
			return false;
	return true;
}

/* The sender changes its mind at random, and is an epoch ahead at times. All bytes arrive, and the ring is narrow and wide, by turns. */
static void changes(void)
{
	struct example *x = make();
	struct sm_msg *m = &x->msgs[SEND];
	unsigned seed = 1, turned = 0;
	uint64_t sent = 0, got = 0;

	while (got < EPOCHS) {
		const bool before = m->now->narrow;
		const uint64_t last = got;

		m->fill.past = rand_r(&seed) % 64 ? m->fill.past : !m->fill.past;
		for (unsigned k = (unsigned)rand_r(&seed) % 4; k--;)
			send_some(x, &sent, x->s[RECV].epoch + 1);
		turned += before != m->now->narrow;
		if (x->s[RECV].epoch == got) {
			if (rand_r(&seed) % 2)
				continue;
			x->s[RECV].epoch++;
			atomic_store(&x->started, x->s[RECV].epoch);
			got += sm_recv_staged_issue(&x->s[RECV].dispatcher, &x->msgs[RECV]) != 0;
		} else {
			got += sm_recv_staged(&x->s[RECV].dispatcher, &x->msgs[RECV]) != 0;
		}
		CU_ASSERT(got == last || arrived(x));
	}
	CU_ASSERT(turned > 20);
	free(x);
}

/* While the ring is narrow, no slot but its first ones is stored to. */
static void few(void)
{
	struct example *x = make();
	uint64_t sent = 0;

	for (uint64_t e = 1; e <= 100; e++) {
		bool got = false;

		x->s[RECV].epoch = e;
		atomic_store(&x->started, e);
		for (int k = 0; k < 2 * CHUNKS && (!got || sent < e); k++) {
			send_some(x, &sent, e);
			got = got || (k ? sm_recv_staged(&x->s[RECV].dispatcher, &x->msgs[RECV]) :
					  sm_recv_staged_issue(&x->s[RECV].dispatcher, &x->msgs[RECV]));
		}
		CU_ASSERT(got && sent == e && arrived(x) && x->msgs[SEND].now->narrow);
		x->msgs[SEND].fill.past = false; /* whatever trials say */
	}
	for (size_t i = SM_NARROW * CHUNK; i < sizeof x->ring; i++)
		CU_ASSERT_FATAL(x->ring[i] == 0);
	free(x);
}

static const struct unit_test tests[] = { { "changes", changes }, { "few", few }, { 0 } };

const struct unit_suite suite_staged = { "staged", tests };
