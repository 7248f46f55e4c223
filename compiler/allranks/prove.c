/* SPDX-License-Identifier: BSD-3-Clause
 * Obligations: trials at small sizes, and the question to the solver. */
#include "compiler/allranks/proof.h"

#include "util/file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proof_stop(struct proof *p, uint32_t insn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->out->why, sizeof p->out->why, fmt, ap);
	va_end(ap);
	p->out->insn = insn;
	longjmp(p->stop, 2);
}

/* ---- making obligations ---- */

void obligation_frame(struct proof *p, struct obligation *o, struct frame f)
{
	int64_t k;

	if (f.var == TERM_NONE && term_is_num(&p->t, f.cond, &k) && k)
		return;
	if (o->n == MOST_HYPS)
		proof_stop(p, o->insn, "an obligation has too many conditions");
	o->frame[o->n++] = f;
}

void obligation_assume(struct proof *p, struct obligation *o, term cond)
{
	obligation_frame(p, o, (struct frame){ .cond = cond, .var = TERM_NONE, .lo = TERM_NONE, .hi = TERM_NONE });
}

static struct frame frame_between(struct proof *p, term var, term lo, term hi)
{
	return (struct frame){ .cond = term_and(&p->t, term_le(&p->t, lo, var), term_le(&p->t, var, hi)),
			       .var = var,
			       .lo = lo,
			       .hi = hi };
}

void obligation_begin(struct proof *p, struct obligation *o, uint32_t insn, const char *what)
{
	struct terms *t = &p->t;
	const term zero = term_num(t, 0), last = term_sub(t, p->s.p, term_num(t, 1));

	o->n = 0;
	o->goal = zero;
	o->insn = insn;
	o->what = what;
	if (p->b->meta->root != BIN_NONE)
		obligation_frame(p, o, frame_between(p, p->s.root, zero, last));
	obligation_frame(p, o, frame_between(p, p->turned, zero, last));
	for (size_t i = 0; i < p->s.asserts.n; i++)
		obligation_assume(p, o, p->s.asserts.at[i]);
}

void obligation_path(struct proof *p, struct obligation *o, const struct path *path, const struct term_map *m)
{
	for (unsigned i = 0; i < path->n; i++) {
		struct frame f = path->frame[i];

		f.cond = frame_condition(&p->t, &f, m);
		if (f.var != TERM_NONE) {
			f.lo = term_subst(&p->t, f.lo, m);
			f.hi = term_subst(&p->t, f.hi, m);
			f.var = term_subst(&p->t, f.var, m);
			if (term_at(&p->t, f.var)->op != TERM_VAR) /* the variable has a value, which must be in the range */
				f.var = TERM_NONE;
		}
		obligation_frame(p, o, f);
	}
}

term obligation_var(struct proof *p, struct obligation *o, const char *name, term lo, term hi)
{
	const term x = term_var(&p->t, name, term_at(&p->t, lo)->lo, term_at(&p->t, hi)->hi);

	obligation_frame(p, o, frame_between(p, x, lo, hi));
	return x;
}

term obligation_rank(struct proof *p, struct obligation *o, term x)
{
	struct terms *t = &p->t;
	const bool turns = p->rank != p->s.r;
	const term value = turns ? term_apply(t, BIN_MOD, term_sub(t, x, p->s.root), p->s.p) : x;
	const term v = term_var(t, "q", 0, SITES_MOST_RANKS - 1);

	t->vars.at[term_at(t, v)->num].below = p->s.p;
	obligation_frame(p, o, (struct frame){ .cond = term_eq(t, v, value), .var = v, .lo = value, .hi = value });
	return turns ? term_apply(t, BIN_MOD, term_add(t, v, p->s.root), p->s.p) : v;
}

/* ---- trials ---- */

/* At the last two, choices are wrong that are right by chance at smaller sizes. */
static const int64_t trial_sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20, 29 };
#define LARGE_SIZES 2u
#define TRIAL_STEPS 40000u

