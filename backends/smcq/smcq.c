/* SPDX-License-Identifier: BSD-3-Clause
 * smcq: what the engines share. A rank posts the entries of its queues at start. It is done when it has received as
 * many notices as its part of the schedule says. Work that is left to its CPU (assist, post) runs in test and wait:
 * packets bring credit to the CPU's queues as to other queues. */
#include "backends/smcq/smcq.h"

#include "backends/services.h"
#include "backends/smcq/emulator.h"
#include "backends/smcq/ofi.h"
#include "format/check.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/err.h"
#include "util/mem.h"

#include <stdlib.h>
#include <string.h>

const struct smcq_row smcq_engines[] = {
	{ "model", &smcq_emulator },
	{ "ofi", &smcq_ofi },
};
const unsigned smcq_nengines = sizeof smcq_engines / sizeof *smcq_engines;

const struct smcq_row *smcq_find(const char *name)
{
	for (unsigned i = 0; i < smcq_nengines; i++)
		if (!strcmp(smcq_engines[i].name, name))
			return &smcq_engines[i];
	return NULL;
}

struct nearest smcq_nearest(const char *name)
{
	struct nearest n = { .word = name };

	for (unsigned i = 0; i < smcq_nengines; i++)
		nearest_name(&n, smcq_engines[i].name);
	return n;
}

/* A queue whose entries this rank's CPU runs, or a posted queue, whose entries the CPU posts. */
struct cpu_queue {
	uint32_t queue;
	uint64_t done; /* entries done since bind */
	uint64_t until; /* end of a calc that has begun, in ns; else 0 */
};

struct smcq_bound {
	struct be_bound base;
	struct be_bind b;
	struct smcq_job job;
	const struct smcq_row *row;
	struct smcq_part *part;
	uint64_t epoch;
	struct smcq_notices mine; /* notices by entries that the CPU has run */
	uint32_t ncpus;
	struct cpu_queue cpus[];
};

static struct smcq_bound *to_smcq(struct be_bound *b)
{
	return (struct smcq_bound *)b;
}

/* ---- queues of the rank's CPU ---- */

/* Runs an op. Returns 1 when it is done, or 0 if it lasts until c->until. */
static int carry_out(struct smcq_bound *s, struct cpu_queue *c, const struct bin_op *op)
{
	if (op->kind == BIN_OP_CALC) {
		if (!c->until)
			c->until = clock_now_ns() + op->len;
		if (clock_now_ns() < c->until)
			return 0;
		c->until = 0;
	} else {
		s->b.reduce(s->b.reduce_arg, s->b.buffers[op->buf[0]].ptr, op->off[0], s->b.buffers[op->buf[1]].ptr,
			    op->off[1], op->len, op->kind == BIN_OP_REDUCE_WITH);
	}
	return 1;
}

static int run_queue(struct smcq_bound *s, struct cpu_queue *c)
{
	const struct bin_queue *q = &s->job.posts.queues[c->queue];
	const struct smcq_engine *engine = s->row->engine;
	int err = 0;

	if (q->mode == BIN_Q_POSTED) {
		if (c->done == s->epoch * q->n || engine->credit(s->part, c->queue) < s->epoch * q->needs)
			return 0;
		c->done += q->n;
		return engine->post(s->part, c->queue);
	}
	while (!err && c->done < s->epoch * q->n && engine->credit(s->part, c->queue) > c->done) {
		const struct bin_entry *e = &s->job.posts.entries[q->first + c->done % q->n];

		if (e->kind == BIN_E_CPU && !carry_out(s, c, &s->b.ops[e->op]))
			break;
		c->done++;
		s->mine.locals += (e->flags & BIN_E_LOCAL) != 0;
		s->mine.remotes += (e->flags & BIN_E_REMOTE) != 0;
		if (e->sps)
			err = engine->release(s->part, e->queue, e->sps);
	}
	return err;
}

/* ---- binding ---- */

/* Checks that the bound operation is the one that the entries carry out: an interface's reduction is for one operation
 * on one type of integers. */
static int refuse_operation(const struct be_bind *b)
{
	const struct bin_posts p = bin_posts(b->bin, b->dir_row);

	for (uint32_t i = 0; i < p.head->nentries; i++)
		if (p.entries[i].kind == BIN_E_ARMW && p.entries[i].armw != b->armw)
			return group_error(b->group, -ERR_UNSUPPORTED,
					   "the schedule is lowered for another operation or datatype, and its entries only do that (op, type)");
	return 0;
}

