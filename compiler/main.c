/* SPDX-License-Identifier: BSD-3-Clause
 * The program goalc, see goalc(1). This file leads a schedule through the compiler; options.c parses the options, and
 * show.c prints.
 *
 * compile_file() in compile.c compiles a text: it parses, lowers and checks it, applies passes, and makes a binary. */
#include "compiler/goalc.h"
#include "compiler/collectives/names.h"
#include "compiler/passes/passes.h"
#include "util/err.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- input ---- */

static bool is_binary(const struct goalc *c)
{
	unsigned char first;

	return file_at(&c->in, 0, &first, 1) == 1 && first == 0x89;
}

static int open_input(struct goalc *c)
{
	int err;

	c->diags = goal_diags_new();
	if (!c->diags)
		return -ERR_NOMEM;
	err = option_open(c->input, &c->in);
	if (!err && goal_diags_source(c->diags, option_source(c->input), NULL, 0) < 0)
		err = -ERR_NOMEM;
	c->binary = !err && is_binary(c);
	return err;
}

/* Loads a binary as the image, and checks it. */
static int check_binary(struct goalc *c)
{
	const struct goal_loc file = { .file = 0 };
	int err;

	if (c->action == COMPILE) {
		goal_diag(c->diags, GOAL_ERROR, file, NULL, "this is a binary already");
		return -ERR_SYNTAX;
	}
	if (c->passes) {
		goal_diag(c->diags, GOAL_ERROR, file, NULL, "passes are for texts, and this is a binary");
		return -ERR_SYNTAX;
	}
	err = file_load(&c->in);
	if (err)
		return err;
	err = bin_check(c->in.data, c->in.len);
	c->image = c->in.data;
	c->size = c->in.len;
	c->in.data = NULL;
	if (err)
		goal_diag(c->diags, GOAL_ERROR, file, NULL, "%s", err_text(err));
	return err;
}

/* Sets the options for a schedule that is verified or printed. If possible, the text is then compiled without a fixed size
 * and fixed values, because verify_cases() or make_graph() sets them later. */
static void leave_parametric(struct goalc *c, struct compile_options *o)
{
	const bool plain = goal_text_is_plain(&c->in);

	o->debug = true;
	c->fixed = c->action != VERIFY && c->passes && passes_global(c->passes);
	if (c->action == VERIFY) { /* the verifier includes all checks */
		o->unchecked = true;
		o->checks_off = UINT64_MAX;
		o->locs = &c->locs;
		o->only_text = !c->output && !plain;
	}
	o->parametric = !c->fixed && o->nranks;
	o->count = 1; /* the count that is printed if none is given */
	if (!c->fixed && (c->action == VERIFY || !o->nranks) && !plain) {
		o->nranks = 0;
		o->ndefines = 0;
	}
}

/* Compiles a text to the image. */
static int compile_input(struct goalc *c)
{
	struct compile_options o = goalc_compile_options(c);

	o.prove = c->action == COMPILE;
	if (c->action != COMPILE)
		leave_parametric(c, &o);
	return compile_file(c->diags, option_source(c->input), &c->in, &o, &c->image, &c->size);
}

/* ---- output ---- */

static int write_binary(const struct goalc *c)
{
	return option_write(c->output, c->image, c->size) ? goalc_system_error(c->output) : EXIT_OK;
}

/* Notes the size that is being verified, for the terminal. */
static void note_size(void *arg, uint32_t size)
{
	struct goalc *c = arg;

	progress_set(&c->progress, "%s: %u ranks", option_source(c->input), size);
}

/* Writes the binary, with the numbers of ranks for which it is proved, or with a proof for all. */
static int write_proved(const struct goalc *c, const struct verify_result *r, struct bin_proof *proof)
{
	size_t size;
	void *image;
	int err = proof ? bin_record_all(c->image, c->size, proof, &image, &size) :
			  bin_record(c->image, c->size, r->sizes.at, r->sizes.n, &image, &size);
	int rc = EXIT_OK;

	if (err)
		return no_memory();
	if (option_write(c->output, image, size))
		rc = goalc_system_error(c->output);
	free(image);
	return rc;
}

/* Reports a schedule that names a collective without a definition. Returns true if there is nothing to report. */
static bool is_claim_proved(const struct goalc *c, const struct bin *b, const struct verify_result *r)
{
	const char *name = bin_str(b, b->meta->implements);
	struct nearest n = collective_nearest(name);

	if (r->claims || !*name)
		return true;
	goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL,
		  "it is not proved that the schedule does what %s does, which has no definition%s", name, nearest_hint(&n));
	return false;
}

/* Warns about checks that are turned off, because the verifier includes all checks. */
static void report_ignored(const struct goalc *c)
{
	for (unsigned i = 0; i < nchecks; i++)
		if (c->checks_off >> i & 1)
			goal_diag(c->diags, GOAL_WARNING, (struct goal_loc){ .file = 0 }, NULL,
				  "-Wno-%s has no effect: --verify proves a schedule by all checks", checks[i].name);
}