/* Trials of values at small sizes. fn is called for values that meet the conditions, and returns true to end the trials. */
struct trials {
	struct proof *p;
	const struct obligation *o;
	int64_t *value;
	unsigned steps;
	bool (*fn)(struct trials *t, void *arg);
	void *arg;
};

static bool try_frames(struct trials *t, unsigned at)
{
	const struct terms *tt = &t->p->t;
	const struct frame *f = &t->o->frame[at];
	int64_t lo, hi, yes;

	if (t->steps++ > TRIAL_STEPS)
		return true;
	if (at == t->o->n)
		return t->fn(t, t->arg);
	if (f->var == TERM_NONE)
		return !term_eval(tt, f->cond, t->value, &yes) && yes && try_frames(t, at + 1);
	if (term_eval(tt, f->lo, t->value, &lo) || term_eval(tt, f->hi, t->value, &hi))
		return false;
	for (int64_t x = lo; x <= hi; x++) {
		t->value[term_at(tt, f->var)->num] = x;
		if (try_frames(t, at + 1))
			return true;
	}
	return false;
}

/* Tries values at each size, the large ones too if `large` is set, up to a limit of steps for each. */
static void try_sizes(struct proof *p, const struct obligation *o, bool large, bool (*fn)(struct trials *, void *), void *arg)
{
	struct trials t = { .p = p, .o = o, .fn = fn, .arg = arg, .value = mem_calloc(p->t.vars.n + 1, sizeof(int64_t)) };

	if (!t.value)
		longjmp(p->stop, 1);
	for (size_t i = 0; i < sizeof trial_sizes / sizeof *trial_sizes - (large ? 0 : LARGE_SIZES); i++) {
		t.value[term_at(&p->t, p->s.p)->num] = trial_sizes[i];
		t.steps = 0;
		if (try_frames(&t, 0) && t.steps <= TRIAL_STEPS)
			break;
	}
	free(t.value);
}

struct refutation {
	bool found;
	int64_t size, root;
};

static bool note_refuted(struct trials *t, void *arg)
{
	struct refutation *r = arg;
	int64_t yes;

	if (term_eval(&t->p->t, t->o->goal, t->value, &yes) || yes)
		return false;
	*r = (struct refutation){ true, t->value[term_at(&t->p->t, t->p->s.p)->num],
				  t->value[term_at(&t->p->t, t->p->s.root)->num] };
	return true;
}

static struct refutation find_refutation(struct proof *p, const struct obligation *o, bool large)
{
	struct refutation r = { 0 };

	try_sizes(p, o, large, note_refuted, &r);
	return r;
}

bool obligation_refuted(struct proof *p, const struct obligation *o)
{
	return find_refutation(p, o, false).found;
}

bool obligation_refuted_if_large(struct proof *p, const struct obligation *o)
{
	return find_refutation(p, o, true).found;
}

/* ---- choice of witnesses ---- */

#define MOST_CASES 8000u

struct cover {
	const term *cond;
	unsigned n;
	VEC(uint64_t) cases; /* for each case, the conditions that hold in it */
};

static bool note_case(struct trials *t, void *arg)
{
	struct cover *c = arg;
	uint64_t bits = 0;
	int64_t yes;

	for (unsigned i = 0; i < c->n; i++)
		if (!term_eval(&t->p->t, c->cond[i], t->value, &yes) && yes)
			bits |= (uint64_t)1 << i;
	if (VEC_PUSH(&c->cases, bits))
		return true;
	return c->cases.n >= MOST_CASES;
}

/* Returns the condition that holds in most of the cases without one, or c->n if there is none. */
static unsigned best_condition(const struct cover *c, uint64_t chosen)
{
	size_t most = 0;
	unsigned best = c->n;

	for (unsigned i = 0; i < c->n; i++) {
		size_t k = 0;

		for (size_t j = 0; j < c->cases.n; j++)
			k += !(c->cases.at[j] & chosen) && (c->cases.at[j] >> i & 1);
		if (k > most) {
			most = k;
			best = i;
		}
	}
	return best;
}

