/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles plain GOAL to a binary in one pass and little memory. An op is encoded as soon as it is read, and a rank as soon
 * as it ends; messages are then matched in the finished image. Only texts without any finding can be compiled like this.
 * All others go through the graph (lower_plain.c), whose checks report the findings. */
#include "compiler/analysis/match.h"
#include "compiler/lower/lower.h"
#include "format/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

/* Returned if a check might report something about the text. The caller then builds the graph, whose checks report it. */
#define UNCLEAN (-ERR_SYNTAX)

struct stream {
	struct ir_image *im;
	size_t len; /* length of the text */
	uint32_t nranks;
	uint32_t next, rank; /* number that the next rank must have; number of the rank being read */
	uint64_t sends, recvs; /* numbers of ops of all ranks */
	/* The fields below are the state of the rank being read. */
	VEC(struct bin_op32) ops;
	VEC(struct bin_dep) deps; /* op and on are labels until the rank ends, then ops */
	VEC(uint32_t) op_of; /* for each label, 1 + number of its op, or 0 */
	uint64_t bytes[2]; /* bytes of the rank's sends, and of its recvs */
	/* last op of each kind, and its class: the next op of this kind often has the same class */
	struct {
		struct bin_op op;
		uint32_t cls;
	} last[BIN_OP_KINDS];
};

static int on_num_ranks(void *arg, uint64_t n, struct goal_loc at)
{
	struct stream *s = arg;

	(void)at;
	if (n == 0 || n > LOWER_MAX_RANKS || lower_too_short(n, s->len))
		return UNCLEAN;
	s->nranks = (uint32_t)n;
	return lower_plain_begin(s->im, s->nranks);
}

static int on_rank(void *arg, uint32_t rank, struct goal_loc at)
{
	struct stream *s = arg;

	(void)at;
	s->rank = rank;
	s->ops.n = s->deps.n = s->op_of.n = 0;
	s->bytes[0] = s->bytes[1] = 0;
	return 0;
}

/* Returns the class of an op. It often is the class of the last op of the same kind. */
static int64_t class_of(struct stream *s, const struct goal_plain_op *p)
{
	const struct bin_op *last = &s->last[p->kind].op;
	int64_t cls;

	if (last->kind && last->len == p->size && last->tag == p->tag && last->cpu == p->cpu && last->nic == p->nic)
		return s->last[p->kind].cls;
	s->last[p->kind].op = (struct bin_op){ .kind = p->kind,
					       .tag = p->tag,
					       .cpu = p->cpu,
					       .nic = p->nic,
					       .buf = { p->kind == GOAL_RECV, 0 },
					       .len = p->size };
	cls = lower_plain_class(s->im, last);
	s->last[p->kind].cls = (uint32_t)cls;
	return cls;
}

static int define_label(struct stream *s, uint32_t label)
{
	while (s->op_of.n <= label)
		if (VEC_PUSH(&s->op_of, 0))
			return -ERR_NOMEM;
	if (s->op_of.at[label])
		return UNCLEAN;
	s->op_of.at[label] = (uint32_t)s->ops.n + 1;
	return 0;
}

static int on_op(void *arg, const struct goal_plain_op *p)
{
	struct stream *s = arg;
	uint32_t value = (uint32_t)p->size;
	int64_t cls;
	int err = 0;

	if (s->ops.n == BIN_MAX_OPS)
		return -ERR_RANGE;
	if (p->kind != GOAL_CALC) {
		uint64_t *bytes = &s->bytes[p->kind == GOAL_RECV];

		/* A wildcard is also larger than any rank. */
		if (p->peer >= s->nranks || p->tag == GOAL_ANY || p->size > (uint64_t)INT64_MAX - *bytes)
			return UNCLEAN;
		*bytes += p->size;
		value = p->peer;
		*(p->kind == GOAL_SEND ? &s->sends : &s->recvs) += 1;
	} else if (p->size > UINT32_MAX) {
		value = 0;
	}
	if (p->label != GOAL_ANY)
		err = define_label(s, p->label);
	cls = class_of(s, p);
	if (err || cls < 0)
		return err ? err : (int)cls;
	return VEC_PUSH(&s->ops, (struct bin_op32){ value, (uint32_t)cls, 0 });
}

static int on_dep(void *arg, const struct goal_plain_dep *dep)
{
	struct stream *s = arg;

	if (dep->on >= BIN_START)
		return -ERR_RANGE;
	return VEC_PUSH(&s->deps, (struct bin_dep){ dep->op, dep->on | (dep->start ? BIN_START : 0) });
}

