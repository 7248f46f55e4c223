/* SPDX-License-Identifier: BSD-3-Clause
 * Prints why a row of the selection table serves a call: the rows of the collective before it, and what each of them does not
 * match. */
#include "goalinfo/goalinfo.h"
#include "runtime/placement/cpus.h"
#include "util/env.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_rows(const struct goalinfo *c, const struct select *s, const struct select_call *call, const char *path)
{
	static const char *const ops[SELECT_OPS] = { "any", "commutative", "builtin" };

	printf("%s on %" PRIu64 " ranks, %" PRIu64 " bytes, operation %s\n", call->collective, call->ranks, call->bytes,
	       ops[c->op]);
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct select_row *r = &s->rows.at[i];
		const char *misfit = select_misfit(r, call);

		if (strcmp(r->collective, call->collective) != 0)
			continue;
		if (misfit)
			printf("passed over for its %s: ", misfit);
		else
			printf("serves the call: ");
		printf("%s:%u: %.*s\n", s->tables.at[r->table].path, r->at.line, (int)r->len, r->text);
		if (!misfit)
			break;
	}
	if (path)
		printf("its schedule: %s\n", path);
	else
		printf("no row serves the call\n");
}

static int print_json(const struct select *s, const struct select_call *call, const char *path)
{
	json_object *j = report_new("goalinfo", path);

	report_text(j, "collective", call->collective);
	report_int(j, "ranks", (int64_t)call->ranks);
	report_int(j, "bytes", (int64_t)call->bytes);
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct select_row *r = &s->rows.at[i];
		const char *misfit = select_misfit(r, call);
		json_object *e;

		if (strcmp(r->collective, call->collective) != 0)
			continue;
		e = report_case(j);
		report_text(e, "table", s->tables.at[r->table].path);
		report_int(e, "line", r->at.line);
		report_text_part(e, "row", r->text, r->len);
		report_add(e, "serves", json_object_new_boolean(!misfit));
		report_text(e, "misfit", misfit);
		if (!misfit)
			break;
	}
	return report_print("goalinfo", j);
}

int info_call(const struct goalinfo *c)
{
	const struct select_call call = { .collective = c->collective, .ranks = (uint64_t)c->nranks, .bytes = (uint64_t)c->bytes,
					  .op = c->op, .topology = c->topology, .reproducible = select_asks(c->collective),
					  .sharing = !rt_spins((uint32_t)c->nranks)	? SELECT_SHARE_CORE :
						     rt_cpus_shared_here()		? SELECT_SHARE_CACHE :
											  SELECT_SHARE_NODE };
	struct goal_diags *d = goal_diags_new();
	struct select s = { 0 };
	const struct select_row *row;
	char *path = NULL;
	int err = d ? select_load(d, c->table ? c->table : env_get(ENV_GOAL_SELECT), &s) : -ERR_NOMEM, rc = EXIT_FAULT;

	row = err ? NULL : select_find(&s, &call);
	err = err || !row ? err : select_path(&s, row, &path);
	if (err == -ERR_NOMEM) {
		option_no_memory("goalinfo");
	} else if (err) {
		fputs(goal_diags_text(d), stderr);
	} else if (c->json) {
		rc = print_json(&s, &call, path);
	} else {
		print_rows(c, &s, &call, path);
		rc = option_flush("goalinfo");
	}
	free(path);
	goal_diags_free(d);
	select_free(&s);
	return rc || row ? rc : EXIT_FAULT;
}