term obligation_cover(struct proof *p, const struct obligation *o, const term *cond, unsigned n, bool *chosen)
{
	struct cover c = { .cond = cond, .n = n > 64 ? 64 : n };
	uint64_t bits = 0;
	term out = term_num(&p->t, 0);

	try_sizes(p, o, true, note_case, &c);
	for (unsigned best; (best = best_condition(&c, bits)) < c.n;)
		bits |= (uint64_t)1 << best;
	VEC_FREE(&c.cases);
	for (unsigned i = 0; i < n; i++) {
		chosen[i] = i < 64 && (bits >> i & 1);
		if (chosen[i])
			out = term_or(&p->t, out, cond[i]);
	}
	return out;
}

/* ---- proofs ---- */

/* Keeps the text of an obligation in the directory of --smt. */
static void keep_text(struct proof *p, const struct obligation *o, const char *kind, const char *text)
{
	const uint32_t line = p->b->lines ? p->b->lines[o->insn] : 0;
	char path[512];
	FILE *f;

	if (!p->asked->dir)
		return;
	snprintf(path, sizeof path, "%s/%03" PRIu32 "%s%s.smt2", p->asked->dir, p->number, p->in_place ? "-inplace" : "", kind);
	f = fopen(path, "w");
	if (!f)
		proof_stop(p, o->insn, "%s cannot be written", path);
	fprintf(f, "; line %" PRIu32 ": %s. It is proved if the answer is unsat.\n%s", line, o->what, text);
	if (fclose(f))
		proof_stop(p, o->insn, "%s cannot be written", path);
}

#define INTEGER_SECONDS 2u

struct turn {
	const char *program;
	unsigned seconds; /* at most */
};

/* Asks solvers in turn, until one knows. If the user has chosen one, it has the time of the last turn. */
static enum solver_answer ask_in_turns(struct proof *p, const struct turn *turns, unsigned nturns, const char *text,
				       int64_t *value, unsigned n)
{
	enum solver_answer a = SOLVER_MISSING;

	for (unsigned i = p->asked->solver ? nturns - 1 : 0; i < nturns && a != SOLVER_UNSAT && a != SOLVER_SAT; i++) {
		const char *program = p->asked->solver ? p->asked->solver : turns[i].program;
		const unsigned seconds = turns[i].seconds < p->asked->seconds ? turns[i].seconds : p->asked->seconds;
		const enum solver_answer next = solver_ask(program, text, seconds, value, n);

		a = next == SOLVER_MISSING ? a : next;
	}
	return a;
}

_Noreturn static void report_false(struct proof *p, const struct obligation *o, int64_t size, int64_t root)
{
	p->out->size = size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
	p->out->root = root;
	p->out->root_matters = p->b->meta->root != BIN_NONE;
	proof_stop(p, o->insn, "%s", o->what);
}

/* Returns a text to be freed; NULL if it could not be written. */
static char *take_text(struct proof *p, struct text *text, bool written)
{
	char *s;

	if (!written) {
		free(text->at);
		if (text->err)
			longjmp(p->stop, 1);
		return NULL;
	}
	if (text_take(text, &s))
		longjmp(p->stop, 1);
	return s;
}

/* Returns the text of the obligation, for sizes up to `most`, to be freed; NULL if numbers of more than 64 bits may occur. */
static char *obligation_text(struct proof *p, const struct obligation *o, int64_t most)
{
	const term vars[] = { p->s.p, p->s.root };
	struct obligation limited = *o;
	struct text text = { 0 };

	obligation_assume(p, &limited, term_le(&p->t, p->s.p, term_num(&p->t, most)));
	return take_text(p, &text, smt_write(&p->t, &limited, vars, 2, &text));
}

/* Adds an obligation to the hash, and keeps its text if that is asked for. Returns false if it has no text. */
static bool keep_obligation(struct proof *p, const struct obligation *o)
{
	char *s = obligation_text(p, o, SITES_MOST_RANKS);

	if (!s)
		return false;
	p->out->hash += bin_sum64(s, strlen(s));
	p->number++;
	keep_text(p, o, "", s);
	free(s);
	return true;
}

