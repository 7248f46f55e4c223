/* SPDX-License-Identifier: BSD-3-Clause
 * Terms for values: a sum of up to three atoms, perhaps with its remainder or a minimum taken, that has the values of all
 * samples. Atoms are the variables and terms of the site, and simple functions of these. Simple sums are tried first, on some of
 * the samples; one for which a term is wrong is added to these, and another term is sought. A term that is found is a guess; it is
 * proved or refuted as part of the obligations about its site. */
#include "compiler/allranks/parts.h"
#include "compiler/allranks/values.h"

#include "format/check.h"

#include <string.h>

#define MOST_ATOMS 44u
#define MOST_CONDS 16u
#define FITTED 300u /* samples that are compared at first */
#define MOST_FITTED (FITTED + 30u)

/* Forms of a sum x; y is an atom. */
enum form { FORM_SUM, FORM_MOD, FORM_NATURAL, FORM_MIN, FORM_WITH_MIN };

/* What a term is sought for: the first rank of the run, the index, the number of ranks, and the rank behind the last one. */
enum target { FIRST, INDEX, NUMBER, END };

struct fit {
	struct proof *p;
	const struct site *site;
	const struct samples *all;
	bool members; /* the values are over members */
	unsigned n; /* number of samples that are compared */
	const struct sample *sample[MOST_FITTED];
	int64_t size[MOST_FITTED], want[MOST_FITTED];
	int64_t modulus[MOST_FITTED]; /* a term may differ from what is wanted by multiples of this; or 0 */
	bool left[MOST_FITTED]; /* true if the sample does not count */
	term atom[MOST_ATOMS], cond[MOST_CONDS];
	int64_t *value[MOST_ATOMS];
	unsigned natoms, nconds;
};

/* A sum of n atoms; those behind the first one have a sign. */
struct sum3 {
	unsigned n, atom[3];
	int64_t sign[3];
};

/* Evaluates a term for a sample. Returns false if it has no value. */
static bool eval_sample(const struct fit *f, term x, const struct sample *s, int64_t *out)
{
	s->value[term_at(&f->p->t, f->p->elem)->num] = s->elem;
	return !term_eval(&f->p->t, x, s->value, out);
}

static int64_t *eval_atom(struct fit *f, term x)
{
	struct proof *p = f->p;
	int64_t *out = arena_alloc(&p->store, (f->n + 1) * sizeof *out);

	if (!out)
		longjmp(p->stop, 1);
	for (unsigned i = 0; i < f->n; i++)
		if (!eval_sample(f, x, f->sample[i], &out[i]))
			return NULL;
	return out;
}

static void add_atom(struct fit *f, term x)
{
	for (unsigned i = 0; i < f->natoms; i++)
		if (f->atom[i] == x)
			return;
	if (f->natoms == MOST_ATOMS)
		return;
	f->value[f->natoms] = eval_atom(f, x);
	if (!f->value[f->natoms])
		return;
	for (unsigned i = 0; i < f->natoms; i++) /* a term with the same values is no further choice */
		if (f->n && !memcmp(f->value[i], f->value[f->natoms], f->n * sizeof *f->value[i]))
			return;
	f->atom[f->natoms++] = x;
}

static void add_cond(struct fit *f, term x)
{
	int64_t k;

	for (unsigned i = 0; i < f->nconds; i++)
		if (f->cond[i] == x)
			return;
	if (f->nconds < MOST_CONDS && !term_is_num(&f->p->t, x, &k))
		f->cond[f->nconds++] = x;
}

/* Adds the parts of a term, the innermost first. */
static void add_parts(struct fit *f, term x)
{
	struct terms *t = &f->p->t;
	struct term_node n;

	if (x == TERM_NONE)
		return;
	n = *term_at(t, x);
	if (n.op != TERM_VAR && n.op != TERM_NUM) {
		add_parts(f, n.a);
		add_parts(f, n.b);
		add_parts(f, n.c);
	}
	if (n.op == TERM_KEY)
		return;
	if (term_boolean(t, x))
		add_cond(f, x);
	else
		add_atom(f, x);
	if (n.op == BIN_MIN || n.op == BIN_MAX)
		add_cond(f, term_lt(t, n.a, n.b));
	if (n.op == BIN_XOR && term_at(t, n.b)->lo > 0) { /* where the group of a member begins */
		const term behind = term_apply(t, BIN_MOD, n.a, n.b);

		add_atom(f, behind);
		add_atom(f, term_sub(t, n.a, behind));
	}
}

