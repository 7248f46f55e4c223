/* SPDX-License-Identifier: BSD-3-Clause
 * The buffers of a collective in diff. Each is there three times: for our call, for the blocking one, and with what is right, which
 * the test computes from the values that all ranks know. Whole buffers are compared, with gaps and what lies before and behind. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };
enum shape { NO, ONE, EACH, VECTOR };

static const enum shape shapes[C_COUNT][2] = {
	[C_BARRIER] = { NO, NO },
	[C_BCAST] = { ONE, NO },
	[C_GATHER] = { ONE, EACH },
	[C_GATHERV] = { ONE, VECTOR },
	[C_SCATTER] = { EACH, ONE },
	[C_SCATTERV] = { VECTOR, ONE },
	[C_ALLGATHER] = { ONE, EACH },
	[C_ALLGATHERV] = { ONE, VECTOR },
	[C_ALLTOALL] = { EACH, EACH },
	[C_ALLTOALLV] = { VECTOR, VECTOR },
	[C_ALLTOALLW] = { VECTOR, VECTOR },
	[C_REDUCE] = { ONE, ONE },
	[C_ALLREDUCE] = { ONE, ONE },
	[C_REDUCE_SCATTER] = { ONE, ONE },
	[C_REDUCE_SCATTER_BLOCK] = { ONE, ONE },
	[C_SCAN] = { ONE, ONE },
	[C_EXSCAN] = { ONE, ONE },
	[C_NEIGHBOR_ALLGATHER] = { ONE, EACH },
	[C_NEIGHBOR_ALLGATHERV] = { ONE, VECTOR },
	[C_NEIGHBOR_ALLTOALL] = { EACH, EACH },
	[C_NEIGHBOR_ALLTOALLV] = { VECTOR, VECTOR },
	[C_NEIGHBOR_ALLTOALLW] = { VECTOR, VECTOR },
};

static void *need(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

static bool is_gather(enum coll c)
{
	return c == C_GATHER || c == C_GATHERV;
}

static bool is_scatter(enum coll c)
{
	return c == C_SCATTER || c == C_SCATTERV;
}

static bool scatters_reduced(enum coll c)
{
	return c == C_REDUCE_SCATTER || c == C_REDUCE_SCATTER_BLOCK;
}

/* ---- how many units are in each block ---- */

/* All that a reduction takes from a rank. */
static int total(const struct plan *p)
{
	int i, n = 0;

	if (!scatters_reduced(p->coll))
		return plan_units(p, 0, 0);
	for (i = 0; i < p->on->size; i++)
		n += plan_units(p, i, 0);
	return n;
}

static void side_use(const struct plan *p, bool send, struct side *s)
{
	enum coll c = p->coll;
	bool root = p->on->rank == p->root;

	s->used = shapes[c][send ? 0 : 1] != NO;
	s->output = !send || (c == C_BCAST && !root);
	if (send && is_scatter(c))
		s->used = root;
	if (!send && (is_gather(c) || c == C_REDUCE))
		s->used = root;
	if (p->place && (is_gather(c) || c == C_REDUCE))
		s->used &= !(send && root);
	else if (p->place && is_scatter(c))
		s->used &= !(!send && root);
	else if (p->place && send)
		s->used = false;
	s->vector = shapes[c][send ? 0 : 1] == VECTOR;
	s->separate = c == C_ALLTOALLW || c == C_NEIGHBOR_ALLTOALLW;
}

static int block_units(const struct plan *p, bool send, int b)
{
	int me = p->on->rank, from, number;

	if (reduces(p->coll))
		return send || p->place || !scatters_reduced(p->coll) ? total(p) : plan_units(p, me, 0);
	if (is_scatter(p->coll))
		return plan_units(p, send ? b : me, 0);
	if (send)
		return shapes[p->coll][0] == ONE ? plan_units(p, me, 0) : plan_units(p, me, b);
	if (!is_near(p->coll))
		return shapes[p->coll][0] == ONE ? plan_units(p, b, 0) : plan_units(p, b, me);
	if (!plan_source(p, b, &from, &number)) /* a border: the block is not touched */
		return plan_units(p, 100 + b, me);
	return plan_units(p, from, number);
}

