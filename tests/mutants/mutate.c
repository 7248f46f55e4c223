/* SPDX-License-Identifier: BSD-3-Clause
 * Which changes a graph allows, and how they are made. */
#include "tests/mutants/mutate.h"

#include "compiler/analysis/match.h"
#include "format/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mutation_words[MUTATION_KINDS] = {
	[DROP_DEP] = "drop-dep",   [WEAKEN_DEP] = "weaken-dep",	      [DROP_OP] = "drop-op",
	[SHIFT] = "shift",	   [LENGTH] = "length",		      [LENGTH_BOTH] = "length-both",
	[PEER] = "peer",	   [SWAP_PEERS] = "swap-peers",	      [TAG] = "tag",
	[ORDER] = "order",	   [SWAP_TEXT] = "swap-text",	      [SAME_DROP_DEP] = "same-drop-dep",
	[SAME_TAG] = "same-tag",   [SAME_SWAP_TEXT] = "same-swap-text",
};

/* ---- what there is to change ---- */

static bool one_channel(const struct bin_op *a, const struct bin_op *b)
{
	return bin_is_message(a->kind) && bin_is_message(b->kind) && bin_sends(a->kind) == bin_sends(b->kind) && a->peer == b->peer &&
	       a->tag == b->tag;
}

/* Whether dependency d of an op follows from the others: a way back over them that ends in a completion,
 * or in a start where d asks for no more. Both arrays have room for
 * all ops and one more. */
static bool implied(const struct ir_rank *r, uint32_t op, uint32_t d, bool *reached, uint32_t *stack)
{
	uint32_t n = 0, goal = r->deps[d] & ~BIN_START;
	bool found = false;

	memset(reached, 0, r->nops);
	stack[n++] = op;
	while (n && !found) {
		uint32_t i = stack[--n];

		for (uint32_t k = r->dep_at[i]; k < r->dep_at[i + 1]; k++) {
			uint32_t on = r->deps[k] & ~BIN_START;

			if (k == d)
				continue;
			found |= on == goal && (!(r->deps[k] & BIN_START) || (r->deps[d] & BIN_START));
			if (!reached[on]) {
				reached[on] = true;
				stack[n++] = on;
			}
		}
	}
	return found;
}

static int of_deps(const struct ir_rank *r, uint32_t rank, struct mutations *out)
{
	bool *reached = mem_alloc((size_t)r->nops + 1);
	uint32_t *stack = mem_alloc(((size_t)r->nops + 1) * sizeof *stack);
	int err = reached && stack ? 0 : -ERR_NOMEM;

	for (uint32_t i = 0; i < r->nops && !err; i++)
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1] && !err; d++) {
			struct mutation m = { .kind = DROP_DEP, .rank = rank, .op = i, .x = d };

			if (implied(r, i, d, reached, stack))
				m.kind = SAME_DROP_DEP;
			err = VEC_PUSH(&out->v, m);
			if (err || m.kind == SAME_DROP_DEP || (r->deps[d] & BIN_START))
				continue;
			m.kind = WEAKEN_DEP;
			err = VEC_PUSH(&out->v, m);
		}
	free(reached);
	free(stack);
	return err;
}

