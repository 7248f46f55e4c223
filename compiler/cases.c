/* SPDX-License-Identifier: BSD-3-Clause
 * Walks over the cases of a schedule: four nested axes. After each step on an axis, the axes inside it start again. */
#include "compiler/cases.h"

#include <string.h>

/* ---- arguments ---- */

/* Returns how many parameters have a value. If `defaults` is set, parameters with a default count too. */
static unsigned count_known(const struct cases *c, bool defaults)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < c->s->b.nparams; i++)
		n += arg_row(&c->rows, 0)[i].known || (defaults && c->s->b.params[i].has_default);
	return n;
}

/* Makes the rows of a case: the values of -D, and values of a sample for the other parameters. The parameters of a concrete
 * binary are fixed. */
static int make_rows(struct cases *c)
{
	unsigned given;
	int err;

	arg_rows_fini(&c->rows);
	err = arg_rows_init(&c->rows, &c->s->b, c->args.size);
	err = err ? err : arg_rows_define(&c->rows, c->s->d, c->s->file, &c->s->b, c->defines, c->ndefines, &c->only);
	if (err)
		return err;
	given = count_known(c, false);
	err = c->s->b.meta->nranks ? 0 : collective_sample(&c->s->b, c->count, c->sample, &c->rows);
	c->args.sample = count_known(c, false) > given ? c->rows.name : NULL;
	c->stale = false;
	return err;
}

static int set_args(struct cases *c)
{
	int err = c->stale ? make_rows(c) : 0;

	if (err)
		return err;
	if (c->root >= 0)
		arg_rows_set(&c->rows, c->s->b.meta->root, (struct bin_arg){ .known = true, .value = c->root });
	c->args.count = c->count;
	c->args.args = c->rows.by_rank[0];
	c->args.by_rank = c->rows.by_rank;
	return 1;
}

/* ---- samples and roots ---- */

static int next_sample(struct cases *c)
{
	uint32_t i = c->at[CASES_SAMPLE];
	char name[32];

	c->turn = i ? c->turn + 1 : 0;
	while (i < 32 && !(c->samples >> i & 1))
		i++;
	c->sample = i;
	c->at[CASES_SAMPLE] = i + 1;
	c->stale = true;
	c->nused = 0;
	c->none = -1;
	if (i >= 32)
		return 0;
	collective_sample_name(&c->s->b, i, name, sizeof name);
	c->empty = !strncmp(name, "zero", 4) || !strncmp(name, "empty", 5);
	return 1;
}

/* Returns the i-th root to try, or -1 if it was tried before. The first `most` roots are tried in any case. */
static int64_t number_root(const struct cases *c, uint32_t i, uint32_t most)
{
	const uint32_t last = c->args.size - 1;
	const bool all = c->args.size <= c->all_roots;

	if (i < most)
		return all ? i : (int64_t)last * i / 2;
	i -= most;
	return all || i == 0 || i == last / 2 || i == last ? -1 : (int64_t)i;
}

/* Takes the next root. The first `most` roots are always tried. If `persistent` is set, further roots are tried until
 * there are `most` roots with which a case with elements has passed. */
static int next_root(struct cases *c)
{
	const uint32_t size = c->args.size, most = size <= c->all_roots ? size : 3;
	const bool any = !c->only || c->empty || size > c->all_pairs; /* cases without elements are enough */
	uint32_t *i = &c->at[CASES_ROOT];

	c->suited = *i ? c->suited + (c->useful != c->useful_root || (any && c->passed != c->passed_root)) : 0;
	c->useful_root = c->useful;
	c->passed_root = c->passed;
	c->root = -1;
	c->nused = 0;
	c->none = -1;
	if (!c->open)
		return !(*i)++;
	while (c->root < 0 && *i < most + (c->persistent ? size : 0) && c->suited < most)
		c->root = number_root(c, (*i)++, most);
	return c->root >= 0;
}

/* ---- counts ---- */

int64_t cases_usual_count(const struct cases *c, unsigned usual)
{
	return (int64_t[]){ 0, 1, 7, 2 * (int64_t)c->args.size + 1, c->cut, c->only }[usual];
}

static bool is_used(const struct cases *c, int64_t count)
{
	for (unsigned i = 0; i < c->nused; i++)
		if (c->used[i] == count)
			return true;
	return false;
}

static bool is_turn(const struct cases *c, unsigned usual)
{
	const unsigned counts = c->cut ? COUNTS_USUAL : COUNTS_USUAL - 1;
	const unsigned samples = (unsigned)__builtin_popcount(c->samples), most = counts > samples ? counts : samples;
	bool turn = c->args.size <= c->all_pairs;

	for (unsigned i = c->turn; i < most && !turn; i += samples)
		turn = (i + i / counts) % counts == usual;
	return turn;
}