static void side_blocks(const struct plan *p, bool send, struct side *s)
{
	const struct pooled *on = p->on;
	enum shape shape = shapes[p->coll][send ? 0 : 1];
	const int *at = send ? on->out_at : on->in_at;
	int b;

	s->blocks = shape == ONE ? 1 : is_near(p->coll) ? at[on->rank + 1] - at[on->rank] : on->size;
	s->units = need((size_t)s->blocks, sizeof(int));
	s->counts = need((size_t)s->blocks, sizeof(int));
	s->displs = need((size_t)s->blocks, sizeof(int));
	for (b = 0; b < s->blocks; b++)
		s->units[b] = block_units(p, send, b);
}

/* ---- types and displacements ---- */

static int divisor(struct rng *own, int n)
{
	int d = 1 + below(own, n);

	while (n % d)
		d--;
	return d;
}

/* One type for a block of n units, and the count of it. */
static struct layout single(struct rng *own, const struct plan *p, int n, int blocks, int *count)
{
	int m = n == 0 ? (p->hollow || one_in(own, 2) ? 0 : p->multiple) : divisor(own, n);

	*count = n ? n / m : p->hollow ? 1 + below(own, 3) : 0;
	return layout_draw(own, p->unit, p->units, m, blocks * (n ? n / m : 1));
}

static void displace(struct rng *own, struct side *s, int m, int *span)
{
	int *order = need((size_t)s->blocks, sizeof(int)), i, a = one_in(own, 6) ? -below(own, 20) : below(own, 4), first = a;
	bool plain = one_in(own, 3);

	for (i = 0; i < s->blocks; i++)
		order[i] = i;
	if (!plain)
		shuffle(own, order, s->blocks);
	for (i = 0; i < s->blocks; i++) {
		s->counts[order[i]] = s->units[order[i]] / m;
		s->displs[order[i]] = a;
		a += s->counts[order[i]] + (plain ? 0 : below(own, 3));
	}
	*span = a - first + 1;
	free(order);
}

/* Where `count` copies of a type begin and end. */
static void bounds(const struct layout *l, int count, long *low, long *high)
{
	long first = l->lb, last = l->lb + l->extent;
	int k;

	for (k = 0; k < l->n; k++) {
		first = l->e[k].at < first ? l->e[k].at : first;
		last = l->e[k].at + 32 > last ? l->e[k].at + 32 : last;
	}
	*low = first;
	*high = last + (count - 1) * l->extent;
}

/* MPI_Alltoallw: a type for each block, displacements in bytes. */
static void draw_separate(struct rng *own, const struct plan *p, struct side *s)
{
	int *order = need((size_t)s->blocks, sizeof(int)), i, b;
	long a = one_in(own, 3) ? -320 : 0, low, high;

	s->lays = s->blocks;
	s->lay = need((size_t)s->blocks, sizeof(*s->lay));
	for (b = 0; b < s->blocks; b++) {
		s->lay[b] = single(own, p, s->units[b], 1, &s->counts[b]);
		order[b] = b;
	}
	shuffle(own, order, s->blocks);
	for (i = 0; i < s->blocks; i++) {
		b = order[i];
		bounds(&s->lay[b], s->counts[b] ? s->counts[b] : 1, &low, &high);
		s->displs[b] = (int)((a - low + 15) & ~15L);
		a = s->displs[b] + high + 16 * below(own, 2);
	}
	free(order);
}

