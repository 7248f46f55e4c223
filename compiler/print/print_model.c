/* SPDX-License-Identifier: BSD-3-Clause
 * The cost model of split-tree as a table and as JSON. */
#include "compiler/print/print_model.h"

#include "util/err.h"
#include "util/text.h"

#include <inttypes.h>
#include <json-c/json.h>

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

/* Adds a member to a JSON object, and takes ownership of `value`. A `value` of NULL means that json-c had no memory for it. */
static int add_member(json_object *to, const char *key, json_object *value)
{
	if (value && !json_object_object_add(to, key, value))
		return 0;
	json_object_put(value);
	return -ERR_NOMEM;
}

static int append_element(json_object *to, json_object *value)
{
	if (value && !json_object_array_add(to, value))
		return 0;
	json_object_put(value);
	return -ERR_NOMEM;
}

/* Returns the object { "ranks": n, "S": s }, or NULL if out of memory. */
static json_object *new_choice(uint32_t n, unsigned s)
{
	json_object *j = json_object_new_object();

	if (j && !add_member(j, "ranks", json_object_new_int64(n)) && !add_member(j, "S", json_object_new_int64(s)))
		return j;
	json_object_put(j);
	return NULL;
}

static int add_rows(const struct model *m, uint32_t n, json_object *rows, json_object *best)
{
	int err = append_element(best, new_choice(n, model_best(m, n)));

	for (unsigned s = 0; s <= model_height(m, n) && !err; s++) {
		json_object *row = new_choice(n, s);

		err = append_element(rows, row);
		err = err ? err : add_member(row, "t_blocking", json_object_new_double(model_blocking(m, n)));
		err = err ? err : add_member(row, "t_nonblocking", json_object_new_double(model_nonblocking(m, n, s)));
		err = err ? err : add_member(row, "t_overlapped", json_object_new_double(model_overlapped(m, n, s)));
	}
	return err;
}

int print_model_json(const struct model *m, uint32_t first, uint32_t last, char **out)
{
	const uint32_t least = model_best_ranks(m, first, last);
	json_object *j = json_object_new_object(), *rows = json_object_new_array(), *best = json_object_new_array();
	const char *text;
	struct text t = { 0 };
	int err = j && rows && best ? 0 : -ERR_NOMEM;

	for (uint32_t n = first; n <= last && !err; n++)
		err = add_rows(m, n, rows, best);
	err = err ? err : add_member(j, "cores", json_object_new_int64(m->cores));
	err = err ? err : add_member(j, "shape", json_object_new_string(m->growing ? "growing" : "constant"));
	err = err ? err : add_member(j, "rows", json_object_get(rows));
	err = err ? err : add_member(j, "best", json_object_get(best));
	err = err ? err : add_member(j, "least", new_choice(least, model_best(m, least)));
	text = err ? NULL : json_object_to_json_string_ext(j, JSON_C_TO_STRING_SPACED);
	if (text)
		text_add(&t, "%s\n", text);
	json_object_put(rows);
	json_object_put(best);
	json_object_put(j);
	return text ? text_take(&t, out) : -ERR_NOMEM;
}
