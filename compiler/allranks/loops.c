/* SPDX-License-Identifier: BSD-3-Clause
 * The registers that change in a loop. loops.h says what is found out about them. */
#include "compiler/allranks/loops.h"

#include "format/check.h"

/* True if the term has none of the variables of changing registers. */
static bool is_steady(const struct terms *t, const struct changes *c, term x)
{
	for (unsigned i = 0; i < c->n; i++)
		if (term_has(t, x, c->var[i]))
			return false;
	return true;
}

static term at_turn(struct terms *t, const struct changes *c, term x, term turn)
{
	struct term_map m = { 0 };

	term_map_add(&m, c->turn, turn);
	return term_subst(t, x, &m);
}

term changes_at(struct terms *t, const struct changes *c, unsigned i, term turn)
{
	return at_turn(t, c, c->closed[i], turn);
}

/* Finds the value of a register that changes by a fixed amount in each iteration, perhaps with a remainder taken. */
static term close_step(struct terms *t, const struct changes *c, unsigned i)
{
	const struct term_node n = *term_at(t, c->next[i]);
	const bool mod = n.op == BIN_MOD && is_steady(t, c, n.b);
	const term step = term_sub(t, mod ? n.a : c->next[i], c->var[i]);
	term out;

	if (!is_steady(t, c, step))
		return TERM_NONE;
	out = term_add(t, c->first[i], term_apply(t, BIN_MUL, c->turn, step));
	return mod ? term_apply(t, BIN_MOD, out, n.b) : out;
}

/* Finds the value of a register that each iteration computes anew from registers whose values are known. */
static term close_derived(struct terms *t, const struct changes *c, unsigned i)
{
	struct term_map m = { 0 };
	term out;

	for (unsigned k = 0; k < c->n; k++)
		if (c->closed[k] != TERM_NONE)
			term_map_add(&m, c->var[k], changes_at(t, c, k, term_sub(t, c->turn, term_num(t, 1))));
	out = term_subst(t, c->next[i], &m);
	return is_steady(t, c, out) ? out : TERM_NONE;
}

void changes_close(struct terms *t, struct changes *c)
{
	const term zero = term_num(t, 0);
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < c->n; i++) {
			term x = c->closed[i] == TERM_NONE ? close_step(t, c, i) : TERM_NONE;

			if (c->closed[i] == TERM_NONE && x == TERM_NONE)
				x = close_derived(t, c, i);
			if (x == TERM_NONE || at_turn(t, c, x, zero) != c->first[i])
				continue;
			c->closed[i] = x;
			more = true;
		}
	}
}

/* ---- bounds ---- */

struct bounds {
	int64_t lo, hi;
};