static void draw_types(struct rng *own, const struct plan *p, struct side *s)
{
	const struct user_op *u = p->user < 0 ? NULL : &user_ops[p->user];
	int b, m, span;

	if (s->separate) {
		draw_separate(own, p, s);
		return;
	}
	s->lays = 1;
	s->lay = need(1, sizeof(*s->lay));
	if (reduces(p->coll)) {
		s->lay[0] = u ? layout_places(p->unit, u->at, u->n, u->lb, u->extent) : layout_basic(p->unit[0]);
		if (!u)
			s->lay[0].extent = basics[p->unit[0]].extent;
		s->counts[0] = s->units[0];
	} else if (s->vector) {
		m = divisor(own, p->multiple);
		displace(own, s, m, &span);
		s->lay[0] = layout_draw(own, p->unit, p->units, m, span);
	} else {
		s->lay[0] = single(own, p, s->blocks ? s->units[0] : plan_units(p, 0, 0), s->blocks, &s->counts[0]);
		for (b = 0; b < s->blocks; b++) {
			s->counts[b] = s->counts[0];
			s->displs[b] = b * s->counts[0];
		}
	}
}

/* ---- memory ---- */

static const struct layout *lay_of(const struct side *s, int b)
{
	return s->separate ? &s->lay[b] : s->lay;
}

static long start_of(const struct side *s, int b)
{
	return s->separate ? s->displs[b] : s->displs[b] * s->lay->extent;
}

/* Element k of a block, relative to the buffer. */
static long place(const struct side *s, int b, int k, int *basic)
{
	const struct layout *l = lay_of(s, b);

	*basic = l->e[k % l->n].basic;
	return start_of(s, b) + (k / l->n) * l->extent + l->e[k % l->n].at;
}

static int elements(const struct plan *p, const struct side *s, int b)
{
	return s->units[b] * p->units;
}

static char *memory(const struct side *s)
{
	void *p;

	if (!s->shared)
		p = aligned_alloc(64, (size_t)s->bytes);
	else if (MPI_Alloc_mem(s->bytes, MPI_INFO_NULL, &p) != MPI_SUCCESS)
		p = NULL;
	if (!p)
		abort();
	return p;
}

static void draw_memory(struct rng *own, struct side *s)
{
	long low = 0, high = 0, first, last;
	bool any = false;
	int b;

	for (b = 0; b < s->blocks; b++) {
		if (s->counts[b] == 0 || s->units[b] == 0)
			continue;
		bounds(lay_of(s, b), s->counts[b], &first, &last);
		low = !any || start_of(s, b) + first < low ? start_of(s, b) + first : low;
		high = !any || start_of(s, b) + last > high ? start_of(s, b) + last : high;
		any = true;
	}
	s->low = (low & ~15L) - GUARD;
	s->bytes = (high - s->low + 2 * GUARD) & ~(GUARD - 1L);
	s->empty = !any && s->blocks > 0 && one_in(own, 2);
	s->shared = one_in(own, 4);
	s->ours = memory(s);
	s->theirs = memory(s);
	s->right = memory(s);
}

void sides_draw(struct rng *own, const struct plan *p, struct sides *s)
{
	struct side *side;
	int i;

	*s = (struct sides){ .plan = p };
	for (i = 0; i < 2; i++) {
		side = i == 0 ? &s->send : &s->recv;
		side_use(p, i == 0, side);
		if (!side->used)
			continue;
		side_blocks(p, i == 0, side);
		draw_types(own, p, side);
		draw_memory(own, side);
	}
	if (s->send.empty) /* some libraries do not take the same buffer twice, if it is NULL */
		s->recv.empty = false;
	if (!reduces(p->coll) && one_in(own, 10)) {
		side = s->send.used && (!s->recv.used || one_in(own, 2)) ? &s->send : &s->recv;
		side->absolute = side->used && !side->empty;
	}
}

static void side_free(struct side *s)
{
	int i;

	if (!s->used)
		return;
	for (i = 0; i < s->lays; i++)
		layout_free(&s->lay[i]);
	for (i = 0; i < 3; i++) {
		char *p = i == 0 ? s->ours : i == 1 ? s->theirs : s->right;

		if (s->shared)
			MPI_Free_mem(p);
		else
			free(p);
	}
	free(s->lay);
	free(s->units);
	free(s->counts);
	free(s->displs);
}

void sides_free(struct sides *s)
{
	side_free(&s->send);
	side_free(&s->recv);
}

/* ---- arguments of a call ---- */

