/* SPDX-License-Identifier: BSD-3-Clause
 * Bounds of sums. A comparison among the facts bounds the difference of what it compares; variables, remainders, lowest bits and
 * powers have bounds by themselves. A bound of a logarithm's distance to an exponent bounds the power of two, and the other way
 * round. Conditions are decided by adding up to three bounds. */
#include "compiler/allranks/facts.h"

#include "util/hash64.h"

#include <string.h>

/* ---- sums ---- */

static void key_of(const struct terms *t, term x, struct sum_key *out)
{
	term_sum_of(t, x, &out->sum);
	out->hash = 0;
	for (unsigned i = 0; i < out->sum.n; i++)
		out->hash += (uint64_t)out->sum.factor[i] * hash64(out->sum.atom[i]);
}

static uint64_t signs_of(const struct term_sum *s)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < s->n; i++)
		out |= (uint64_t)1 << (hash64(2 * (uint64_t)s->atom[i] + (s->factor[i] < 0)) & 63);
	return out;
}

static bool same_sum(const struct sum_key *a, const struct sum_key *b)
{
	return a->hash == b->hash && a->sum.n == b->sum.n &&
	       !memcmp(a->sum.atom, b->sum.atom, a->sum.n * sizeof *a->sum.atom) &&
	       !memcmp(a->sum.factor, b->sum.factor, a->sum.n * sizeof *a->sum.factor);
}

/* Stores a - b. Returns false if it has more atoms than a. */
static bool subtract_sum(const struct sum_key *a, const struct sum_key *b, struct sum_key *out)
{
	const struct term_sum *x = &a->sum, *y = &b->sum;
	unsigned n = 0;

	out->hash = a->hash - b->hash;
	for (unsigned i = 0, k = 0; i < x->n || k < y->n;) {
		const bool in_x = i < x->n && (k == y->n || x->atom[i] <= y->atom[k]);
		const bool in_y = k < y->n && (i == x->n || y->atom[k] <= x->atom[i]);
		const term atom = in_x ? x->atom[i] : y->atom[k];
		int64_t factor;

		if (__builtin_sub_overflow(in_x ? x->factor[i] : 0, in_y ? y->factor[k] : 0, &factor) || (factor && n == x->n))
			return false;
		i += in_x;
		k += in_y;
		if (!factor)
			continue;
		out->sum.atom[n] = atom;
		out->sum.factor[n++] = factor;
	}
	out->sum.n = n;
	return true;
}

/* Returns what the sum is at least because of the ranges of its atoms; -TERM_MOST if nothing is known. */
static int64_t least_by_ranges(const struct terms *t, const struct term_sum *s)
{
	__int128 out = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const struct term_node *n = term_at(t, s->atom[i]);
		const int64_t end = s->factor[i] > 0 ? n->lo : n->hi;

		if (end <= -TERM_MOST || end >= TERM_MOST)
			return -TERM_MOST;
		out += (__int128)s->factor[i] * end;
	}
	return out < -TERM_MOST ? -TERM_MOST : out > TERM_MOST ? TERM_MOST : (int64_t)out;
}

/* ---- bounds ---- */

static void add_bound(struct facts *f, term sum, int64_t least, unsigned from)
{
	struct bound *b = &f->bound[f->nbounds];
	uint8_t *slot;
	term rest;

	least -= term_number(f->t, sum, &rest);
	if (f->nbounds == MOST_BOUNDS || term_at(f->t, rest)->op == TERM_NUM)
		return;
	*b = (struct bound){ .sum = rest, .least = least, .from = from, .also = FROM_RANGE };
	key_of(f->t, rest, &b->key);
	b->signs = signs_of(&b->key.sum);
	slot = &f->slot[b->key.hash % BOUND_SLOTS];
	b->next = *slot;
	*slot = (uint8_t)++f->nbounds;
}