/* Replaces labels by ops in the dependencies. Sets *forward if an op depends on itself or on a later one. */
static int resolve_labels(struct stream *s, bool *forward)
{
	for (size_t i = 0; i < s->deps.n; i++) {
		struct bin_dep *d = &s->deps.at[i];
		uint32_t on = d->on & ~BIN_START;

		if (d->op >= s->op_of.n || on >= s->op_of.n || !s->op_of.at[d->op] || !s->op_of.at[on])
			return UNCLEAN;
		d->op = s->op_of.at[d->op] - 1;
		d->on = (s->op_of.at[on] - 1) | (d->on & BIN_START);
		*forward |= (d->on & ~BIN_START) >= d->op;
	}
	return 0;
}

/* Checks that the dependencies do not contradict the order of the text on a channel. Only dependencies that point forward
 * can do so. */
static int check_order(const struct stream *s, struct ir_rank *r)
{
	uint32_t bad;
	int err;

	r->ops = mem_calloc(r->nops, sizeof *r->ops);
	if (!r->ops)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < r->nops; i++) {
		const struct bin_class *c = &s->im->classes.at[s->ops.at[i].cls];

		r->ops[i] = (struct bin_op){ .kind = c->kind, .peer = s->ops.at[i].arg, .tag = c->tag };
	}
	err = ir_rank_order(r, &bad);
	return err == -ERR_CYCLE ? UNCLEAN : err;
}

static int on_end(void *arg, const struct goal_labels *labels, bool broken)
{
	struct stream *s = arg;
	bool forward = false;
	struct ir_rank r = { .nops = (uint32_t)s->ops.n };
	int err;

	(void)labels;
	if (broken || s->rank != s->next)
		return UNCLEAN;
	s->next++;
	err = resolve_labels(s, &forward);
	if (!err)
		err = ir_rank_set_deps(&r, s->deps.at, (uint32_t)s->deps.n);
	if (!err && forward)
		err = check_order(s, &r);
	if (!err)
		err = ir_image_rank(s->im, &r, s->ops.at, NULL);
	ir_rank_fini(&r);
	return err == -ERR_CYCLE ? UNCLEAN : err;
}

/* ---- messages ---- */

/* One end of a message, in a list of ends at one rank. */
struct end {
	uint32_t peer, cls;
};

struct ends {
	VEC(struct end) v, room; /* room: memory for sorting */
};

/* Order by channel: true if x comes after y. Ends of one channel keep the order of the text. */
static bool end_is_later(const struct bin_class *classes, const struct end *x, const struct end *y)
{
	return x->peer != y->peer ? x->peer > y->peer : classes[x->cls].tag > classes[y->cls].tag;
}

#define FEW 16u

/* Sorts ends by a stable merge sort that sorts short runs by insertion. */
static void sort_ends(const struct bin_class *classes, struct end *v, struct end *room, size_t n)
{
	size_t half = n / 2, i = 0, k = half, out = 0;

	if (n <= FEW) {
		for (i = 1; i < n; i++) {
			struct end e = v[i];

			for (k = i; k > 0 && end_is_later(classes, &v[k - 1], &e); k--)
				v[k] = v[k - 1];
			v[k] = e;
		}
		return;
	}
	sort_ends(classes, v, room, half);
	sort_ends(classes, v + half, room, n - half);
	memcpy(room, v, half * sizeof *v);
	while (i < half)
		v[out++] = k < n && end_is_later(classes, &room[i], &v[k]) ? v[k++] : room[i++];
}

/* The ops of a rank in the image. */
struct section {
	const unsigned char *at;
	uint32_t nops;
	bool wide;
};

static struct section rank_section(const struct ir_image *im, uint32_t rank)
{
	const struct bin_rank *h = ir_image_section(im, rank);

	return (struct section){ (const unsigned char *)(h + 1), h->nops, h->ndeps & BIN_R_WIDE };
}

static struct end end_at(const struct section *s, uint32_t i)
{
	if (s->wide) {
		const struct bin_op32 *op = (const struct bin_op32 *)(const void *)s->at + i;

		return (struct end){ op->arg, op->cls };
	}
	const struct bin_op16 *op = (const struct bin_op16 *)(const void *)s->at + i;

	return (struct end){ op->arg, op->cls };
}

/* Lists the sends to ranks lo … lo + n - 1, by receiver and then in the order of the text. at[i] becomes the end of the
 * sends to rank lo + i. */