static MPI_Datatype type_for(struct args *a, const struct side *s, const struct layout *l, char *buf)
{
	MPI_Aint where;
	MPI_Datatype t;

	if (s->absolute) {
		MPI_Get_address(buf, &where);
		MPI_Type_create_hindexed(1, (int[]){ 1 }, &where, l->type, &t);
		MPI_Type_commit(&t);
	} else if (l->owned) {
		MPI_Type_dup(l->type, &t);
	} else {
		return l->type;
	}
	a->owned[a->owns++] = t;
	return t;
}

static void give(struct rng *own, struct args *a, const struct side *s, bool twin, struct given *g)
{
	char *buf = (twin ? s->theirs : s->ours) - s->low;
	size_t n = (size_t)s->blocks;
	int b;

	*g = (struct given){ .type = one_in(own, 2) ? MPI_DATATYPE_NULL : MPI_BYTE };
	if (!s->used)
		return;
	g->n = s->blocks;
	g->buf = s->absolute ? MPI_BOTTOM : s->empty ? NULL : buf;
	g->count = s->counts[0]; /* also without a block: Open MPI does nothing if one of both sides has 0 */
	g->counts = memcpy(need(n, sizeof(int)), s->counts, n * sizeof(int));
	g->displs = memcpy(need(n, sizeof(int)), s->displs, n * sizeof(int));
	g->adispls = need(n, sizeof(MPI_Aint));
	g->types = need(n, sizeof(MPI_Datatype));
	for (b = 0; b < s->blocks; b++) {
		g->adispls[b] = s->displs[b];
		if (s->separate)
			g->types[b] = type_for(a, s, lay_of(s, b), buf);
	}
	if (!s->separate)
		g->type = type_for(a, s, s->lay, buf);
}

/* Reductions have one type, and counts that are not those of their buffers. */
static void give_counts(struct args *a, const struct plan *p)
{
	int i;

	if (a->send.counts == NULL) {
		a->send.type = a->recv.type;
		a->send.count = a->recv.count;
	}
	if (!scatters_reduced(p->coll))
		return;
	free(a->recv.counts);
	free(a->recv.displs);
	free(a->recv.adispls);
	free(a->recv.types);
	a->recv.displs = NULL;
	a->recv.adispls = NULL;
	a->recv.types = NULL;
	a->recv.n = p->on->size;
	a->recv.counts = need((size_t)p->on->size, sizeof(int));
	for (i = 0; i < p->on->size; i++)
		a->recv.counts[i] = plan_units(p, i, 0);
	a->recv.count = plan_units(p, 0, 0);
}

/* The same counts for the calls with large ones. */
static void widen(struct given *g)
{
#if MPI_VERSION >= 4
	int i;

	if (!g->counts)
		return;
	g->lcounts = need((size_t)g->n, sizeof(MPI_Count));
	for (i = 0; i < g->n; i++)
		g->lcounts[i] = g->counts[i];
#endif
	(void)g;
}

void sides_args(struct rng *own, struct sides *s, bool twin, struct args *a)
{
	const struct plan *p = s->plan;
	bool root = p->on->rank == p->root;

	*a = (struct args){ .root = p->root, .info = MPI_INFO_NULL, .op = MPI_OP_NULL };
	a->owned = need((size_t)(s->send.blocks + s->recv.blocks + 2), sizeof(MPI_Datatype));
	give(own, a, &s->send, twin, &a->send);
	give(own, a, &s->recv, twin, &a->recv);
	if (p->place && is_scatter(p->coll)) {
		if (root)
			a->recv.buf = MPI_IN_PLACE;
	} else if (p->place && (root || (!is_gather(p->coll) && p->coll != C_REDUCE))) {
		a->send.buf = MPI_IN_PLACE;
	}
	if (reduces(p->coll))
		give_counts(a, p);
	widen(&a->send);
	widen(&a->recv);
	if (p->user >= 0) {
		MPI_Op_create(user_ops[p->user].function, user_ops[p->user].commutes, &a->op);
		a->owns_op = true;
	} else if (p->op >= 0) {
		a->op = predefined_op(p->op);
	}
}