static struct bounds join_bounds(struct bounds a, struct bounds b)
{
	return (struct bounds){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

/* Returns x for values that meet the condition: a variable that is compared becomes one with narrower bounds. Sets *never if there
 * are no such values. */
static term narrow_term(struct terms *t, term x, term cond, bool *never)
{
	const struct term_node n = *term_at(t, cond);
	const int64_t less = n.op == BIN_LT;
	struct term_map m = { 0 };

	if (n.op == BIN_BAND)
		return narrow_term(t, narrow_term(t, x, n.a, never), n.b, never);
	if (n.op != BIN_LT && n.op != BIN_LE)
		return x;
	for (unsigned way = 0; way < 2; way++) {
		const term var = way ? n.b : n.a;
		const struct term_node v = *term_at(t, var), limit = *term_at(t, way ? n.a : n.b);
		int64_t lo = v.lo, hi = v.hi;

		if (v.op != TERM_VAR || !term_has(t, x, var))
			continue;
		if (!way && limit.hi - less < hi)
			hi = limit.hi - less;
		if (way && limit.lo + less > lo)
			lo = limit.lo + less;
		*never |= lo > hi;
		if (lo <= hi && (lo > v.lo || hi < v.hi))
			term_map_add(&m, var, term_var(t, "x", lo, hi));
	}
	return term_subst(t, x, &m);
}

/* Returns bounds of a term. A choice is bounded by its two sides, each for the values for which it is taken. */
static struct bounds bounds_of(struct terms *t, term x)
{
	const struct term_node n = *term_at(t, x);
	struct bounds side[2] = { { TERM_MOST, -TERM_MOST }, { TERM_MOST, -TERM_MOST } };

	if (n.op != TERM_ITE)
		return (struct bounds){ n.lo, n.hi };
	for (unsigned i = 0; i < 2; i++) {
		bool never = false;
		const term y = narrow_term(t, i ? n.c : n.b, i ? term_not(t, n.a) : n.a, &never);

		if (!never)
			side[i] = bounds_of(t, y);
	}
	return join_bounds(side[0], side[1]);
}

/* Finds by how much x differs from a variable. Returns false if that is not known. */
static bool growth_of(struct terms *t, term x, term var, struct bounds *out)
{
	const struct term_node n = *term_at(t, x);
	struct bounds other;
	term d;

	if (n.op == TERM_ITE) {
		if (!growth_of(t, n.b, var, out) || !growth_of(t, n.c, var, &other))
			return false;
		*out = join_bounds(*out, other);
		return true;
	}
	d = term_sub(t, x, var);
	*out = (struct bounds){ term_at(t, d)->lo, term_at(t, d)->hi };
	return !term_has(t, d, var) && out->lo > -TERM_MOST && out->hi < TERM_MOST;
}

/* Returns the value of register i at the end of an iteration, over variables with the bounds that are known. */
static term next_term(struct terms *t, const struct changes *c, unsigned i)
{
	struct term_map m = { 0 };

	for (unsigned k = 0; k < c->n; k++)
		term_map_add(&m, c->var[k], c->closed[k] == TERM_NONE ? term_var(t, "x", c->lo[k], c->hi[k]) : c->closed[k]);
	return term_subst(t, c->next[i], &m);
}

/* Bounds a register by how much an iteration adds to it. Returns false if that is not known. */
static bool bound_growth(struct terms *t, const struct changes *c, unsigned i, int64_t iterations, struct bounds *out)
{
	struct bounds d;

	if (iterations >= INT32_MAX || !growth_of(t, c->next[i], c->var[i], &d) || d.lo < -INT32_MAX || d.hi > INT32_MAX)
		return false;
	*out = (struct bounds){ term_at(t, c->first[i])->lo, term_at(t, c->first[i])->hi };
	out->lo += d.lo < 0 ? d.lo * iterations : 0;
	out->hi += d.hi > 0 ? d.hi * iterations : 0;
	return true;
}

#define FEW_ROUNDS 4u
#define MOST_ROUNDS 70u /* a value that doubles comes to its limit before */

/* Bounds are first those before the loop. Each round adds those that one more iteration gives, until they do not change. What goes
 * on changing is bounded by the number of iterations, or given up. */
void changes_bound(struct terms *t, struct changes *c, int64_t iterations)
{
	bool settled[MOST_CHANGED] = { false }, more = true;

	for (unsigned i = 0; i < c->n; i++) {
		c->lo[i] = term_at(t, c->first[i])->lo;
		c->hi[i] = term_at(t, c->first[i])->hi;
		settled[i] = c->closed[i] != TERM_NONE;
	}
	for (unsigned round = 0; more; round++) {
		more = false;
		for (unsigned i = 0; i < c->n; i++) {
			const struct bounds old = { c->lo[i], c->hi[i] };
			struct bounds b = old;

			if (!settled[i])
				b = join_bounds(old, bounds_of(t, next_term(t, c, i)));
			if (b.lo == old.lo && b.hi == old.hi)
				continue;
			more = true;
			settled[i] = round >= FEW_ROUNDS && bound_growth(t, c, i, iterations, &b);
			if (!settled[i] && round >= MOST_ROUNDS) {
				settled[i] = true;
				b = (struct bounds){ -TERM_MOST, TERM_MOST };
			}
			c->lo[i] = b.lo;
			c->hi[i] = b.hi;
		}
	}
}

/* ---- the variable of a loop ---- */

bool changes_counter(const struct sites *s, const struct changes *c, unsigned i, term test, struct frame *f, term *turn)
{
	struct terms *t = s->t;
	const struct term_node n = *term_at(t, test);
	const term d = term_sub(t, c->next[i], c->var[i]);
	int64_t step;

	if (n.op != BIN_LE || !term_is_num(t, d, &step) || step == 0)
		return false;
	const term limit = step > 0 ? n.b : n.a, k = step > 0 ? n.a : n.b;

	if (k != c->next[i] || !is_steady(t, c, limit))
		return false;
	f->down = step < 0;
	f->lo = step > 0 ? c->first[i] : limit;
	f->hi = step > 0 ? limit : c->first[i];
	if (step == 1 || step == -1) {
		f->var = term_var(t, "k", term_at(t, f->lo)->lo, term_at(t, f->hi)->hi);
		t->vars.at[term_at(t, f->var)->num].below = f->hi == term_sub(t, s->p, term_num(t, 1)) ? s->p : TERM_NONE;
		*turn = step > 0 ? term_sub(t, f->var, f->lo) : term_sub(t, f->hi, f->var);
	} else { /* the variable of the frame is the number of the iteration */
		const term span = term_sub(t, f->hi, f->lo);

		f->hi = term_apply(t, BIN_DIV, span, term_num(t, step > 0 ? step : -step));
		f->lo = term_num(t, 0);
		f->down = false;
		f->var = *turn = term_var(t, "k", 0, term_at(t, f->hi)->hi < 0 ? 0 : term_at(t, f->hi)->hi);
	}
	f->cond = TERM_NONE;
	return true;
}