static int of_op(const struct ir_graph *g, uint32_t rank, uint32_t i, struct mutations *out)
{
	const struct ir_rank *r = &g->ranks[rank];
	const struct bin_op *op = &r->ops[i];
	struct mutation m = { .rank = rank, .op = i };
	int err = 0;

#define MUTATION(name, ...) (m.kind = (name), __VA_ARGS__, err = err ? err : VEC_PUSH(&out->v, m))
	MUTATION(DROP_OP, m.x = 0);
	for (unsigned k = 0; k < bin_nranges(op->kind) && op->len; k++) {
		m.range = (uint8_t)k;
		MUTATION(SHIFT, m.x = 1);
		MUTATION(SHIFT, m.x = -1);
		if (op->len > 1) {
			MUTATION(SHIFT, m.x = (int64_t)op->len);
			MUTATION(SHIFT, m.x = -(int64_t)op->len);
		}
	}
	m.range = 0;
	for (int x = bin_nranges(op->kind) ? -1 : 2; x < 2; x += 2)
		if (x > 0 || op->len) {
			MUTATION(LENGTH, m.x = x);
			if (op->kind == BIN_OP_SEND)
				MUTATION(LENGTH_BOTH, m.x = x);
		}
	if (bin_is_message(op->kind)) {
		for (uint32_t p = 0; p < g->nranks; p++)
			if (p != op->peer)
				MUTATION(PEER, m.x = p);
		for (uint32_t k = i + 1; k < r->nops; k++)
			if (r->ops[k].kind == op->kind && r->ops[k].peer != op->peer)
				MUTATION(SWAP_PEERS, m.x = k);
		MUTATION(TAG, m.x = (int64_t)op->tag + 1);
		if (op->tag)
			MUTATION(TAG, m.x = (int64_t)op->tag - 1);
	}
	if (bin_reduces(op->kind))
		MUTATION(ORDER, m.x = 0);
	if (i + 1 < r->nops)
		MUTATION(one_channel(op, op + 1) ? SWAP_TEXT : SAME_SWAP_TEXT, m.x = 0);
	if (op->kind == BIN_OP_SEND) {
		bool first = true;

		for (uint32_t k = 0; k < i; k++)
			first &= !one_channel(op, &r->ops[k]);
		if (first)
			MUTATION(SAME_TAG, m.x = 0);
	}
#undef MUTATION
	return err;
}

int mutations_of(const struct ir_graph *g, struct mutations *out)
{
	int err = 0;

	for (uint32_t r = 0; r < g->nranks && !err; r++) {
		err = of_deps(&g->ranks[r], r, out);
		for (uint32_t i = 0; i < g->ranks[r].nops && !err; i++)
			err = of_op(g, r, i, out);
	}
	return err;
}

/* ---- a sample ---- */

static uint64_t shuffled(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random >> 20;
}

static int by_op(const void *a, const void *b)
{
	const struct mutation *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

static void swap(struct mutation *a, struct mutation *b)
{
	struct mutation x = *a;

	*a = *b;
	*b = x;
}

int mutations_draw(struct mutations *m, size_t most, uint64_t seed)
{
	uint64_t random = seed * 2654435761u + 88172645463325252u;
	struct mutation *v = m->v.at;
	size_t taken = 0;
	bool kinds[MUTATION_KINDS] = { 0 };

	if (m->v.n <= most)
		return 0;
	for (size_t i = m->v.n - 1; i > 0; i--)
		swap(&v[i], &v[shuffled(&random) % (i + 1)]);
	for (size_t i = 0; i < m->v.n && taken < most; i++)
		if (!kinds[v[i].kind]) {
			kinds[v[i].kind] = true;
			swap(&v[i], &v[taken++]);
		}
	/* The others: those of an op that is not there yet come first. */
	struct mutation *seen = mem_alloc((most + 1) * sizeof *seen);

	if (!seen)
		return -ERR_NOMEM;
	memcpy(seen, v, taken * sizeof *seen);
	qsort(seen, taken, sizeof *seen, by_op);
	for (size_t i = taken, n = taken; i < m->v.n && taken < most; i++)
		if (!n || !bsearch(&v[i], seen, n, sizeof *seen, by_op)) {
			size_t at = n++;

			for (; at && by_op(&seen[at - 1], &v[i]) > 0; at--)
				seen[at] = seen[at - 1];
			seen[at] = v[i];
			swap(&v[i], &v[taken++]);
		}
	free(seen);
	m->v.n = most;
	return 0;
}

/* ---- the change ---- */

static int edges_of(const struct ir_rank *r, struct bin_dep **edges, uint32_t *n)
{
	*n = 0;
	*edges = mem_alloc(r->dep_at[r->nops] * sizeof **edges);
	for (uint32_t i = 0; *edges && i < r->nops; i++)
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++)
			(*edges)[(*n)++] = (struct bin_dep){ i, r->deps[d] };
	return *edges ? 0 : -ERR_NOMEM;
}