/* Adds a bound that follows from another one. */
static void add_derived(struct facts *f, term sum, int64_t least, struct bound b)
{
	const unsigned n = f->nbounds;

	add_bound(f, sum, least, b.from);
	if (f->nbounds > n)
		f->bound[n].also = b.also;
}

/* Adds the bounds that a comparison says. */
static void bound_fact(struct facts *f, unsigned i)
{
	struct terms *t = f->t;
	struct term_node n = *term_at(t, f->fact[i]);
	const bool not = n.op == BIN_NOT;

	n = not ? *term_at(t, n.a) : n;
	if (n.op == BIN_LE || n.op == BIN_LT)
		add_bound(f, not ? term_sub(t, n.a, n.b) : term_sub(t, n.b, n.a), (n.op == BIN_LT) != not, i);
	if (n.op == BIN_EQ && !not ) {
		add_bound(f, term_sub(t, n.a, n.b), 0, i);
		add_bound(f, term_sub(t, n.b, n.a), 0, i);
	}
}

/* Adds the bounds of a lowest bit, or of 2 to the power of a logarithm. */
static void bound_function(struct facts *f, term x, struct term_node n)
{
	struct terms *t = f->t;
	struct term_node log;
	term k;

	if (n.op == BIN_LOWBIT && term_at(t, n.a)->lo >= 0)
		add_bound(f, term_sub(t, n.a, x), 0, FROM_RANGE);
	if (!term_power_of_two(t, x, &k))
		return;
	log = *term_at(t, k);
	if ((log.op != BIN_LOG2 && log.op != BIN_CEILLOG2) || term_at(t, log.a)->lo < 1 || term_at(t, log.a)->hi == TERM_MOST)
		return;
	const bool up = log.op == BIN_CEILLOG2; /* the larger one is less than twice the other */
	const term less = up ? log.a : x, more = up ? x : log.a;

	add_bound(f, term_sub(t, more, less), 0, FROM_RANGE);
	add_bound(f, term_sub(t, term_add(t, less, less), more), 1, FROM_RANGE);
}

/* Adds the bounds of variables and remainders in a term. */
static void bound_ranges(struct facts *f, term x)
{
	const struct term_node n = *term_at(f->t, x);
	const term below = n.op == TERM_VAR				 ? f->t->vars.at[n.num].below :
			   n.op == BIN_MOD && term_at(f->t, n.b)->lo > 0 ? term_spread(f->t, n.b) :
									   TERM_NONE;

	bound_function(f, x, n);

	if (below != TERM_NONE && term_at(f->t, below)->op != TERM_NUM) {
		const term d = term_sub(f->t, below, x);
		bool known = false;

		for (unsigned i = 0; i < f->nbounds; i++)
			known |= f->bound[i].sum == d && f->bound[i].from == FROM_RANGE;
		if (known)
			return;
		add_bound(f, d, 1, FROM_RANGE);
	}
	if (n.op == TERM_VAR || n.op == TERM_NUM)
		return;
	bound_ranges(f, n.a);
	if (n.b != TERM_NONE)
		bound_ranges(f, n.b);
	if (n.c != TERM_NONE)
		bound_ranges(f, n.c);
}

static void add_once(term *list, unsigned *n, term x)
{
	unsigned i = 0;

	while (i < *n && list[i] != x)
		i++;
	if (i == *n && i < MOST_POWERS)
		list[(*n)++] = x;
}

static void find_powers(const struct facts *f, term x, struct powers *out)
{
	const struct term_node n = *term_at(f->t, x);
	const term part[] = { n.a, n.b, n.c };
	term exponent;

	if (n.op == TERM_VAR || n.op == TERM_NUM)
		return;
	if (term_power_of_two(f->t, x, &exponent))
		add_once(out->power, &out->npowers, x);
	if (n.op == BIN_LOG2 || n.op == BIN_CEILLOG2)
		add_once(out->log, &out->nlogs, x);
	for (unsigned i = 0; i < 3; i++)
		if (part[i] != TERM_NONE)
			find_powers(f, part[i], out);
}

