/* SPDX-License-Identifier: BSD-3-Clause
 * Describes in words what goalc --verify has proved. */
#include "compiler/verify_cases.h"

#include "compiler/collectives/collective.h"
#include "compiler/verify/counts.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Adds sizes in the form "1-17, 31-33, 64 ranks". */
static void add_sizes(struct text *t, const uint32_t *v, size_t n)
{
	text_add_ranges(t, v, n, SIZE_MAX);
	text_add(t, " rank%s", n == 1 && v[0] == 1 ? "" : "s");
}

static void add_claim(struct text *t, const struct bin *b, const struct verify_result *r)
{
	const char *name = bin_str(b, b->meta->implements);

	if (b->meta->flags & BIN_F_PLAIN)
		text_add(t, "messages and deadlocks");
	else if (!r->claims && *name)
		text_add(t, "messages, deadlocks and races; there is no definition of %s", name);
	else if (!r->claims)
		text_add(t, "messages, deadlocks and races; it does not say what it does");
	else if (*name)
		text_add(t, "it does what %s does", name);
	else
		text_add(t, "it does what its result says");
}

static void comma(struct text *t, bool *any)
{
	text_add(t, "%s", *any ? ", " : "");
	*any = true;
}

static void add_usual(struct text *t, const struct verify_result *r, unsigned which, bool *any)
{
	for (unsigned k = 0; k < COUNTS_USUAL; k++) {
		if (!(which >> k & 1))
			continue;
		comma(t, any);
		if (k == COUNTS_UNEVEN)
			text_add(t, "2p + 1");
		else
			text_add(t, "%" PRId64, k == COUNTS_NONE ? 0 : k == COUNTS_ONE ? 1 : k == COUNTS_SOME ? 7 : r->cut);
	}
}

/* Adds a list of numbers. If there are many, only some of them are listed. */
static void add_numbers(struct text *t, const struct ascending *a, bool *any)
{
	const size_t n = a->v.n, listed = 8;

	for (size_t i = 0; i < n && i < listed; i++) {
		comma(t, any);
		text_add(t, "%" PRId64, a->v.at[i]);
	}
	if (n > listed)
		text_add(t, ", and %zu more up to %" PRId64, n - listed, a->v.at[n - 1]);
}

static bool is_varied(const struct verify_result *r, const char *name)
{
	return r->varied && !strcmp(r->varied, name);
}

static void add_counts(struct text *t, const struct verify_result *r)
{
	bool any = false;

	text_add(t, "  tried: %s ", r->count >= 0 ? "count" : "counts");
	if (is_varied(r, "count"))
		text_add(t, "%c", VERIFY_VALUES);
	else if (r->count >= 0)
		text_add(t, "%" PRId64, r->count);
	else
		add_usual(t, r, r->usual, &any);
	add_numbers(t, &r->others, &any);
}

/* True if two sizes are described together: both are proved with all roots, or with the same number of roots. */
static bool alike(const struct verify_result *r, size_t i, size_t k)
{
	const uint32_t n = r->roots.at[i].n, m = r->roots.at[k].n;

	return (n == r->sizes.at[i]) == (m == r->sizes.at[k]) && (n == m || n == r->sizes.at[i]);
}

/* Adds roots in the form "; 1-9 ranks: all roots; 10 ranks: 3 of 10 roots (0, 4, 9)". */
static int add_roots(struct text *t, const struct verify_result *r)
{
	VEC(uint32_t) sizes = { 0 };
	int err = 0;

	for (size_t i = 0; i < r->sizes.n && r->roots.at[i].n && !err; i++) {
		const struct verify_roots *roots = &r->roots.at[i];
		bool listed = false;

		for (size_t k = 0; k < i; k++)
			listed |= alike(r, i, k);
		sizes.n = 0;
		for (size_t k = i; k < r->sizes.n && !listed && !err; k++)
			if (alike(r, i, k))
				err = VEC_PUSH(&sizes, r->sizes.at[k]);
		if (listed || err)
			continue;
		text_add(t, "; ");
		add_sizes(t, sizes.at, sizes.n);
		if (roots->n == r->sizes.at[i])
			text_add(t, ": all roots");
		else if (sizes.n > 1)
			text_add(t, ": %u root%s of each", roots->n, roots->n == 1 ? "" : "s");
		else
			text_add(t, ": %u of %u roots", roots->n, r->sizes.at[i]);
		for (uint32_t k = 0; k < roots->n && sizes.n == 1 && roots->n != r->sizes.at[i] && roots->n <= 3; k++)
			text_add(t, "%s%u%s", k ? ", " : " (", roots->few[k], k + 1 == roots->n ? ")" : "");
	}
	VEC_FREE(&sizes);
	return err;
}

static void add_samples(struct text *t, const struct bin *b, uint32_t samples)
{
	bool any = false;
	char name[32];

	for (unsigned i = 0; i < 32; i++) {
		if (!(samples >> i & 1))
			continue;
		comma(t, &any);
		collective_sample_name(b, i, name, sizeof name);
		text_add(t, "%s", name);
	}
}