/* Adds the exclusive ors in a term. */
static void add_flips(struct fit *f, term x)
{
	const struct term_node n = *term_at(&f->p->t, x);
	const term part[] = { n.a, n.b, n.c };

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return;
	for (unsigned i = 0; i < 3; i++)
		if (part[i] != TERM_NONE)
			add_flips(f, part[i]);
	if (n.op == BIN_XOR)
		add_atom(f, x);
}

/* Adds the numbers of members, and powers of two. */
static void collect_members(struct fit *f, const struct site *x)
{
	struct terms *t = &f->p->t;

	add_atom(f, f->p->member);
	if (bin_is_message(x->kind))
		add_flips(f, x->peer);
	for (unsigned i = 0; i < x->path.n; i++)
		if (x->path.frame[i].var != TERM_NONE)
			for (int64_t more = -1; more <= 1; more++)
				add_atom(f, term_apply(t, BIN_POW, term_num(t, 2),
						       term_add(t, x->path.frame[i].var, term_num(t, more))));
}

/* Adds the parts of a term that are the same for all ranks, roots and iterations. */
static void add_shared(struct fit *f, term x)
{
	const struct term_node n = *term_at(&f->p->t, x);
	const term part[] = { n.a, n.b, n.c };

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return;
	for (unsigned i = 0; i < 3; i++)
		if (part[i] != TERM_NONE)
			add_shared(f, part[i]);
	if (span_shared(&f->p->s, x) && !term_boolean(&f->p->t, x))
		add_atom(f, x);
}

/* What the peers of all messages have in common, such as the number of members. */
static void collect_shared(struct fit *f)
{
	for (size_t i = 0; i < f->p->s.ops.n; i++)
		if (bin_is_message(f->p->s.ops.at[i].kind))
			add_shared(f, f->p->s.ops.at[i].peer);
}

static void collect_atoms(struct fit *f)
{
	struct proof *p = f->p;
	struct terms *t = &p->t;
	const struct site *x = f->site;
	const term basic[] = { term_num(t, 0), term_num(t, 1), p->s.r, p->s.p, p->elem };

	f->natoms = f->nconds = 0;
	if (f->members)
		collect_members(f, x);
	for (unsigned i = 0; i < sizeof basic / sizeof *basic; i++)
		add_atom(f, basic[i]);
	if (p->member != TERM_NONE)
		collect_shared(f);
	if (p->b->meta->root != BIN_NONE) {
		add_atom(f, p->s.root);
		if (p->turned != p->s.r)
			add_atom(f, term_apply(t, BIN_MOD, term_sub(t, p->s.r, p->s.root), p->s.p));
	}
	for (unsigned i = 0; i < x->path.n; i++)
		if (x->path.frame[i].var != TERM_NONE) {
			const term k = x->path.frame[i].var, two = term_num(t, 2), power = term_apply(t, BIN_POW, two, k);

			add_atom(f, k);
			add_atom(f, power);
			add_atom(f, term_apply(t, BIN_POW, two, term_add(t, k, term_num(t, 1))));
			if (p->member != TERM_NONE) /* where the group of a member begins */
				add_atom(f, term_sub(t, p->member, term_apply(t, BIN_MOD, p->member, power)));
		}
	for (unsigned i = 0; i < bin_nranges(x->kind); i++)
		add_parts(f, x->range[i].off);
	add_parts(f, x->len);
	if (bin_is_message(x->kind))
		add_parts(f, x->peer);
	for (unsigned i = 0; i < x->path.n; i++)
		add_parts(f, x->path.frame[i].var == TERM_NONE ? x->path.frame[i].cond : x->path.frame[i].hi);
}

/* ---- sums ---- */

static bool is_wanted(const struct fit *f, unsigned i, int64_t x)
{
	return x == f->want[i] || (f->modulus[i] && (x - f->want[i]) % f->modulus[i] == 0);
}

static bool has_form(const struct fit *f, const struct sum3 *s, enum form form, unsigned y)
{
	for (unsigned i = 0; i < f->n; i++) {
		int64_t x = 0;

		if (f->left[i])
			continue;
		for (unsigned k = 0; k < s->n; k++)
			x += s->sign[k] * f->value[s->atom[k]][i];
		const int64_t least = x < f->value[y][i] ? x : f->value[y][i];

		switch (form) {
		case FORM_SUM:
			break;
		case FORM_MOD:
			x = ((x % f->size[i]) + f->size[i]) % f->size[i];
			break;
		case FORM_NATURAL:
			x = x > 0 ? x : 0;
			break;
		case FORM_MIN:
			x = least;
			break;
		case FORM_WITH_MIN:
			x += least;
		}
		if (!is_wanted(f, i, x))
			return false;
	}
	return true;
}

