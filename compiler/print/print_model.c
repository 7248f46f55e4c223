/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model of split-tree as a table and as JSON. */
#include "compiler/print/print_model.h"

#include "util/report.h"
#include "util/text.h"

#include <inttypes.h>

/* Adds a line like "best S: 0 for 2-51 ranks, 1 for 52-57, ...". */
static void add_changes(struct text *t, const struct model *m, uint32_t first, uint32_t last)
{
	for (uint32_t n = first, end; n <= last; n = end + 1) {
		unsigned s = model_best(m, n);

		for (end = n; end < last && model_best(m, end + 1) == s; end++)
			;
		text_add(t, n == first ? "best S: %u for %" PRIu32 : ", %u for %" PRIu32, s, n);
		if (end > n)
			text_add(t, "-%" PRIu32, end);
		if (n == first)
			text_add(t, " ranks");
	}
	text_add(t, "\n");
}

int print_model_text(const struct model *m, uint32_t first, uint32_t last, char **out)
{
	const uint32_t least = model_best_ranks(m, first, last);
	struct text t = { 0 };

	text_add(&t, "split-tree on %" PRIu32 " cores: ", m->cores);
	text_add(&t, m->k == 2 ? "binomial tree, " : "%" PRIu32 "-nomial tree, ", m->k);
	text_add(&t, "%s size; times in copies of a leaf's message\n", m->growing ? "growing" : "constant");
	text_add(&t, "               alone             computation overlapped with communication, S =\n");
	text_add(&t, "%5s %5s %9s %9s", "ranks", "comm", "compute", "blocking");
	for (unsigned s = 0; s <= model_height(m, last); s++)
		text_add(&t, s ? "  %8u" : " %8u", s);
	text_add(&t, "\n");
	for (uint32_t n = first; n <= last; n++) {
		unsigned best = model_best(m, n), h = model_height(m, n);

		text_add(&t, "%5" PRIu32 " %5" PRIu32 " %9.2f %9.2f", n, m->cores - n, model_compute(m, n),
			 model_blocking(m, n));
		for (unsigned s = 0; s <= h; s++)
			text_add(&t, " %8.2f%s", model_overlapped(m, n, s), s == best ? "*" : s < h ? " " : "");
		text_add(&t, "\n");
	}
	add_changes(&t, m, first, last);
	text_add(&t, "least time: %.2f with %" PRIu32 " ranks and S = %u\n",
		 model_overlapped(m, least, model_best(m, least)), least, model_best(m, least));
	return text_take(&t, out);
}

/* ---- JSON ---- */

static void add_choice(json_object *to, uint32_t n, unsigned s)
{
	report_int(to, "ranks", n);
	report_int(to, "S", s);
}

static void add_cases(const struct model *m, uint32_t n, json_object *report)
{
	for (unsigned s = 0; s <= model_height(m, n); s++) {
		json_object *e = report_case(report);

		add_choice(e, n, s);
		report_add(e, "t_blocking", json_object_new_double(model_blocking(m, n)));
		report_add(e, "t_nonblocking", json_object_new_double(model_nonblocking(m, n, s)));
		report_add(e, "t_overlapped", json_object_new_double(model_overlapped(m, n, s)));
	}
}

int print_model_json(const struct model *m, uint32_t first, uint32_t last, char **out)
{
	const uint32_t least = model_best_ranks(m, first, last);
	json_object *j = report_new("goalc", NULL), *best = json_object_new_array(), *one = json_object_new_object();

	report_int(j, "cores", m->cores);
	report_text(j, "shape", m->growing ? "growing" : "constant");
	for (uint32_t n = first; n <= last; n++) {
		add_cases(m, n, j);
		add_choice(report_element(best), n, model_best(m, n));
	}
	report_add(j, "best", best);
	add_choice(one, least, model_best(m, least));
	report_add(j, "least", one);
	return report_take(j, out);
}