static void forget(struct given *g)
{
	int i;

	for (i = 0; i < g->n; i++) {
		g->counts[i] = 1 << 28;
#if MPI_VERSION >= 4
		g->lcounts[i] = 1 << 28;
#endif
	}
	for (i = 0; i < g->n && g->displs; i++) {
		g->displs[i] = -(1 << 28);
		g->adispls[i] = -(1 << 28);
		g->types[i] = MPI_DATATYPE_NULL;
	}
	free(g->counts);
#if MPI_VERSION >= 4
	free(g->lcounts);
#endif
	free(g->displs);
	free(g->adispls);
	free(g->types);
}

void sides_forget(struct args *a)
{
	int i;

	for (i = 0; i < a->owns; i++)
		MPI_Type_free(&a->owned[i]);
	free(a->owned);
	if (a->owns_op)
		MPI_Op_free(&a->op);
	forget(&a->send);
	forget(&a->recv);
	*a = (struct args){ .comm = MPI_COMM_NULL };
}

/* ---- contents ---- */

static void put(const struct plan *p, struct side *s, int b, int start, int rank, int block)
{
	int k, n = elements(p, s, b), basic;
	char *buf = s->right - s->low;
	long at;

	for (k = 0; k < n; k++) {
		at = place(s, b, k, &basic);
		basic_put(basic, p->use, plan_value(p, start, rank, block, k), buf + at);
	}
}

static void pattern(const struct plan *p, struct side *s, int start)
{
	long i;
	uint64_t v;

	for (i = 0; i < s->bytes; i += 8) {
		v = mix(p->seed, (uint64_t)(i * 31 + start));
		memcpy(s->right + i, &v, 8);
	}
}

/* What this rank contributes in place. */
static void put_in_place(const struct plan *p, struct side *s, int start)
{
	int me = p->on->rank, b;

	if (reduces(p->coll))
		put(p, s, 0, start, me, 0);
	else if (p->coll == C_ALLTOALL || p->coll == C_ALLTOALLV || p->coll == C_ALLTOALLW)
		for (b = 0; b < s->blocks; b++)
			put(p, s, b, start, me, b);
	else if (!is_scatter(p->coll))
		put(p, s, me, start, me, 0);
}

/* n units of a rank's values for a reduction, from unit `first`. */
static char *image(const struct plan *p, const struct side *s, int start, int rank, int first, int n, long *low)
{
	long high, at;
	int k, basic;
	char *m;

	bounds(s->lay, n, low, &high);
	m = need((size_t)(high - *low), 1);
	for (k = 0; k < n * p->units; k++) {
		at = place(s, 0, k, &basic);
		basic_put(basic, p->use, plan_value(p, start, rank, 0, first * p->units + k), m + at - *low);
	}
	return m;
}

/* Reduces in the order of the ranks. */
static void put_reduced(const struct plan *p, struct side *s, int start)
{
	int me = p->on->rank, n = scatters_reduced(p->coll) ? plan_units(p, me, 0) : total(p), first = 0, r, k, basic;
	int last = p->coll == C_SCAN ? me : p->coll == C_EXSCAN ? me - 1 : p->on->size - 1;
	MPI_Op op = p->op >= 0 ? predefined_op(p->op) : MPI_OP_NULL;
	char *sum, *next;
	long low, at;

	if (n == 0 || last < 0)
		return;
	for (r = 0; r < me && scatters_reduced(p->coll); r++)
		first += plan_units(p, r, 0);
	if (p->user >= 0)
		MPI_Op_create(user_ops[p->user].function, user_ops[p->user].commutes, &op);
	sum = image(p, s, start, 0, first, n, &low);
	for (r = 1; r <= last; r++, sum = next) {
		next = image(p, s, start, r, first, n, &low);
		MPI_Reduce_local(sum - low, next - low, n, s->lay->type, op);
		free(sum);
	}
	for (k = 0; k < n * p->units; k++) {
		at = place(s, 0, k, &basic);
		memcpy(s->right - s->low + at, sum - low + at, (size_t)basics[basic].extent);
	}
	free(sum);
	if (p->user >= 0)
		MPI_Op_free(&op);
}

