/* SPDX-License-Identifier: BSD-3-Clause
 * Trials of messages that are pulled or staged: in which epochs they are, and that each of them makes a choice of its own. */
#include "backends/shm/sm.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* Epochs of a trial in which a message is pulled; in one more it is staged, if the ring has one slot, and then the receiver chooses. */
#define EACH (SM_TIMES + 1)

/* Both ends of a message, each in a request of its own. */
struct ends {
	struct sm_bound at[2];
	struct sm_msg msg[2];
	struct sm_in in;
	struct sm_out out;
};
enum { SEND, RECV };

static struct ends *new_ends(uint64_t bytes)
{
	struct ends *x = memset(aligned_alloc(_Alignof(struct ends), sizeof *x), 0, sizeof *x);

	for (int i = 0; i < 2; i++) {
		x->msg[i].mode = SM_LEARNED;
		x->msg[i].bytes = bytes;
		x->msg[i].chunk = SM_CHUNK;
		x->msg[i].ring.slots = x->msg[i].chunks = 1;
		x->msg[i].in = &x->in;
		x->msg[i].out = &x->out;
	}
	return x;
}

/* Starts an epoch. took: how long a trial has found the ring and the pull to take, by the sender. Returns the way that both ends take. */
static enum sm_mode start(struct ends *x, uint64_t epoch, const uint64_t took[2])
{
	for (int i = 0; i < 2; i++) {
		x->at[i].epoch = epoch;
		if (epoch > x->at[i].learn.again)
			sm_begin_trial(&x->at[i]);
		sm_find_way(&x->at[i], &x->msg[i]);
	}
	memcpy(x->in.took, took, sizeof x->in.took);
	CU_ASSERT_EQUAL(x->msg[SEND].way, x->msg[RECV].way);
	CU_ASSERT(!sm_chooses(&x->at[RECV], &x->msg[RECV]) || x->msg[RECV].way == SM_PULL); /* its bytes are announced */
	if (sm_chooses(&x->at[RECV], &x->msg[RECV]))
		sm_choose(&x->at[RECV], &x->msg[RECV]);
	return x->msg[RECV].way;
}

static const uint64_t ring_wins[2] = { 10, 20 }, pull_wins[2] = { 20, 10 };

/* The ways of a trial that begins after `before` epochs, and then that of its choice up to epoch `until`. */
static void check_trial(struct ends *x, uint64_t before, uint64_t until, const uint64_t took[2], enum sm_mode choice)
{
	for (uint64_t n = 1; n <= 2 * EACH + 2; n++)
		CU_ASSERT_EQUAL(start(x, before + n, took), n > EACH && n <= 2 * EACH + 1 ? SM_STAGED : SM_PULL);
	for (uint64_t e = before + 2 * EACH + 3; e <= until; e++)
		CU_ASSERT_EQUAL(start(x, e, took), choice);
}

/* There is a trial after twice as many epochs as before the last one, and at last every 296. */
static void again(void)
{
	static const uint64_t at[] = { 0, 37, 74, 148, 296, 592, 888, 1184 };
	struct ends *x = new_ends(1 << 20);

	for (unsigned i = 0; i + 1 < sizeof at / sizeof *at; i++)
		check_trial(x, at[i], at[i + 1], i % 2 ? pull_wins : ring_wins, i % 2 ? SM_PULL : SM_STAGED);
	free(x);
	x = new_ends((8 << 20) - 8); /* not long yet */
	check_trial(x, 0, 37, ring_wins, SM_STAGED);
	free(x);
}

/* Trials that say little undo only after a while what one has said clearly. One that has measured nothing changes nothing. */
static void doubts(void)
{
	static const uint64_t little[2] = { 21, 20 }, none[2] = { 0, 0 };
	struct ends *x = new_ends(1 << 20);

	check_trial(x, 0, 37, ring_wins, SM_STAGED);
	check_trial(x, 37, 74, little, SM_STAGED);
	check_trial(x, 74, 148, none, SM_STAGED);
	check_trial(x, 148, 296, little, SM_STAGED);
	check_trial(x, 296, 592, little, SM_PULL);
	free(x);
}

/* A long message takes the ring in the third epoch of a trial only, and keeps it if it is faster by a tenth. */
static void long_ones(void)
{
	static const uint64_t near[2] = { 19, 20 }, tenth[2] = { 17, 20 };
	struct ends *x = new_ends(8 << 20);

	for (uint64_t e = 1; e <= 37; e++)
		CU_ASSERT_EQUAL(start(x, e, near), e == 3 ? SM_STAGED : SM_PULL);
	for (uint64_t e = 38; e <= 74; e++)
		CU_ASSERT_EQUAL(start(x, e, tenth), e == 40 || e > 41 ? SM_STAGED : SM_PULL);
	free(x);
}

/* Before the epochs that count each slot of the ring is used once. */
static void deep_ring(void)
{
	struct ends *x = new_ends(1 << 16);

	for (int i = 0; i < 2; i++) {
		x->msg[i].ring.slots = 16;
		x->msg[i].chunks = 3;
	}
	CU_ASSERT_EQUAL(sm_trial_epochs(&x->msg[SEND]), EACH + 6 + EACH);
	for (uint64_t e = 1; e <= 37; e++)
		CU_ASSERT_EQUAL(start(x, e, pull_wins), e > EACH && e <= EACH + 6 + EACH ? SM_STAGED : SM_PULL);
	free(x);
}

/* The ways of an epoch are those of the next from the one after the choice on, to the next trial. */
static void settles(void)
{
	struct ends *x = new_ends(1 << 20);

	x->at[SEND].learn.epochs = sm_trial_epochs(&x->msg[SEND]);
	for (uint64_t e = 1; e <= 60; e++) {
		start(x, e, pull_wins);
		CU_ASSERT_EQUAL(sm_ways_settled(&x->at[SEND]), (e - 1) % 37 > 2 * EACH + 1);
	}
	free(x);
}

/* In the epoch before those of slots that count, the sender tries how to store its first two chunks. */
static void fills(void)
{
	struct ends *x = new_ends(1 << 16);
	struct sm_moved moved = { 0 };
	struct sm_msg *m = &x->msg[SEND];
	uint64_t *epoch = &x->at[SEND].epoch;

	m->ring.slots = 16;
	m->chunks = 4;
	m->now = &moved;
	for (*epoch = 1; *epoch <= 37; (*epoch)++) {
		CU_ASSERT_EQUAL(sm_tries_fill(&x->at[SEND], m), *epoch == EACH + 5);
		for (moved.moved = 0; moved.moved < m->chunks; moved.moved++)
			CU_ASSERT_EQUAL(sm_fill_way(&x->at[SEND], m, 1000),
					*epoch == EACH + 5 && moved.moved < 2 ? SM_FILL_CACHES + moved.moved : SM_FILL_AS_CHOSEN);
	}
	free(x);
}

static const struct unit_test tests[] = {
	{ "deep_ring", deep_ring },
	{ "again", again },
	{ "doubts", doubts },
	{ "long_ones", long_ones },
	{ "settles", settles },
	{ "fills", fills },
	{ NULL, NULL },
};

const struct unit_suite suite_learn = { "learn", tests };