static int sends_to(const struct stream *s, uint32_t lo, uint32_t n, uint32_t *at, struct ends *out)
{
	const struct bin_class *classes = s->im->classes.at;
	uint32_t total = 0;

	memset(at, 0, n * sizeof *at);
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t r = 0; r < s->nranks; r++) {
			struct section sec = rank_section(s->im, r);

			for (uint32_t i = 0; i < sec.nops; i++) {
				struct end e = end_at(&sec, i);

				if (e.peer - lo >= n || classes[e.cls].kind != BIN_OP_SEND)
					continue;
				if (fill)
					out->v.at[at[e.peer - lo]] = (struct end){ r, e.cls };
				at[e.peer - lo]++;
			}
		}
		if (fill)
			break;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t count = at[i];

			at[i] = total;
			total += count;
		}
		if (VEC_RESERVE(&out->v, total))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Checks that the recvs of a rank match the n sends to it: on each channel, the same number, with the same sizes in the
 * same order. */
static int match_rank(const struct stream *s, uint32_t rank, struct end *sent, uint32_t n, struct ends *tmp)
{
	const struct bin_class *classes = s->im->classes.at;
	struct section sec = rank_section(s->im, rank);
	struct end *recvs;

	tmp->v.n = 0;
	if (VEC_RESERVE(&tmp->v, n) || VEC_RESERVE(&tmp->room, n / 2))
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < sec.nops; i++) {
		struct end e = end_at(&sec, i);

		if (classes[e.cls].kind != BIN_OP_RECV)
			continue;
		if (tmp->v.n == n)
			return UNCLEAN;
		tmp->v.at[tmp->v.n++] = e;
	}
	if (tmp->v.n != n)
		return UNCLEAN;
	recvs = tmp->v.at;
	sort_ends(classes, sent, tmp->room.at, n);
	sort_ends(classes, recvs, tmp->room.at, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct bin_class *a = &classes[sent[i].cls], *b = &classes[recvs[i].cls];

		/* Equal sizes have the same row of EXPRS. */
		if (sent[i].peer != recvs[i].peer || a->tag != b->tag || a->len != b->len)
			return UNCLEAN;
	}
	return 0;
}

/* With more than MANY messages, the receivers are handled in TURNS groups, so that the list of sends stays small compared
 * with the image. */
#define MANY 65536u
#define TURNS 4u

static int match_messages(const struct stream *s)
{
	uint32_t most = s->sends > MANY ? s->nranks / TURNS + 1 : s->nranks, *at;
	struct ends sends = { 0 }, tmp = { 0 };
	int err;

	if (s->sends != s->recvs || s->sends > UINT32_MAX)
		return UNCLEAN;
	if (!s->sends)
		return 0;
	at = mem_alloc(most * sizeof *at);
	err = at ? 0 : -ERR_NOMEM;
	for (uint32_t lo = 0, n; lo < s->nranks && !err; lo += n) {
		n = s->nranks - lo < most ? s->nranks - lo : most;
		err = sends_to(s, lo, n, at, &sends);
		for (uint32_t i = 0, from = 0; i < n && !err; from = at[i++])
			err = match_rank(s, lo + i, sends.v.at + from, at[i] - from, &tmp);
	}
	free(at);
	VEC_FREE(&sends.v);
	VEC_FREE(&tmp.v);
	VEC_FREE(&tmp.room);
	return err;
}

int stream_plain(const char *name, const struct file *f, void **image, size_t *size)
{
	struct ir_image im = { 0 };
	struct stream s = { .im = &im, .len = f->len };
	const struct goal_plain_sink sink = { &s, on_num_ranks, on_rank, on_op, on_dep, on_end };
	struct goal_diags *d = goal_diags_new(); /* discarded, because compiling by the graph reports the same */
	int file = d ? goal_diags_file(d, name, f) : -ERR_NOMEM;
	int err = file < 0 ? file : ir_image_init(&im);

	err = err ? err : goal_parse_plain(d, (unsigned)file, &sink);
	if (!err && (goal_diags_errors(d) || goal_diags_warnings(d) || !s.nranks || s.next < s.nranks))
		err = UNCLEAN;
	goal_diags_free(d);
	VEC_FREE(&s.ops);
	VEC_FREE(&s.deps);
	VEC_FREE(&s.op_of);
	err = err ? err : match_messages(&s);
	err = err ? err : ir_image_finish(&im, false, image, size);
	ir_image_fini(&im);
	return err;
}