void facts_powers(const struct facts *f, struct powers *out)
{
	for (unsigned i = 0; i < f->n; i++)
		find_powers(f, f->fact[i], out);
	find_powers(f, f->goal, out);
}

/* Returns 2^n times the power, or TERM_NONE if that may not fit 64 bits. */
static term double_power(struct facts *f, term power, int64_t n)
{
	if (n < 0 || n > 62 || term_at(f->t, power)->hi > TERM_MOST >> n)
		return TERM_NONE;
	return term_apply(f->t, BIN_MUL, power, term_num(f->t, (int64_t)1 << n));
}

/* True if x is positive because of its range or of one bound, whose fact is returned. A number is positive if its lowest bit is. */
static bool is_positive(const struct facts *f, term x, unsigned *from)
{
	*from = FROM_RANGE;
	if (term_at(f->t, x)->lo > 0)
		return true;
	if (term_at(f->t, x)->op == BIN_LOWBIT)
		return is_positive(f, term_at(f->t, x)->a, from);
	for (unsigned i = 0; i < f->nbounds; i++)
		if (f->bound[i].sum == x && f->bound[i].least > 0 && f->bound[i].also == FROM_RANGE) {
			*from = f->bound[i].from;
			return true;
		}
	return false;
}

/* Adds what a bound of log - k says about 2^k and the argument of the logarithm, which must be positive. */
static void bound_power(struct facts *f, struct bound b, term power, term log)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, log);
	const term k = term_at(t, power)->b;
	const int64_t up = n.op == BIN_CEILLOG2; /* 2^(ceillog2(x) - 1) < x */
	term rest, more;
	int64_t num = term_number(t, term_sub(t, log, k), &rest);

	if (b.also != FROM_RANGE || !is_positive(f, n.a, &b.also))
		return;
	if (rest == b.sum) { /* log - k >= num + b.least */
		more = double_power(f, power, num + b.least - up);
		if (more != TERM_NONE)
			add_derived(f, term_sub(t, n.a, more), up, b);
	}
	num = term_number(t, term_sub(t, k, log), &rest);
	if (rest == b.sum && num + b.least >= !up) /* k > log2(x), or k >= ceillog2(x) */
		add_derived(f, term_sub(t, power, n.a), !up, b);
}

/* Adds what a bound of the difference of two exponents says about the powers. */
static void bound_exponents(struct facts *f, struct bound b, term x, term y)
{
	struct terms *t = f->t;
	term rest, more;
	const int64_t num = term_number(t, term_sub(t, term_at(t, x)->b, term_at(t, y)->b), &rest);

	if (rest != b.sum)
		return;
	more = double_power(f, y, num + b.least);
	if (more != TERM_NONE)
		add_derived(f, term_sub(t, x, more), 0, b);
}

static void bound_powers(struct facts *f)
{
	struct powers all = { 0 };
	const unsigned n = f->nbounds;

	facts_powers(f, &all);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < all.npowers; k++) {
			for (unsigned m = 0; m < all.nlogs; m++)
				bound_power(f, f->bound[i], all.power[k], all.log[m]);
			for (unsigned m = 0; m < all.npowers; m++)
				if (m != k)
					bound_exponents(f, f->bound[i], all.power[k], all.power[m]);
		}
}

/* Adds the bound of a sum that is not 0, and is at least 0 because of a bound or its range. */
static void bound_different(struct facts *f, term d, unsigned from)
{
	const unsigned n = f->nbounds;
	term rest;
	const int64_t num = term_number(f->t, d, &rest);

	if (term_at(f->t, rest)->lo + num == 0)
		add_bound(f, d, 1, from);
	for (unsigned i = 0; i < n; i++) {
		const struct bound b = f->bound[i];

		if (b.sum == rest && b.least + num == 0 && b.also == FROM_RANGE)
			add_derived(f, d, 1, (struct bound){ .from = from, .also = b.from });
	}
}