/* Asks the solvers about an obligation, for sizes up to `most`. */
static enum solver_answer ask_about(struct proof *p, const struct obligation *o, int64_t most, int64_t value[2])
{
	/* each first for a short time: which of them is quick differs between obligations */
	static const struct turn turns[] = { { "cvc5", 3 }, { "z3", 10 }, { "cvc5", UINT_MAX }, { "z3", UINT_MAX } };
	char *s = obligation_text(p, o, most);
	enum solver_answer a;

	if (!s)
		proof_stop(p, o->insn, "numbers of more than 64 bits may occur in this obligation: %s", o->what);
	a = ask_in_turns(p, turns, 4, s, value, 2);
	free(s);
	return a;
}

/* True if a solver proves an obligation in integers, which takes no time or is in vain. */
static bool prove_in_integers(struct proof *p, const struct obligation *o)
{
	static const struct turn turns[] = { { "z3", INTEGER_SECONDS }, { "cvc5", INTEGER_SECONDS } };
	struct text text = { 0 };
	char *s = take_text(p, &text, smt_write_int(&p->t, o, &text));
	bool proved;

	if (!s)
		return false;
	proved = ask_in_turns(p, turns, 2, s, NULL, 0) == SOLVER_UNSAT;
	if (proved)
		keep_text(p, o, "-integers", s);
	free(s);
	return proved;
}

/* Finds a counterexample at a size that can be verified, if there is one, and ends the proof. */
_Noreturn static void report_least(struct proof *p, const struct obligation *o, const int64_t value[2])
{
	static const int64_t limits[] = { 128, 1024 };
	int64_t small[2];

	for (unsigned i = 0; i < 2 && value[0] > limits[i]; i++)
		if (ask_about(p, o, limits[i], small) == SOLVER_SAT)
			report_false(p, o, small[0], small[1]);
	report_false(p, o, value[0], value[1]);
}

/* Has solvers prove an obligation, or ends the proof. */
static void prove_asking(struct proof *p, const struct obligation *o)
{
	int64_t value[2] = { 0 };
	enum solver_answer a;

	if (keep_obligation(p, o) && prove_in_integers(p, o)) /* what is proved is in the hash */
		return;
	a = ask_about(p, o, SITES_MOST_RANKS, value);
	if (a == SOLVER_SAT)
		report_least(p, o, value);
	if (a == SOLVER_MISSING)
		proof_stop(p, o->insn, "there is no solver: install cvc5 or z3");
	if (a == SOLVER_UNKNOWN)
		proof_stop(p, o->insn, "it was not settled in time whether this can be: %s", o->what);
}

void obligation_prove(struct proof *p, const struct obligation *o)
{
	struct obligation left[MOST_LEFT];
	struct refutation r;
	unsigned n;
	int64_t k;

	if (term_is_num(&p->t, o->goal, &k) && k)
		return;
	r = find_refutation(p, o, false);
	if (r.found)
		report_false(p, o, r.size, r.root);
	n = obligation_simplify(p, o, left);
	if (!n)
		keep_obligation(p, o);
	for (unsigned i = 0; i < n; i++)
		prove_asking(p, &left[i]);
	p->out->asked += n > 0;
	p->out->obligations++;
}

/* ---- instances ---- */

void instance_own(struct proof *p, const struct site *x, struct instance *out)
{
	*out = (struct instance){ .site = x, .rank = p->rank };
	term_map_add(&out->map, p->s.r, p->rank);
}

void instance_fresh(struct proof *p, struct obligation *o, const struct site *x, term rank, struct instance *out)
{
	struct terms *t = &p->t;

	*out = (struct instance){ .site = x, .rank = rank };
	term_map_add(&out->map, p->s.r, rank);
	for (unsigned i = 0; i < x->path.n; i++) {
		const struct frame *f = &x->path.frame[i];
		struct term_node n;
		term var;

		if (f->var == TERM_NONE)
			continue;
		n = *term_at(t, f->var);
		var = term_var(t, t->vars.at[n.num].name, n.lo, n.hi);
		t->vars.at[term_at(t, var)->num].below = t->vars.at[n.num].below;
		term_map_add(&out->map, f->var, var);
	}
	obligation_path(p, o, &x->path, &out->map);
}