static term form_term(const struct fit *f, const struct sum3 *s, enum form form, unsigned y)
{
	struct terms *t = &f->p->t;
	term x = f->atom[s->atom[0]];

	for (unsigned k = 1; k < s->n; k++)
		x = s->sign[k] > 0 ? term_add(t, x, f->atom[s->atom[k]]) : term_sub(t, x, f->atom[s->atom[k]]);
	switch (form) {
	case FORM_SUM:
		break;
	case FORM_MOD:
		return term_apply(t, BIN_MOD, x, f->p->s.p);
	case FORM_NATURAL:
		return term_apply(t, BIN_MAX, x, term_num(t, 0));
	case FORM_MIN:
		return term_apply(t, BIN_MIN, x, f->atom[y]);
	case FORM_WITH_MIN:
		return term_add(t, x, term_apply(t, BIN_MIN, x, f->atom[y]));
	}
	return x;
}

/* Tries the forms of a sum from `form` to `last`. */
static term try_forms(const struct fit *f, const struct sum3 *s, enum form form, enum form last)
{
	for (; form <= last; form++)
		for (unsigned y = 0; y < (form >= FORM_MIN ? f->natoms : 1); y++)
			if (has_form(f, s, form, y))
				return form_term(f, s, form, y);
	return TERM_NONE;
}

/* Tries all sums that begin with *s and have n atoms. */
static term try_sums(const struct fit *f, struct sum3 *s, unsigned n, enum form form, enum form last)
{
	term out = TERM_NONE;

	if (s->n == n)
		return try_forms(f, s, form, last);
	s->n++;
	for (unsigned a = 0; a < f->natoms && out == TERM_NONE; a++)
		for (int64_t sign = 1; sign >= (s->n > 1 ? -1 : 1) && out == TERM_NONE; sign -= 2) {
			s->atom[s->n - 1] = a;
			s->sign[s->n - 1] = sign;
			out = try_sums(f, s, n, form, last);
		}
	s->n--;
	return out;
}

/* Finds a term for the samples that count, with sums of up to `most` atoms. */
static term find_sum(const struct fit *f, unsigned most)
{
	static const struct {
		unsigned n;
		enum form first, last;
	} tries[] = { { 1, FORM_SUM, FORM_NATURAL },	  { 2, FORM_SUM, FORM_MOD },	 { 1, FORM_MIN, FORM_WITH_MIN },
		      { 2, FORM_NATURAL, FORM_WITH_MIN }, { 3, FORM_SUM, FORM_NATURAL }, { 3, FORM_MIN, FORM_WITH_MIN } };
	term out = TERM_NONE;

	for (unsigned i = 0; i < sizeof tries / sizeof *tries && out == TERM_NONE; i++)
		if (tries[i].n <= most)
			out = try_sums(f, &(struct sum3){ 0 }, tries[i].n, tries[i].first, tries[i].last);
	return out;
}

/* Finds a choice between two terms by a condition of the site. */
static term find_choice(struct fit *f)
{
	term out = TERM_NONE;

	for (unsigned c = 0; c < f->nconds && out == TERM_NONE; c++) {
		const int64_t *yes = eval_atom(f, f->cond[c]);
		term side[2] = { TERM_NONE, TERM_NONE };

		for (int way = 0; way < 2 && yes && (!way || side[0] != TERM_NONE); way++) {
			for (unsigned i = 0; i < f->n; i++)
				f->left[i] = (yes[i] != 0) != way;
			side[way] = find_sum(f, 2);
		}
		if (side[1] != TERM_NONE)
			out = term_ite(&f->p->t, f->cond[c], side[1], side[0]);
	}
	memset(f->left, 0, sizeof f->left);
	return out;
}

/* ---- values ---- */

static int64_t size_of(const struct fit *f, const struct sample *s)
{
	return s->value[term_at(&f->p->t, f->p->s.p)->num];
}

static int64_t wanted(const struct sample *s, enum target what)
{
	const struct cell *c = &s->cell;

	return what == FIRST ? c->lo : what == INDEX ? c->index : what == NUMBER ? c->n : c->lo + c->n;
}

/* If the operation commutes, any rank may be the first one of all ranks. */
static bool is_any(const struct fit *f, const struct sample *s, enum target what)
{
	return what == FIRST && !f->members && f->p->b->meta->flags & BIN_F_COMMUTATIVE && s->cell.n == size_of(f, s);
}

static int64_t modulus_of(const struct fit *f, const struct sample *s, enum target what)
{
	return f->members && what == FIRST ? s->cell.n : 0;
}

