/* SPDX-License-Identifier: BSD-3-Clause
 * The proof of goalc --verify for each value of a range -D name=A-B. Values for which the same is proved share a text, which
 * lists them. */
#include "compiler/origin.h"
#include "compiler/verify/brackets.h"
#include "compiler/verify_cases.h"
#include "util/err.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void proof_fini(struct verify_proof *p)
{
	verify_result_fini(&p->r);
	free(p->same);
	VEC_FREE(&p->values);
}

void verify_proofs_fini(struct verify_proofs *all)
{
	for (size_t i = 0; i < all->v.n; i++)
		proof_fini(&all->v.at[i]);
	VEC_FREE(&all->v);
}

/* Stores the text without what may differ between values that are described together. */
static int text_of_same(const struct bin *b, const struct verify_result *r, char **out)
{
	struct verify_result same = *r;

	same.cases = 0;
	memset(&same.report, 0, sizeof same.report);
	memset(same.differ, 0, sizeof same.differ);
	same.brackets.text = NULL;
	return verify_text(b, "", &same, out);
}

static void join_results(struct verify_result *into, const struct verify_result *r)
{
	into->cases += r->cases;
	if (r->report.messages > into->report.messages)
		into->report = r->report;
	if (!into->differ[2])
		memcpy(into->differ, r->differ, sizeof r->differ);
}

/* Adds the proof for one value to that of values for which the same is proved, or else to the list. Takes ownership of *p. */
static int add_proof(struct verify_proofs *all, struct verify_proof *p, int64_t value)
{
	struct verify_proof *like = NULL;
	int err = 0;

	for (size_t i = 0; i < all->v.n && !like; i++)
		like = strcmp(all->v.at[i].same, p->same) ? NULL : &all->v.at[i];
	if (like) {
		join_results(&like->r, &p->r);
		proof_fini(p);
	} else if (VEC_PUSH(&all->v, *p)) {
		proof_fini(p);
		err = -ERR_NOMEM;
	} else {
		like = &all->v.at[all->v.n - 1];
	}
	return err ? err : VEC_PUSH(&like->values, value);
}

/* Verifies all cases with the values `defines`; that of the range, if there is one, is `value`. */
static int verify_value(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked, int64_t value,
			struct verify_proofs *all)
{
	struct verify_proof p = { .same = NULL };
	int err = verify_cases(d, b, asked, &p.r);

	err = err ? err : text_of_same(b, &p.r, &p.same);
	if (err == -ERR_SYNTAX && asked->varied)
		goal_diag(d, GOAL_ERROR, origin_file_loc(asked->file), NULL, "that is so with -D %s=%" PRId64, asked->varied, value);
	if (err) {
		proof_fini(&p);
		return err;
	}
	return add_proof(all, &p, value);
}

int verify_values(struct goal_diags *d, const struct bin *b, const struct verify_asked *asked, struct verify_proofs *all)
{
	struct define *defines = mem_alloc((asked->ndefines + 1) * sizeof *defines), *range = NULL;
	struct verify_asked one = *asked;
	int64_t first = 0, last = 0;
	int err;

	one.brackets = brackets_new(b->meta->flags & BIN_F_COMMUTATIVE);
	err = defines && one.brackets ? 0 : -ERR_NOMEM;
	for (size_t i = 0; i < asked->ndefines && !err; i++) {
		defines[i] = asked->defines[i];
		if (defines[i].range)
			range = &defines[i];
	}
	one.defines = defines;
	if (range) {
		first = range->value[0];
		last = range->value[1];
		one.varied = range->name;
		range->range = false;
		range->n = 1;
		range->value = &first;
	}
	for (; !err; first++) {
		err = verify_value(d, b, &one, first, all);
		if (first == last)
			break;
	}
	for (size_t i = 0; i < all->v.n && !err; i++)
		all->v.at[i].r.brackets.by_value = brackets_differ_by_value(one.brackets);
	brackets_free(one.brackets);
	free(defines);
	return err;
}

/* Adds the text, with the list of values for their mark. */
static void add_text(struct text *t, const char *text, const struct verify_proof *p)
{
	const char *mark = strchr(text, VERIFY_VALUES);
	const int64_t *v = p->values.at;

	if (!mark) {
		text_add(t, "%s", text);
		return;
	}
	text_add(t, "%.*s", (int)(mark - text), text);
	for (size_t i = 0, last; i < p->values.n; i = last + 1) {
		for (last = i; last + 1 < p->values.n && v[last + 1] == v[last] + 1;)
			last++;
		text_add(t, "%s%" PRId64, i ? ", " : "", v[i]);
		if (last > i)
			text_add(t, "-%" PRId64, v[last]);
	}
	text_add(t, "%s", mark + 1);
}

int verify_values_text(const struct bin *b, const char *file, const struct verify_proofs *all, char **out)
{
	struct text t = { 0 };
	int err = 0;

	for (size_t i = 0; i < all->v.n && !err; i++) {
		char *text = NULL;

		err = verify_text(b, file, &all->v.at[i].r, &text);
		if (!err)
			add_text(&t, text, &all->v.at[i]);
		free(text);
	}
	t.err = err ? err : t.err;
	return text_take(&t, out);
}