term instance_condition(struct proof *p, const struct instance *i)
{
	return path_condition(&p->t, &i->site->path, &i->map);
}

term instance_before(struct proof *p, const struct instance *a, const struct instance *b)
{
	const struct path *x = &a->site->path, *y = &b->site->path;
	struct terms *t = &p->t;
	term before[2 * MOST_HYPS], equal[2 * MOST_HYPS], out;
	unsigned n = 0, i = 0, k = 0;

	for (;; i++, k++) {
		while (i < x->n && x->frame[i].var == TERM_NONE)
			i++;
		while (k < y->n && y->frame[k].var == TERM_NONE)
			k++;
		if (i == x->n || k == y->n || x->frame[i].loop != y->frame[k].loop)
			break;
		const term u = instance_value(p, a, x->frame[i].var), v = instance_value(p, b, y->frame[k].var);

		before[n] = x->frame[i].down ? term_lt(t, v, u) : term_lt(t, u, v);
		equal[n++] = term_eq(t, u, v);
	}
	out = term_num(t, a->site->seq < b->site->seq);
	while (n--)
		out = term_or(t, before[n], term_and(t, equal[n], out));
	return out;
}

term instance_same(struct proof *p, const struct instance *a, const struct instance *b)
{
	term out = term_num(&p->t, a->site == b->site);

	for (unsigned i = 0; i < a->site->path.n && a->site == b->site; i++)
		if (a->site->path.frame[i].var != TERM_NONE)
			out = term_and(&p->t, out,
				       term_eq(&p->t, instance_value(p, a, a->site->path.frame[i].var),
					       instance_value(p, b, a->site->path.frame[i].var)));
	return out;
}

#define MOST_TRIED 16u

/* Collects the guesses for a variable of the instance. Returns their number. */
static unsigned collect_guesses(struct proof *p, const struct instance *i, term var, const struct guess *g, term *tried)
{
	unsigned n = 0;

	for (unsigned k = 0; k < g->n + g->nmore; k++) {
		struct term_solutions s = { .n = 1 };

		if (k < g->n)
			term_solve(&p->t, instance_value(p, i, g->term[k]), var, g->value[k], &s);
		else
			s.at[0] = g->more[k - g->n];
		for (unsigned m = 0; m < s.n && n < MOST_TRIED; m++) {
			unsigned j = 0;

			while (j < n && tried[j] != s.at[m])
				j++;
			if (j == n && !term_has(&p->t, s.at[m], var))
				tried[n++] = s.at[m];
		}
	}
	return n;
}

/* Tries the guesses for the loop variables of a path from frame `at` on. */
static void guess_from(struct proof *p, struct instance *i, unsigned at, const struct guess *g,
		       void (*fn)(struct proof *, const struct instance *, void *), void *arg)
{
	const struct path *path = &i->site->path;
	term tried[MOST_TRIED];
	unsigned n;

	while (at < path->n && path->frame[at].var == TERM_NONE)
		at++;
	if (at == path->n) {
		fn(p, i, arg);
		return;
	}
	n = collect_guesses(p, i, path->frame[at].var, g, tried);
	for (unsigned k = 0; k < n; k++) {
		term_map_add(&i->map, path->frame[at].var, tried[k]);
		guess_from(p, i, at + 1, g, fn, arg);
		i->map.n--;
	}
}

void instance_guess(struct proof *p, const struct site *x, term rank, const struct guess *g,
		    void (*fn)(struct proof *, const struct instance *, void *), void *arg)
{
	struct instance i = { .site = x, .rank = rank };

	term_map_add(&i.map, p->s.r, rank);
	guess_from(p, &i, 0, g, fn, arg);
}