static int check_support(const struct be_bind *b)
{
	const struct bin *bin = b->bin;
	int err;

	if (!bin->target)
		return group_error(b->group, -ERR_UNSUPPORTED,
				   "the schedule is not lowered to command queues, which smcq needs: goalc -T lower-smcq "
				   "makes a binary that is, for a number of ranks and a count");
	if (!b->layout->contiguous)
		return group_error(b->group, -ERR_UNSUPPORTED,
				   "smcq moves elements without gaps only, and those of this datatype have some");
	if (b->layout->basic > bin->target->limit[BIN_LIMIT_BYTES])
		return group_error(b->group, -ERR_UNSUPPORTED,
				   "the schedule is lowered for elements of at most %u bytes, and these have %zu (bytes)",
				   bin->target->limit[BIN_LIMIT_BYTES], b->layout->basic);
	err = bin_check_queues(bin, b->dir_row);
	return err ? group_error(b->group, err, "%s", err_text(err)) : refuse_operation(b);
}

/* Finds the engine that the environment variable GOAL_ENGINE names. */
static int find_engine(struct smcq_bound *s)
{
	const char *name = env_get(ENV_GOAL_ENGINE);
	const struct smcq_state *kept = *group_state(s->b.group);

	group_state_done(s->b.group);
	s->row = smcq_find(name);
	if (!s->row || !s->row->engine) {
		struct nearest n = smcq_nearest(name);

		return group_error(s->b.group, -ERR_ARG, "the environment variable GOAL_ENGINE cannot be \"%s\"%s", name,
				   s->row ? ": this build does not have it" : nearest_choices(&n));
	}
	if (kept && kept->engine != s->row->engine)
		return group_error(s->b.group, -ERR_STATE, "the context has been used with the engine %s", kept->engine->name);
	return 0;
}

static bool needs_cpu(const struct bin_queue *q)
{
	return q->mode == BIN_Q_CPU || q->mode == BIN_Q_POSTED;
}

static uint32_t count_cpus(const struct bin_posts *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->head->nqueues; i++)
		n += needs_cpu(&p->queues[i]);
	return n;
}