/* Makes malloc keep freed memory for the next case. The system would clear memory that it gets back and hands out again. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, 4 << 20);
}

/* Prints what is proved, as text or as JSON. */
static int print_verified(const struct goalc *c, const struct bin *b, const struct verify_proofs *all, const char *said)
{
	char *json = NULL;

	if (c->json && goalc_verified_json(c, b, all, said, &json))
		return no_memory();
	if (json || said)
		fputs(json ? json : said, goalc_words(c));
	free(json);
	return option_flush("goalc");
}

static int verify_input(struct goalc *c)
{
	struct verify_asked asked = { .file = !c->binary, /* source 1 is the text, whose lines can be shown */
				      .first = (uint32_t)c->sizes.first,
				      .last = (uint32_t)c->sizes.last,
				      .most_ops = c->most_ops,
				      .defines = c->defines.v.at,
				      .ndefines = c->defines.v.n,
				      .locs = c->locs.v.at,
				      .progress = note_size,
				      .progress_arg = c };
	struct verify_proofs proofs = { 0 };
	struct bin_proof proof;
	char *text = NULL;
	struct bin b;
	int err = bin_open(&b, c->image, c->size), rc = EXIT_FAULT;

	keep_memory();
	report_ignored(c);
	if (!err && b.meta->nranks && c->sizes.first && (c->sizes.first != b.meta->nranks || c->sizes.last != c->sizes.first)) {
		goal_diag(c->diags, GOAL_ERROR, (struct goal_loc){ .file = 0 }, NULL, "the schedule is for %u ranks",
			  b.meta->nranks);
		err = -ERR_SYNTAX;
	}
	asked.passes = c->locs.v.n && !c->output && c->passes ? passes_on_ops(c->passes) : NULL;
	err = err ? err : verify_values(c->diags, &b, &asked, &proofs);
	progress_end(&c->progress);
	err = err ? err : verify_values_text(&b, option_source(c->input), &proofs, &text);
	if (!err)
		rc = is_claim_proved(c, &b, &proofs.v.at[0].r) ? EXIT_OK : EXIT_FAULT;
	if (!err && !rc && c->output && !c->every)
		rc = write_proved(c, &proofs.v.at[0].r, NULL);
	if (err == -ERR_NOMEM)
		no_memory();
	else
		rc |= print_verified(c, &b, &proofs, text);
	if (!err && !rc && c->every)
		rc = goalc_verify_every(c, &b, &asked, &proof);
	if (!err && !rc && c->every && c->output)
		rc = write_proved(c, NULL, &proof);
	verify_proofs_fini(&proofs);
	free(text);
	return rc;
}

/* ---- from input to output ---- */

/* Reports why there is no image, unless a diagnostic has done so. */
static void report_failed(const struct goalc *c, int err)
{
	if (err == -ERR_SYS)
		goalc_system_error(option_source(c->input));
	else if (!c->diags || !goal_diags_errors(c->diags))
		fprintf(stderr, "goalc: %s: %s\n", option_source(c->input), err_text(err));
}

static int process_schedule(struct goalc *c)
{
	int err, rc = EXIT_FAULT;

	progress_begin_thread(&c->progress, "goalc");
	progress_set(&c->progress, "%s", option_source(c->input));
	err = open_input(c);
	err = err ? err : c->binary ? check_binary(c) : compile_input(c);
	if (err || c->action != VERIFY)
		progress_end(&c->progress);
	if (err) {
		report_failed(c, err);
		if (c->action == VERIFY)
			print_verified(c, NULL, &(struct verify_proofs){ 0 }, NULL);
	} else if (c->action == COMPILE)
		rc = write_binary(c);
	else if (c->action == VERIFY)
		rc = verify_input(c);
	else
		rc = goalc_show_schedule(c);
	if (c->diags)
		fputs(goal_diags_text(c->diags), stderr);
	return rc;
}

static int run_action(struct goalc *c)
{
	switch (c->action) {
	case LIST_CHECKS:
		return goalc_list_checks(c);
	case LIST_PASSES:
		return goalc_list_passes(c);
	case SELECT:
		return goalc_show_selected(c);
	case CHECK_TABLE:
		return goalc_check_table(c);
	case MODEL:
		return goalc_show_model(c);
	default:
		return process_schedule(c);
	}
}

int main(int argc, char **argv)
{
	struct goalc c = { .in.fd = -1, .model = model_paper(0) };
	bool done;
	int rc;

	option_catch_interrupt();
	option_check_environment("goalc");
	rc = goalc_options(&c, argc, argv, &done);
	rc = rc || done ? rc : run_action(&c);
	goal_diags_free(c.diags);
	defines_free(&c.defines);
	free(c.passes);
	VEC_FREE(&c.locs.v);
	file_close(&c.in);
	free(c.image);
	return rc;
}