#define NOWHERE UINT32_MAX

/* Op i is at place to[i] from now on. */
static int renumber(struct ir_rank *r, const uint32_t *to, uint32_t nops)
{
	struct bin_dep *edges;
	uint32_t n, m = 0;
	struct bin_op *ops = mem_alloc(nops * sizeof *ops);
	int err = edges_of(r, &edges, &n);

	if (err || !ops) {
		free(edges);
		free(ops);
		return -ERR_NOMEM;
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t op = to[edges[k].op], on = to[edges[k].on & ~BIN_START];

		if (op != NOWHERE && on != NOWHERE)
			edges[m++] = (struct bin_dep){ op, on | (edges[k].on & BIN_START) };
	}
	for (uint32_t i = 0; i < r->nops; i++)
		if (to[i] != NOWHERE)
			ops[to[i]] = r->ops[i];
	free(r->ops);
	r->ops = ops;
	r->nops = nops;
	err = ir_rank_set_deps(r, edges, m);
	free(edges);
	return err;
}

static int change_text(struct ir_rank *r, uint32_t op, bool drop)
{
	uint32_t *to = mem_alloc(r->nops * sizeof *to);
	int err;

	if (!to)
		return -ERR_NOMEM;
	for (uint32_t i = 0; i < r->nops; i++)
		to[i] = drop && i > op ? i - 1 : i;
	to[op] = drop ? NOWHERE : op + 1;
	if (!drop)
		to[op + 1] = op;
	err = renumber(r, to, r->nops - drop);
	free(to);
	return err;
}

static int change_dep(struct ir_rank *r, uint32_t d, bool drop)
{
	struct bin_dep *edges;
	uint32_t n;
	int err = edges_of(r, &edges, &n);

	if (err)
		return err;
	if (drop)
		edges[d] = edges[--n];
	else
		edges[d].on |= BIN_START;
	err = ir_rank_set_deps(r, edges, n);
	free(edges);
	return err;
}

/* Both ends of a channel get a tag that no op has. */
static void rename_channel(struct ir_graph *g, uint32_t src, const struct bin_op send)
{
	uint32_t tag = 0;

	for (uint32_t r = 0; r < g->nranks; r++)
		for (uint32_t i = 0; i < g->ranks[r].nops; i++)
			if (g->ranks[r].ops[i].tag >= tag)
				tag = g->ranks[r].ops[i].tag + 1;
	for (uint32_t i = 0; i < g->ranks[src].nops; i++)
		if (one_channel(&g->ranks[src].ops[i], &send))
			g->ranks[src].ops[i].tag = tag;
	for (uint32_t i = 0; i < g->ranks[send.peer].nops; i++) {
		struct bin_op *op = &g->ranks[send.peer].ops[i];

		if (bin_recvs(op->kind) && op->peer == src && op->tag == send.tag)
			op->tag = tag;
	}
}