static void bound_differences(struct facts *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		const struct term_node n = *term_at(f->t, f->fact[i]);
		term a, b;

		if (n.op != BIN_NOT || term_at(f->t, n.a)->op != BIN_EQ)
			continue;
		a = term_at(f->t, n.a)->a;
		b = term_at(f->t, n.a)->b;
		bound_different(f, term_sub(f->t, a, b), i);
		bound_different(f, term_sub(f->t, b, a), i);
	}
}

static bool is_skipped(const struct facts *f, const struct bound *b)
{
	return b->from == f->skip || b->also == f->skip || (b->from == FROM_MANY && f->skip != SKIP_NONE);
}

/* Returns a number that the sum is known not to be less than, by adding up to `depth` bounds, or that is at least `enough`;
 * -TERM_MOST if none is known. */
static int64_t least_sum(const struct facts *f, const struct sum_key *x, unsigned depth, int64_t enough)
{
	const uint64_t signs = depth ? signs_of(&x->sum) : 0;
	int64_t best = least_by_ranges(f->t, &x->sum);

	for (unsigned i = f->slot[x->hash % BOUND_SLOTS]; i; i = f->bound[i - 1].next) {
		const struct bound *b = &f->bound[i - 1];

		if (b->least > best && !is_skipped(f, b) && same_sum(&b->key, x))
			best = b->least;
	}
	for (unsigned i = 0; i < f->nbounds && depth && best < enough; i++) {
		const struct bound *b = &f->bound[i];
		struct sum_key d;
		int64_t least;

		if (!(b->signs & signs) || is_skipped(f, b) || !subtract_sum(x, &b->key, &d) || !d.sum.n)
			continue;
		least = least_sum(f, &d, depth - 1, enough - b->least);
		if (least > -TERM_MOST / 2 && least + b->least > best)
			best = least + b->least;
	}
	return best;
}

/* Returns a number that x is known not to be less than, or one that is at least `enough`; -TERM_MOST if none is known. */
static int64_t least_of(const struct facts *f, term x, int64_t enough)
{
	struct sum_key key;
	int64_t best;

	key_of(f->t, x, &key);
	if (!key.sum.n)
		return key.sum.num;
	best = least_sum(f, &key, 2, enough - key.sum.num);
	return best > -TERM_MOST / 2 && key.sum.num > -TERM_MOST / 2 && key.sum.num < TERM_MOST / 2 ? best + key.sum.num : -TERM_MOST;
}

bool facts_at_least(struct facts *f, term x, int64_t least)
{
	return least_of(f, x, least) >= least;
}

/* A power of two that is greater than another one is at least twice as large. */
static void bound_greater(struct facts *f)
{
	struct powers all = { 0 };

	facts_powers(f, &all);
	for (unsigned k = 0; k < all.npowers; k++)
		for (unsigned m = 0; m < all.npowers; m++) {
			const term more = double_power(f, all.power[m], 1);

			if (m != k && more != TERM_NONE && facts_at_least(f, term_sub(f->t, all.power[k], all.power[m]), 1)) {
				add_bound(f, term_sub(f->t, all.power[k], more), 0, FROM_MANY);
				add_bound(f, term_sub(f->t, term_at(f->t, all.power[k])->b, term_at(f->t, all.power[m])->b), 1,
					  FROM_MANY);
			}
		}
}

/* Adds the bounds of remainders whose divisor is positive because of facts. */
static void bound_remainders(struct facts *f, term x)
{
	const struct term_node n = *term_at(f->t, x);
	const term part[] = { n.a, n.b, n.c };

	if (n.op == TERM_VAR || n.op == TERM_NUM)
		return;
	if (n.op == BIN_MOD && term_at(f->t, n.b)->lo == 0 && term_at(f->t, n.b)->op != TERM_VAR && facts_at_least(f, n.b, 1))
		add_bound(f, term_sub(f->t, n.b, x), 1, FROM_MANY);
	for (unsigned i = 0; i < 3; i++)
		if (part[i] != TERM_NONE)
			bound_remainders(f, part[i]);
}