static int smcq_make(const struct be_bind *b, struct be_bound **out, struct be_handle *handle)
{
	struct smcq_bound *s;
	struct bin_posts posts;
	uint64_t off;
	int err = check_support(b);

	if (err)
		return err;
	posts = bin_posts(b->bin, b->dir_row);
	s = mem_calloc(1, sizeof *s + count_cpus(&posts) * sizeof *s->cpus);
	if (!s)
		return group_error(b->group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	*out = &s->base;
	s->base.ops = &smcq_ops;
	s->base.start = smcq_ops.start;
	s->b = *b;
	s->job = (struct smcq_job){ &s->b, posts };
	for (uint32_t i = 0; i < posts.head->nqueues; i++)
		if (needs_cpu(&posts.queues[i]))
			s->cpus[s->ncpus++].queue = i;
	s->base.turn = group_alloc(b->group, sizeof *s->base.turn, &off);
	if (!s->base.turn)
		return group_error(b->group, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	err = find_engine(s);
	err = err ? err : s->row->engine->make(&s->job, &s->part, handle);
	handle->own = (uint8_t)(s->row - smcq_engines); /* tells ranks with different engines apart in smcq_bind */
	return err;
}

static int smcq_bind(struct be_bound *bound, uint32_t views, int err)
{
	struct smcq_bound *s = to_smcq(bound);

	(void)views; /* smcq has no views */
	for (uint32_t r = 0; r < s->b.size && !err; r++)
		if (group_handle(s->b.group, r)->own != (uint64_t)(s->row - smcq_engines))
			err = group_error(s->b.group, -ERR_MISMATCH, "rank %u has another engine than rank %u", r, s->b.rank);
	return s->row->engine->connect(s->part, err);
}

static void smcq_memory(const struct be_bound *bound, struct be_memory *m)
{
	const struct smcq_bound *s = (const struct smcq_bound *)bound;

	m->shared += group_block_bytes(s->b.group, s->base.turn);
	m->private += mem_bytes(s);
	s->row->engine->memory(s->part, m);
}

static void smcq_unbind(struct be_bound *bound)
{
	struct smcq_bound *s = to_smcq(bound);

	if (!s)
		return;
	if (s->row && s->row->engine)
		s->row->engine->unmake(s->part);
	group_free(s->b.group, s->base.turn);
	free(s);
}

/* ---- running ---- */

static int poll_link(struct smcq_bound *s)
{
	const struct bin_queues *h = s->job.posts.head;
	struct smcq_notices notices;
	int rc = s->row->engine->poll(s->part, &notices), err = rc < 0 ? rc : 0;

	for (uint32_t i = 0; i < s->ncpus && !err; i++)
		err = run_queue(s, &s->cpus[i]);
	if (err)
		return err;
	return rc && notices.locals + s->mine.locals >= s->epoch * h->locals &&
	       notices.remotes + s->mine.remotes >= s->epoch * h->remotes;
}

static int smcq_start(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct smcq_bound *s = to_smcq(bound);

	(void)who; /* smcq has no helpers */
	s->epoch = epoch;
	return s->row->engine->start(s->part, epoch);
}

static int smcq_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct smcq_bound *s = to_smcq(bound);
	int rc = poll_link(s);

	(void)who;
	for (; !rc && spins; spins--) {
		be_pause();
		rc = poll_link(s);
	}
	return rc;
}

static int smcq_rebind(struct be_bound *bound, const struct be_buffer *buffers)
{
	struct smcq_bound *s = to_smcq(bound);
	int err = s->row->engine->rebind(s->part, buffers);

	if (!err)
		s->b.buffers = buffers;
	return err;
}

/* A rank that has left has freed its request, and freeing waits until all that the rank has posted is sent. */
static bool waits_for(const struct be_bound *bound, uint32_t rank)
{
	const struct smcq_bound *s = (const struct smcq_bound *)bound;

	return s->row->engine->waits_for && s->row->engine->waits_for(s->part, rank);
}

/* Always false: ranks only see what arrives. */
static bool has_started(const struct be_bound *bound, uint32_t rank)
{
	(void)bound;
	(void)rank;
	return false;
}

static uint32_t first_open(const struct be_bound *bound)
{
	(void)bound;
	return UINT32_MAX; /* the rank does not see single messages */
}

static uint64_t first_alarm(const struct be_bound *bound)
{
	const struct smcq_bound *s = (const struct smcq_bound *)bound;
	uint64_t first = s->row->engine->alarm ? s->row->engine->alarm(s->part) : UINT64_MAX;

	for (uint32_t i = 0; i < s->ncpus; i++)
		if (s->cpus[i].until && s->cpus[i].until < first)
			first = s->cpus[i].until;
	return first;
}

/* Reports the recvs as issued until the epoch is complete, because single packets cannot be seen. */
static void smcq_states(const struct be_bound *bound, uint8_t *state, const char **what)
{
	const struct smcq_bound *s = (const struct smcq_bound *)bound;
	const struct bin_posts *p = &s->job.posts;

	for (uint32_t i = 0; i < s->b.nops; i++) {
		state[i] = bin_recvs(s->b.ops[i].kind) ? BE_ISSUED : BE_DONE;
		what[i] = state[i] == BE_ISSUED ? "its packets" : NULL;
	}
	for (uint32_t i = 0; i < p->head->nqueues; i++) {
		const struct bin_queue *q = &p->queues[i];
		uint32_t k = q->first;

		if (s->row->engine->issued && q->mode != BIN_Q_CPU)
			k += s->row->engine->issued(s->part, i, s->epoch);
		for (; k < q->first + q->n; k++)
			if (p->entries[k].op != BIN_NONE) {
				state[p->entries[k].op] = BE_ISSUED;
				what[p->entries[k].op] = "its turn in a queue";
			}
	}
}

static void close_state(void *state)
{
	((const struct smcq_state *)state)->engine->close(state);
}

const struct be_ops smcq_ops = {
	.name = "smcq",
	.make = smcq_make,
	.bind = smcq_bind,
	.memory = smcq_memory,
	.unbind = smcq_unbind,
	.start = smcq_start,
	.progress = smcq_progress,
	.rebind = smcq_rebind,
	.waits_for = waits_for,
	.has_started = has_started,
	.open = first_open,
	.alarm = first_alarm,
	.close = close_state,
	.states = smcq_states,
};