void sides_fill(struct sides *s, int start)
{
	const struct plan *p = s->plan;
	struct side *out = p->coll == C_BCAST ? &s->send : &s->recv;
	int i, b, rank, block;

	for (i = 0; i < 2; i++) {
		struct side *side = i == 0 ? &s->send : &s->recv;

		if (!side->used)
			continue;
		pattern(p, side, start);
		for (b = 0; b < side->blocks && !side->output; b++)
			put(p, side, b, start, p->on->rank, b);
		if (side->output && p->place)
			put_in_place(p, side, start);
		memcpy(side->ours, side->right, (size_t)side->bytes);
		memcpy(side->theirs, side->right, (size_t)side->bytes);
	}
	if (!out->used || !out->output)
		return;
	if (reduces(p->coll))
		put_reduced(p, out, start);
	for (b = 0; b < out->blocks && !reduces(p->coll); b++)
		if (plan_source(p, b, &rank, &block))
			put(p, out, b, start, rank, block);
}

void sides_set(struct sides *s, bool twin)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct side *side = i == 0 ? &s->send : &s->recv;

		if (side->used)
			memcpy(twin ? side->theirs : side->ours, side->right, (size_t)side->bytes);
	}
}

/* ---- comparison ---- */

/* Makes equal what may differ: bytes without a value, and results that MPI leaves undefined. */
static void clean(const struct plan *p, struct side *s)
{
	int b, k, n, basic, defined;
	long at;

	for (b = 0; b < s->blocks; b++) {
		n = elements(p, s, b);
		defined = n;
		if (s->output && p->place && scatters_reduced(p->coll))
			defined = plan_units(p, p->on->rank, 0) * p->units;
		if (s->output && !p->place && p->coll == C_EXSCAN && p->on->rank == 0)
			defined = 0;
		for (k = 0; k < n; k++) {
			at = place(s, b, k, &basic) - s->low;
			if (k >= defined) {
				memcpy(s->ours + at, s->right + at, (size_t)basics[basic].extent);
				memcpy(s->theirs + at, s->right + at, (size_t)basics[basic].extent);
			}
			basic_clean(basic, reduces(p->coll), s->ours + at);
			basic_clean(basic, reduces(p->coll), s->theirs + at);
			basic_clean(basic, reduces(p->coll), s->right + at);
		}
	}
}

/* Describes the byte at `at`, which differs. */
static void describe(const struct plan *p, const struct side *s, const char *which, long at, char *why, size_t room)
{
	int b, k, n, basic;
	long e;

	for (b = 0; b < s->blocks; b++) {
		n = elements(p, s, b);
		for (k = 0; k < n; k++) {
			e = place(s, b, k, &basic) - s->low;
			if (at >= e && at < e + basics[basic].extent) {
				snprintf(why, room, "%s buffer, block %d of %d, element %d of %d (%s), byte %ld is %02x, not %02x", which,
					b, s->blocks, k, n, basics[basic].name, at - e, (unsigned char)s->ours[at],
					(unsigned char)s->right[at]);
				return;
			}
		}
	}
	snprintf(why, room, "%s buffer, byte %ld in a gap or around it is %02x, not %02x", which, at + s->low,
		(unsigned char)s->ours[at], (unsigned char)s->right[at]);
}

void sides_compare(struct sides *s, bool *ours, bool *theirs, char *why, size_t room)
{
	struct side *side;
	long at;
	int i;

	*ours = *theirs = true;
	for (i = 0; i < 2; i++) {
		side = i == 0 ? &s->send : &s->recv;
		if (!side->used)
			continue;
		clean(s->plan, side);
		*theirs &= memcmp(side->theirs, side->right, (size_t)side->bytes) == 0;
		if (!*ours || memcmp(side->ours, side->right, (size_t)side->bytes) == 0)
			continue;
		*ours = false;
		for (at = 0; side->ours[at] == side->right[at]; at++)
			continue;
		describe(s->plan, side, i == 0 ? "send" : "receive", at, why, room);
	}
}
