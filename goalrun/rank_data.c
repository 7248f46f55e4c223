/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank of goalrun has in common with the others: errors and exchanges, and the data in its buffers. */
#include "goalrun/rank.h"

#include "runtime/placement/cpus.h"
#include "runtime/sched.h"
#include "util/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEAD_NS 1000 /* until all ranks know that all have come */
#define LINE 64u /* bytes of a cache line */

int rank_failed(struct rank *r, const char *fmt, ...)
{
	char *text = r->l->error[r->rank];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof *r->l->error, fmt, ap);
	va_end(ap);
	if (!atomic_exchange(&r->l->shared->bad, 1) && r->c)
		atomic_store(&r->l->shared->failed_case, r->index + 1);
	return 1;
}

int rank_library(struct rank *r, const char *call, int rc)
{
	char detail[400];

	if (!rc)
		return 0;
	MPIX_Sched_error_detail(r->ctx, detail, sizeof detail);
	return rank_failed(r, "%s: %s", call, *detail ? detail : MPIX_Sched_error_string(rc));
}

/* Stops a wait when another rank has failed, because what this rank waits for will not arrive. */
static int given_up(void *arg)
{
	const struct rank *r = arg;

	return atomic_load(&r->l->shared->bad) || atomic_load(&r->l->board->failed) ? -ERR_STATE : 0;
}

int rank_allgather(const void *in, void *out, size_t size, void *arg)
{
	struct rank *r = arg;

	return size > GROUP_RECORD ||
	       rt_board_allgather(r->l->board, r->rank, ++r->seq, in, size, out, r->spins, given_up, r);
}

int rank_exchange(struct rank *r, const void *in, void *out, size_t size)
{
	int err = rank_allgather(in, out, size, r);

	if (err && atomic_load(&r->l->board->failed))
		return rank_failed(r, "rank %u died", rt_failed(atomic_load(&r->l->board->failed)));
	return err ? rank_failed(r, "another rank failed") : 0;
}

int rank_begin(struct rank *r)
{
	const uint64_t now = clock_now_ns();
	uint64_t begin = 0;

	if (rank_exchange(r, &now, r->came, sizeof now))
		return 1;
	if (r->o->here < r->o->nranks || !r->spins) /* hosts have clocks of their own, and a rank that waits holds up another */
		return 0;
	for (uint32_t q = 0; q < r->o->nranks; q++)
		begin = r->came[q] > begin ? r->came[q] : begin;
	while (clock_now_ns() < begin + LEAD_NS)
		rt_relax(0, 1);
	return 0;
}

/* ---- data ---- */

/* Plain GOAL: returns the key of a message's pattern. Each message has its own: k is its number in the channel. */
static uint64_t message_key(const struct rank *r, uint32_t op, uint64_t epoch)
{
	const struct ir_rank *mine = &r->o->graph->ranks[r->rank];
	const struct bin_op *o = &mine->ops[op];
	bool send = o->kind == BIN_OP_SEND;
	uint64_t k = 0;

	for (uint32_t i = 0; i < op; i++)
		k += mine->ops[i].kind == o->kind && mine->ops[i].peer == o->peer && mine->ops[i].tag == o->tag;
	return values_key((uint64_t)r->o->seed + epoch, (uint64_t)(send ? r->rank : o->peer) << 32 | o->tag,
			  send ? o->peer : r->rank, k);
}

static void fill_plain(const struct rank *r, uint64_t epoch)
{
	const struct ir_rank *mine = &r->o->graph->ranks[r->rank];

	for (uint32_t i = 0; i < mine->nops; i++) {
		const struct bin_op *o = &mine->ops[i];

		if (o->kind == BIN_OP_SEND)
			values_pattern(r->buffers[0] + o->off[0], o->len, message_key(r, i, epoch));
	}
	if (r->bytes[1])
		memset(r->buffers[1], (int)(epoch & 0xff) ^ 0x5a, r->bytes[1]);
}

static int check_plain(struct rank *r, uint64_t epoch)
{
	const struct ir_rank *mine = &r->o->graph->ranks[r->rank];

	for (uint32_t i = 0; i < mine->nops; i++) {
		const struct bin_op *o = &mine->ops[i];
		int64_t at;

		if (o->kind != BIN_OP_RECV)
			continue;
		at = values_differ(r->buffers[1] + o->off[0], o->len, message_key(r, i, epoch));
		if (at >= 0)
			return rank_failed(r, "epoch %llu: byte %lld of the message from rank %u (op %u) is wrong",
				      (unsigned long long)epoch, (long long)at, o->peer, i);
	}
	return 0;
}

void rank_fill(const struct rank *r, uint64_t epoch)
{
	if (r->o->plain)
		fill_plain(r, epoch);
	else if (r->o->claim->any)
		oracle_fill(&r->oracle, epoch, r->buffers, r->bytes);
}

void rank_touch(const struct rank *r)
{
	for (uint32_t i = 0; i < r->info.nbuffers; i++) {
		volatile char *p = r->buffers[i];

		if (p && r->sched->image->bin.buffers[i].mode != BIN_OUT)
			for (uint64_t at = 0; at < r->bytes[i]; at += LINE)
				p[at] = p[at];
	}
}

static uint64_t guard_key(const struct rank *r, uint32_t buffer)
{
	return values_key((uint64_t)r->o->seed, r->rank, buffer, r->index);
}

void rank_guard(const struct rank *r, uint32_t i)
{
	values_pattern(r->buffers[i] - RANK_GUARD, RANK_GUARD, guard_key(r, i));
	values_pattern(r->buffers[i] + r->bytes[i], RANK_GUARD, guard_key(r, i));
}

int rank_check_guards(struct rank *r, uint64_t epoch)
{
	for (uint32_t i = 0; i < r->info.nbuffers; i++) {
		const char *p = r->buffers[i];

		if (p && (values_differ(p - RANK_GUARD, RANK_GUARD, guard_key(r, i)) >= 0 ||
			  values_differ(p + r->bytes[i], RANK_GUARD, guard_key(r, i)) >= 0))
			return rank_failed(r, "epoch %llu: memory beside the buffer %s was written to",
				      (unsigned long long)epoch,
				      bin_str(&r->sched->image->bin, r->sched->image->bin.buffers[i].name));
	}
	return 0;
}

/* Checks that no rank leaves a barrier before all ranks have entered it. */
static int check_barrier(struct rank *r, uint64_t epoch)
{
	for (uint32_t q = r->o->first; q < r->o->first + r->o->here; q++) /* `entered` is not shared with other hosts */
		if (atomic_load(&r->l->entered[q].word) < r->starts)
			return rank_failed(r, "epoch %llu: it left the barrier before rank %u came to it",
				      (unsigned long long)epoch, q);
	return 0;
}

int rank_check(struct rank *r, uint64_t epoch)
{
	const struct bin *b = &r->sched->image->bin;
	uint32_t buffer = 0;
	int64_t at;

	if (rank_check_guards(r, epoch))
		return 1;
	if (r->o->plain)
		return check_plain(r, epoch);
	if (r->o->barrier)
		return check_barrier(r, epoch);
	if (!r->o->claim->any)
		return 0;
	at = oracle_check(&r->oracle, epoch, r->buffers, r->bytes, &buffer);
	if (at < 0)
		return 0;
	return rank_failed(r, "epoch %llu: byte %lld of %s: the %s", (unsigned long long)epoch, (long long)at,
		      bin_str(b, b->buffers[buffer].name),
		      b->buffers[buffer].mode == BIN_IN ? "in buffer has changed" : "result is wrong");
}
