/* SPDX-License-Identifier: BSD-3-Clause
 * The program goalinfo, see goalinfo(1): its options. */
#include "compiler/collectives/names.h"
#include "goalinfo/goalinfo.h"

#define usage(...) option_usage("goalinfo", __VA_ARGS__)
#define MOST_PLACED 4096 /* the largest number of ranks of goalrun */
#define FIELD(f) .field = offsetof(struct goalinfo, f)

static const struct option_row rows[] = {
	{ .letter = 'n', .arg = "RANKS", .help = "the number of ranks", .take = take_number, FIELD(nranks), .min = 1,
	  .max = 1 << 28 },
	{ .name = "bytes", .arg = "SIZE", .help = "of a call: the bytes of a block", .take = take_amount, FIELD(bytes), .min = 0,
	  .max = INT64_MAX },
	{ .name = "op", .arg = "any|commutative|builtin", .help = "of a call: the kind of its operation", .take = take_index,
	  FIELD(op) },
	{ .name = "topology", .arg = "any|cart|graph", .help = "of a call: what the ranks are arranged as", .take = take_index,
	  FIELD(topology) },
	{ .name = "table", .arg = "FILE", .help = "a table before the installed one", .take = take_text, FIELD(table) },
	{ .name = "json", .help = "print JSON instead of text", FIELD(json) },
};

static const struct command_line goalinfo = {
	.program = "goalinfo",
	.forms = "goalinfo [-n RANKS] [--json]\n"
		 "       goalinfo COLLECTIVE -n RANKS [--bytes SIZE] [options]\n\n",
	.rows = rows,
	.nrows = sizeof rows / sizeof *rows,
};

static const struct option_row *find_of_call(uint64_t given)
{
	for (size_t i = 1; i + 1 < sizeof rows / sizeof *rows; i++) /* all but -n and --json */
		if (given >> i & 1)
			return &rows[i];
	return NULL;
}

static int check_words(struct goalinfo *c, const struct command_words *w)
{
	const struct option_row *of_call = find_of_call(w->given);
	struct nearest n;

	if (w->nrest > 1)
		return usage("more than one collective");
	if (!w->nrest && c->nranks > MOST_PLACED)
		return usage("without a collective, -n takes at most %d ranks", MOST_PLACED);
	if (!w->nrest)
		return of_call ? usage("%s is for a call: name its collective", option_name(of_call).s) : 0;
	c->collective = w->rest[0];
	n = collective_nearest(c->collective);
	if (!collective_known(c->collective))
		return usage("there is no collective %s%s", c->collective, nearest_choices(&n));
	return c->nranks ? 0 : usage("a call needs the number of ranks: -n");
}

int main(int argc, char **argv)
{
	struct goalinfo c = { .op = SELECT_BUILTIN };
	struct command_words w;
	int rc = command_line_parse(&goalinfo, argc, argv, &c, &w);

	if (rc || w.done)
		return rc;
	rc = check_words(&c, &w);
	return rc ? rc : c.collective ? info_call(&c) : info_machine(&c);
}