bool facts_exclude(struct facts *f)
{
	for (unsigned i = 0; i < f->nbounds; i++) {
		const struct bound b = f->bound[i];
		const int64_t less = least_of(f, term_apply(f->t, BIN_NEG, b.sum, TERM_NONE), 1 - b.least);

		if (less > -TERM_MOST && less + b.least > 0)
			return true;
	}
	return false;
}

void facts_bound(struct facts *f)
{
	f->nbounds = 0;
	memset(f->slot, 0, sizeof f->slot);
	for (unsigned i = 0; i < f->n; i++)
		bound_fact(f, i);
	for (unsigned i = 0; i < f->n; i++)
		bound_ranges(f, f->fact[i]);
	bound_ranges(f, f->goal);
	bound_differences(f);
	for (unsigned i = 0; i < f->n; i++)
		bound_remainders(f, f->fact[i]);
	bound_remainders(f, f->goal);
	bound_powers(f);
	bound_greater(f);
	++*f->pass;
}

/* Returns 2^k, where k may be a sum, or TERM_NONE if it is not known to fit 64 bits or to be whole. */
static term power_of(struct facts *f, term k)
{
	if (term_at(f->t, k)->lo < 0 || term_at(f->t, k)->hi > 60)
		return TERM_NONE;
	return term_apply(f->t, BIN_POW, term_num(f->t, 2), k);
}

/* True if d, a logarithm minus a term k or the negative of that, is at least `least` by what is known of 2^k. */
static bool is_least_log(struct facts *f, term d, int64_t least)
{
	struct terms *t = f->t;
	struct term_sum sum;
	term k, power;

	term_sum_of(t, d, &sum);
	for (unsigned i = 0; i < sum.n; i++) {
		const struct term_node log = *term_at(t, sum.atom[i]);
		const bool up = log.op == BIN_CEILLOG2;

		if ((log.op != BIN_LOG2 && !up) || (sum.factor[i] != 1 && sum.factor[i] != -1) || !facts_at_least(f, log.a, 1))
			continue;
		if (sum.factor[i] > 0) { /* k <= log(x): 2^k <= x; k <= ceillog(x): 2^(k - 1) < x */
			k = term_add(t, term_sub(t, sum.atom[i], d), term_num(t, least - up));
			power = power_of(f, k);
			return power != TERM_NONE && facts_at_least(f, term_sub(t, log.a, power), up);
		}
		/* log(x) <= k: x < 2^(k + 1); ceillog(x) <= k: x <= 2^k */
		k = term_add(t, term_add(t, d, sum.atom[i]), term_num(t, !up - least));
		power = power_of(f, k);
		return power != TERM_NONE && facts_at_least(f, term_sub(t, power, log.a), !up);
	}
	return false;
}

int facts_decide(struct facts *f, term x)
{
	struct terms *t = f->t;
	const struct term_node n = *term_at(t, x);
	const term not = term_not(t, x);
	int known;

	for (unsigned i = 0; i < f->n; i++)
		if (i != f->skip && (f->fact[i] == x || f->fact[i] == not ))
			return f->fact[i] == x;
	switch (n.op) {
	case BIN_NOT:
		known = facts_decide(f, n.a);
		return known < 0 ? known : !known;
	case BIN_LE:
	case BIN_LT: {
		const bool less = n.op == BIN_LT;

		const term up = term_sub(t, n.b, n.a), down = term_sub(t, n.a, n.b);

		if (facts_at_least(f, up, less) || is_least_log(f, up, less))
			return 1;
		return facts_at_least(f, down, !less) || is_least_log(f, down, !less) ? 0 : -1;
	}
	case BIN_EQ: {
		const term d = term_sub(t, n.a, n.b), e = term_sub(t, n.b, n.a);
		const int64_t more = least_of(f, d, 1), less = least_of(f, e, 1);

		return more > 0 || less > 0 ? 0 : more == 0 && less == 0 ? 1 : -1;
	}
	}
	return -1;
}