static int next_count(struct cases *c)
{
	uint32_t *i = &c->at[CASES_COUNT];

	c->usual = COUNTS_USUAL;
	c->base = c->only;
	if (c->only >= 0)
		return !(*i)++;
	while (c->counts[*i] != COUNTS_USUAL) {
		c->usual = c->counts[(*i)++];
		c->base = cases_usual_count(c, c->usual);
		if ((c->base || c->usual == COUNTS_NONE) && !is_used(c, c->base) && is_turn(c, c->usual))
			return 1;
	}
	return 0;
}

/* Begins a search if the count that was tried was excluded and needs a replacement. Returns 1, or 0 if it needs none. If the
 * same instruction also rules out count 0, it may be about the size or the root: the search is then short. */
static int begin_search(struct cases *c)
{
	const bool fails = c->passed == c->passed_base;
	int err = 0;

	c->used[c->nused++] = c->base;
	if (!c->base && fails)
		c->none = c->where;
	if (!fails || c->excluded == c->excluded_base || !c->base || (c->persistent && c->only >= 0))
		return 0;
	if (!c->others.numbers.n)
		err = counts_init(&c->others, &c->s->b, c->args.size, c->persistent ? c->args.args : NULL);
	c->most = c->persistent && c->none != (int64_t)c->where ? SIZE_MAX : counts_short(&c->others);
	return err ? err : 1;
}

/* Takes the next count, until a count passes. Step 0 takes the count itself, and step 1 its replacement that passed with
 * another root or sample. The further steps take the counts of the search. */
static int next_other(struct cases *c)
{
	uint32_t *step = &c->at[CASES_OTHER];
	int more = 1;

	c->stale = true;
	c->searching = *step;
	if (!*step) {
		*step = 1;
		c->passed_base = c->passed;
		c->excluded_base = c->excluded;
		c->count = c->base;
		return 1;
	}
	if (*step == 1)
		more = begin_search(c);
	else if (c->passed != c->passed_base && c->persistent)
		c->found[c->usual] = c->used[c->nused++] = c->count;
	if (more <= 0 || c->passed != c->passed_base)
		return more < 0 ? more : 0;
	for (; *step == 1 || (*step - 1 <= c->most && c->budget > c->least); ++*step) {
		c->count = *step > 1 ? counts_other(&c->others, c->base, *step - 2) : c->persistent ? c->found[c->usual] : 0;
		if (*step > 1 && !c->count)
			return 0;
		if (c->count && !is_used(c, c->count)) {
			++*step;
			return 1;
		}
	}
	return 0;
}

/* ---- the walk ---- */

int cases_begin(struct cases *c)
{
	const uint32_t root = c->s->b.meta->root;
	int err = 0;

	c->args.size = c->first ? c->first : c->sizes[0];
	for (unsigned i = c->s->b.meta->nranks ? 1 : collective_samples(&c->s->b); i-- && !err;) {
		c->sample = i;
		err = make_rows(c);
		if (i && !c->args.sample) /* the same as the first sample */
			continue;
		if (!err && (!c->valued || count_known(c, true) == c->s->b.nparams))
			c->samples |= 1u << i;
	}
	c->open = !err && root != BIN_NONE && !arg_row(&c->rows, 0)[root].known &&
		  !(c->default_root && c->s->b.params[root].has_default) &&
		  (!c->s->b.meta->nranks || c->s->b.meta->flags & BIN_F_ROOTS);
	return err;
}

void cases_end(struct cases *c)
{
	arg_rows_fini(&c->rows);
	counts_fini(&c->others);
}

bool cases_next_size(struct cases *c)
{
	const uint32_t size = c->first ? c->first + c->nsizes : c->sizes[c->nsizes];

	if (!size || (c->first && size > c->last))
		return false;
	c->nsizes++;
	c->args = (struct bin_args){ .size = size };
	c->passed = c->useful = c->excluded = 0;
	counts_fini(&c->others);
	memset(c->found, 0, sizeof c->found);
	c->level = 0;
	c->at[c->order[0]] = 0;
	return true;
}

int cases_next(struct cases *c)
{
	static int (*const next[CASES_AXES])(struct cases *c) = {
		[CASES_SAMPLE] = next_sample, [CASES_ROOT] = next_root, [CASES_COUNT] = next_count, [CASES_OTHER] = next_other
	};

	while (c->level >= 0) {
		const int more = next[c->order[c->level]](c);

		if (more < 0)
			return more;
		if (!more)
			c->level--;
		else if (c->level == CASES_AXES - 1)
			return set_args(c);
		else
			c->at[c->order[++c->level]] = 0;
	}
	return 0;
}

void cases_note(struct cases *c, enum case_outcome outcome, uint32_t where)
{
	c->where = where;
	c->passed += outcome == CASE_PASSED;
	c->excluded += outcome == CASE_EXCLUDED;
	c->useful += outcome == CASE_PASSED && c->args.count && !c->empty;
}