static int change_lengths(struct ir_graph *g, const struct mutation *m)
{
	struct ir_match *match;
	size_t n;
	int err = ir_graph_match(g, &match, &n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		if (match[i].src == m->rank && match[i].send == m->op) {
			g->ranks[match[i].src].ops[match[i].send].len += (uint64_t)m->x;
			g->ranks[match[i].dst].ops[match[i].recv].len += (uint64_t)m->x;
		}
	free(match);
	return 0;
}

static uint8_t other_order(uint8_t kind)
{
	switch (kind) {
	case BIN_OP_REDUCE:
		return BIN_OP_REDUCE_WITH;
	case BIN_OP_REDUCE_WITH:
		return BIN_OP_REDUCE;
	case BIN_OP_RECV_REDUCE:
		return BIN_OP_RECV_REDUCE_WITH;
	default:
		return BIN_OP_RECV_REDUCE;
	}
}

static int change(struct ir_graph *g, const struct mutation *m)
{
	struct ir_rank *r = &g->ranks[m->rank];
	struct bin_op *op = &r->ops[m->op];
	uint32_t peer = op->peer;

	switch ((enum mutation_kind)m->kind) {
	case DROP_DEP:
	case SAME_DROP_DEP:
		return change_dep(r, (uint32_t)m->x, true);
	case WEAKEN_DEP:
		return change_dep(r, (uint32_t)m->x, false);
	case DROP_OP:
		return change_text(r, m->op, true);
	case SWAP_TEXT:
	case SAME_SWAP_TEXT:
		return change_text(r, m->op, false);
	case LENGTH_BOTH:
		return change_lengths(g, m);
	case SHIFT:
		op->off[m->range] += (uint64_t)m->x;
		break;
	case LENGTH:
		op->len += (uint64_t)m->x;
		break;
	case PEER:
		op->peer = (uint32_t)m->x;
		break;
	case SWAP_PEERS:
		op->peer = r->ops[m->x].peer;
		r->ops[m->x].peer = peer;
		break;
	case TAG:
		op->tag = (uint32_t)m->x;
		break;
	case SAME_TAG:
		rename_channel(g, m->rank, *op);
		break;
	case ORDER:
		op->kind = other_order(op->kind);
		break;
	case MUTATION_KINDS:
		break;
	}
	return 0;
}

static void *copy(const void *from, size_t n, size_t size)
{
	void *to = mem_alloc(n * size);

	return to && n ? memcpy(to, from, n * size) : to;
}

static int copy_rank(struct ir_rank *to, const struct ir_rank *r, uint32_t nbuffers)
{
	to->nops = r->nops;
	to->ops = copy(r->ops, r->nops, sizeof *r->ops);
	to->dep_at = copy(r->dep_at, (size_t)r->nops + 1, sizeof *r->dep_at);
	to->deps = to->dep_at ? copy(r->deps, r->dep_at[r->nops], sizeof *r->deps) : NULL;
	to->bufsize = r->bufsize ? copy(r->bufsize, nbuffers, sizeof *r->bufsize) : NULL;
	return to->ops && to->dep_at && to->deps && (to->bufsize || !r->bufsize) ? 0 : -ERR_NOMEM;
}

int mutant_init(struct ir_graph *out, const struct ir_graph *g, const struct mutation *m)
{
	int err;

	*out = *g;
	out->ranks = mem_calloc(g->nranks, sizeof *out->ranks);
	err = out->ranks ? 0 : -ERR_NOMEM;
	for (uint32_t r = 0; r < g->nranks && !err; r++)
		err = copy_rank(&out->ranks[r], &g->ranks[r], g->nbuffers);
	err = err || !m ? err : change(out, m);
	if (err)
		mutant_fini(out);
	return err;
}

void mutant_fini(struct ir_graph *g)
{
	for (uint32_t r = 0; g->ranks && r < g->nranks; r++)
		ir_rank_fini(&g->ranks[r]);
	free(g->ranks);
	g->ranks = NULL;
}

void mutation_text(char *text, size_t size, const struct ir_graph *g, const struct mutation *m)
{
	const struct bin_op *op = &g->ranks[m->rank].ops[m->op];
	const struct ir_rank *r = &g->ranks[m->rank];
	bool dep = m->kind == DROP_DEP || m->kind == WEAKEN_DEP || m->kind == SAME_DROP_DEP;

	snprintf(text, size, "%s%s: rank %u, op %u (%s, line %u)%s%lld", mutation_words[m->kind],
		 m->kind == SHIFT && m->range ? " of the second range" : "", m->rank, m->op, ir_op_word(op->kind),
		 ir_graph_loc(g, op).line, dep ? " on op " : " ",
		 dep ? (long long)(r->deps[m->x] & ~BIN_START) : (long long)m->x);
}