/* Finds a term for the samples that are compared. */
static term find_some(struct fit *f, enum target what)
{
	term out;

	for (unsigned i = 0; i < f->n; i++) {
		f->want[i] = wanted(f->sample[i], what);
		f->left[i] = is_any(f, f->sample[i], what);
		f->modulus[i] = modulus_of(f, f->sample[i], what);
	}
	out = find_sum(f, what == NUMBER ? 2 : 3);
	memset(f->left, 0, sizeof f->left);
	return out == TERM_NONE && what != NUMBER ? find_choice(f) : out;
}

static void compare_with(struct fit *f, const struct sample *s)
{
	f->size[f->n] = size_of(f, s);
	f->sample[f->n++] = s;
}

/* Returns a sample for which a term is wrong, or NULL. */
static const struct sample *find_wrong(const struct fit *f, term x, enum target what)
{
	for (size_t i = 0; i < f->all->n; i++) {
		const struct sample *s = &f->all->at[i];
		const int64_t modulus = modulus_of(f, s, what);
		int64_t k;

		if (is_any(f, s, what))
			continue;
		if (!eval_sample(f, x, s, &k))
			return s;
		k -= wanted(s, what);
		if (modulus ? k % modulus : k)
			return s;
	}
	return NULL;
}

static term find_term(struct fit *f, enum target what)
{
	for (;;) {
		const term out = find_some(f, what);
		const struct sample *wrong = out == TERM_NONE ? NULL : find_wrong(f, out, what);

		if (!wrong)
			return out;
		if (f->n == MOST_FITTED)
			return TERM_NONE;
		compare_with(f, wrong);
		collect_atoms(f);
	}
}

/* ---- members ---- */

/* Returns the ranks of the members that are equal to `lo` modulo n, at the size of a sample. */
static uint64_t ranks_of(const struct fit *f, const struct sample *s, int64_t lo, int64_t n)
{
	int64_t *r = &s->value[term_at(&f->p->t, f->p->s.r)->num], own = *r, m;
	uint64_t out = 0;

	for (*r = 0; *r < size_of(f, s); ++*r)
		if (!term_eval(&f->p->t, f->p->member, s->value, &m) && (m - lo) % n == 0)
			out |= (uint64_t)1 << *r;
	*r = own;
	return out;
}

/* Describes the ranks of a sample by the number of a member, and the least modulus. Returns false if they are no class. */
static bool describe_class(const struct fit *f, struct sample *s)
{
	int64_t *r = &s->value[term_at(&f->p->t, f->p->s.r)->num], own = *r;
	struct cell *c = &s->cell;
	int err;

	*r = __builtin_ctzll(c->ranks);
	err = term_eval(&f->p->t, f->p->member, s->value, &c->lo);
	*r = own;
	for (c->n = 1; !err && c->n <= 2 * size_of(f, s); c->n *= 2)
		if (ranks_of(f, s, c->lo, c->n) == c->ranks)
			return true;
	return false;
}

/* Makes samples whose values are classes of members. Returns false if some are not. */
static bool describe_classes(struct fit *f, struct samples *out)
{
	*out = (struct samples){ arena_alloc(&f->p->store, f->all->n * sizeof *out->at), f->all->n };
	if (!out->at)
		longjmp(f->p->stop, 1);
	memcpy(out->at, f->all->at, out->n * sizeof *out->at);
	for (size_t i = 0; i < out->n; i++)
		if (!describe_class(f, &out->at[i]))
			return false;
	f->all = out;
	return true;
}

bool fit_held(struct proof *p, const struct site *x, const struct samples *s, struct held *out)
{
	struct fit f = { .p = p, .site = x, .all = s };
	const size_t step = (s->n + FITTED - 1) / FITTED;
	struct samples classes;

	for (size_t i = 0; i < s->n; i++) {
		if (!s->at[i].cell.known || s->at[i].cell.buf != s->at[0].cell.buf)
			return false;
		f.members |= !s->at[i].cell.run;
	}
	if (f.members && (p->member == TERM_NONE || !describe_classes(&f, &classes)))
		return false;
	for (size_t i = 0; i < s->n; i += step)
		compare_with(&f, &f.all->at[i]);
	collect_atoms(&f);
	out->members = f.members;
	out->buf = term_num(&p->t, s->n ? (int64_t)s->at[0].cell.buf : 0);
	out->lo = find_term(&f, FIRST);
	out->index = find_term(&f, INDEX);
	out->n = find_term(&f, NUMBER);
	if (out->n == TERM_NONE && out->lo != TERM_NONE && !f.members) {
		out->n = find_term(&f, END);
		out->n = out->n == TERM_NONE ? out->n : term_sub(&p->t, out->n, out->lo);
	}
	return out->lo != TERM_NONE && out->n != TERM_NONE && out->index != TERM_NONE;
}