/* Begins a list of values that the schedule's assertions exclude. */
static void passed(struct text *t, bool *any, const char *what, bool many)
{
	text_add(t, "%s%s%s ", *any ? "; " : "  passed over by its own assertions: ", what, many ? "s" : "");
	*any = true;
}

static void add_passed(struct text *t, const struct bin *b, const struct verify_result *r)
{
	const struct verify_passed *p = &r->passed;
	bool any = false, listed = false;

	if (p->counts) {
		passed(t, &any, "count", p->counts & (p->counts - 1));
		add_usual(t, r, p->counts, &listed);
	}
	if (p->roots.v.n) {
		passed(t, &any, "root", p->roots.v.n > 1);
		listed = false;
		add_numbers(t, &p->roots, &listed);
	}
	if (p->samples) {
		passed(t, &any, "sample", p->samples & (p->samples - 1));
		add_samples(t, b, p->samples);
	}
	if (p->cases) {
		passed(t, &any, "case", p->cases > 1);
		text_add(t, p->cases > 1 ? "such as %s (%" PRIu64 ")" : "%s", p->such, p->cases);
	}
	text_add(t, "%s", any ? "\n" : "");
}

/* Adds the list of the values that were tried. Nothing is proved about other values. */
static int add_tried(struct text *t, const struct bin *b, const struct verify_result *r)
{
	int err;

	add_counts(t, r);
	err = is_varied(r, "root") ? 0 : add_roots(t, r);
	if (r->values)
		text_add(t, "; %s", r->values);
	if (r->chosen) {
		text_add(t, "; samples ");
		add_samples(t, b, r->samples);
	}
	text_add(t, "\n");
	add_passed(t, b, r);
	if (r->ruled_out.n) {
		text_add(t, "  not for ");
		add_sizes(t, r->ruled_out.at, r->ruled_out.n);
		text_add(t, ", by its own assertions\n");
	}
	if (r->unsuited.n) {
		text_add(t, "  not tried: ");
		add_sizes(t, r->unsuited.at, r->unsuited.n);
		text_add(t, ", for which no sample has vectors of its lengths\n");
	}
	return err;
}

/* Adds whether the bracketing of reductions is always the same, and given which values. */
static void add_brackets(struct text *t, const struct verify_result *r)
{
	const struct verify_brackets *x = &r->brackets;
	const bool counts = r->count < 0 || is_varied(r, "count"), value = r->varied && !is_varied(r, "count");
	bool root = false;

	if (!x->any)
		return;
	if (x->differ) {
		text_add(t, "  not reproducible%s%s\n", x->text ? ": " : "", x->text ? x->text : "");
		return;
	}
	for (size_t i = 0; i < r->roots.n; i++)
		root |= r->roots.at[i].n > 0;
	text_add(t, "  reproducible: the same bracketing for every element");
	if (counts)
		text_add(t, value && !x->by_value ? ", count" : " and count");
	if (value && !x->by_value)
		text_add(t, " and value of %s", r->varied);
	if (root)
		text_add(t, ", given the root");
	if (value && x->by_value)
		text_add(t, "%s%s", root ? " and " : ", given ", r->varied);
	text_add(t, "\n");
}

int verify_text(const struct bin *b, const char *file, const struct verify_result *r, char **out)
{
	const char *name = bin_str(b, b->meta->name);
	struct text t = { 0 };
	int err = 0;

	text_add(&t, "%s: proved for ", *name ? name : file);
	add_sizes(&t, r->sizes.at, r->sizes.n);
	text_add(&t, " (%" PRIu64 " case%s): ", r->cases, r->cases == 1 ? "" : "s");
	add_claim(&t, b, r);
	text_add(&t, "%s\n", b->meta->flags & BIN_F_COMMUTATIVE ? ", for operations that commute" : "");
	if (!(b->meta->flags & BIN_F_PLAIN))
		err = add_tried(&t, b, r);
	if (!(b->meta->flags & BIN_F_PLAIN))
		text_add(&t, "  messages of %u ranks: %" PRIu64 "; safe by data flow: %" PRIu64
			 "; need a ready signal: %" PRIu64 "\n",
			 r->sizes.at[r->sizes.n - 1], r->report.messages, r->report.safe, r->report.ready);
	if (r->report.lowered)
		text_add(&t, "  command queues of a rank: at most %u, with at most %u entries; ops for CPUs: %" PRIu64 "\n",
			 r->report.queues, r->report.entries, r->report.cpu);
	if (r->differ[2])
		text_add(&t, "  of %u ranks, %u and %u reduce in different brackets: floating point may differ\n",
			 r->differ[2], r->differ[0], r->differ[1]);
	add_brackets(&t, r);
	if (err)
		t.err = err;
	return text_take(&t, out);
}
