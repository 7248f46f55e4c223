/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the command line of a program by its table of options, and prints --help and --version from it. */
#include "util/command_line.h"
#include "util/env.h"

#include "util/file.h"
#include "util/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- messages ---- */

int option_usage(const char *program, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\ntry %s --help\n", program);
	return EXIT_USAGE;
}

int option_interrupted(void)
{
	const char *line = isatty(STDERR_FILENO) ? "\r\033[K" : "", *name = program_invocation_short_name;

	(void)!write(STDERR_FILENO, line, strlen(line)); /* clears the progress */
	(void)!write(STDERR_FILENO, name, strlen(name));
	(void)!write(STDERR_FILENO, ": interrupted\n", 14);
	return EXIT_INTERRUPTED;
}

static void on_interrupt(int sig)
{
	(void)sig;
	_exit(option_interrupted());
}

void option_catch_interrupt(void)
{
	struct sigaction now, ours = { .sa_handler = on_interrupt };

	if (!sigaction(SIGINT, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaction(SIGINT, &ours, NULL);
}

void option_check_environment(const char *program)
{
	for (char **p = environ; *p; p++) {
		const size_t len = strcspn(*p, "=");
		char name[64];
		struct nearest n = { .word = name + 5 };
		unsigned i = 0;

		snprintf(name, sizeof name, "%.*s", (int)len, *p);
		if (strncmp(name, "GOAL_", 5) != 0)
			continue;
		for (; i < ENV_COUNT && strcmp(env_table[i].name, name) != 0; i++)
			if (!strncmp(env_table[i].name, "GOAL_", 5))
				nearest_name(&n, env_table[i].name + 5);
		if (i == ENV_COUNT && *n.best)
			fprintf(stderr, "%s: warning: there is no environment variable %s; did you mean GOAL_%s?\n", program,
				name, n.best);
	}
}

int option_no_memory(const char *program)
{
	fprintf(stderr, "%s: %s\n", program, err_text(ERR_NOMEM));
	return EXIT_FAULT;
}

int option_result(const char *program, int err, struct text *why)
{
	int rc = 0;

	if (err == -ERR_NOMEM || (err && why->err))
		rc = option_no_memory(program);
	else if (err)
		rc = option_usage(program, "%s", why->at);
	free(why->at);
	return rc;
}

int option_not_built(const char *program, const char *what)
{
	fprintf(stderr, "%s: %s is not in this build; goalinfo says what is\n", program, what);
	return EXIT_USAGE;
}

int option_flush(const char *program)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	fprintf(stderr, "%s: standard output: %s\n", program, file_why(errno));
	return EXIT_FAULT;
}

bool option_is_dash(const char *arg)
{
	return !strcmp(arg, "-");
}

const char *option_source(const char *arg)
{
	return option_is_dash(arg) ? "<stdin>" : arg;
}

int option_open(const char *arg, struct file *f)
{
	int fd;

	if (!option_is_dash(arg))
		return file_open(arg, f);
	*f = (struct file){ .fd = -1 };
	fd = dup(STDIN_FILENO);
	return fd < 0 ? -ERR_SYS : file_take(fd, f);
}

int option_write(const char *arg, const void *data, size_t len)
{
	return option_is_dash(arg) ? file_give(STDOUT_FILENO, data, len) : file_write(arg, data, len);
}

struct option_words {
	char s[128];
};

struct option_name option_name(const struct option_row *r)
{
	struct option_name name;

	if (r->name)
		snprintf(name.s, sizeof name.s, "--%s", r->name);
	else
		snprintf(name.s, sizeof name.s, "-%c", r->letter);
	return name;
}

/* Returns "a|b|c" as "a, b or c", with `before` in front of each word. The result is long enough for all rows there are. */
static struct option_words list_words(const char *before, const char *words)
{
	struct option_words out = { "" };
	size_t n = 0;

	for (const char *p = words; *p && n < sizeof out.s; p += *p == '|') {
		const int len = (int)strcspn(p, "|");

		n += (size_t)snprintf(out.s + n, sizeof out.s - n, "%s%s%.*s",
				      p == words ? "" : strchr(p, '|') ? ", " : " or ", before, len, p);
		p += len;
	}
	return out;
}

/* ---- arguments ---- */

int take_text(const struct option_use *u)
{
	*(const char **)u->field = u->arg;
	return *u->arg ? 0 : option_usage(u->program, "the argument of %s, %s, cannot be empty", u->name, u->row->arg);
}

int take_number(const struct option_use *u)
{
	const struct option_row *r = u->row;

	return option_number(u->arg, r->min, r->max, u->field) ?
		       0 :
		       option_usage(u->program, "%s takes a number from %" PRId64 " to %" PRId64 ", not %s", u->name, r->min,
				    r->max, u->arg);
}

int take_amount(const struct option_use *u)
{
	const struct option_row *r = u->row;

	return option_amount(u->arg, strlen(u->arg), r->min, r->max, u->field) ?
		       0 :
		       option_usage(u->program, "%s takes a number from %" PRId64 " to %" PRId64 ", perhaps with k, M or G, not %s",
				    u->name, r->min, r->max, u->arg);
}

int take_decimal(const struct option_use *u)
{
	const struct option_row *r = u->row;

	return option_decimal(u->arg, r->least, r->most, u->field) ?
		       0 :
		       option_usage(u->program, "%s takes a number from %g to %g, not %s", u->name, r->least, r->most, u->arg);
}

int take_range(const struct option_use *u)
{
	const struct option_row *r = u->row;
	struct option_range *range = u->field;

	return option_range(u->arg, r->min, r->max, &range->first, &range->last) ?
		       0 :
		       option_usage(u->program, "%s takes a number from %" PRId64 " to %" PRId64 ", or a range A-B, not %s",
				    u->name, r->min, r->max, u->arg);
}

/* Returns the index of the option's argument in the words of its row, or -1. */
static int argument_index(const struct option_use *u)
{
	return option_word(u->row->arg, u->arg, strlen(u->arg));
}

int option_refuse_word(const struct option_use *u)
{
	return option_usage(u->program, "%s is %s, not %s", u->name, list_words("", u->row->arg).s, u->arg);
}

int take_word(const struct option_use *u)
{
	*(const char **)u->field = u->arg;
	return argument_index(u) < 0 ? option_refuse_word(u) : 0;
}

int take_index(const struct option_use *u)
{
	const int i = argument_index(u);

	*(unsigned *)u->field = (unsigned)i;
	return i < 0 ? option_refuse_word(u) : 0;
}

int take_either(const struct option_use *u)
{
	const int i = argument_index(u);

	*(bool *)u->field = i == 1;
	return i < 0 ? option_refuse_word(u) : 0;
}

int take_define(const struct option_use *u)
{
	const bool ranges = u->row->max;
	const int err = option_define(u->field, u->arg, ranges);

	if (err == -ERR_NOMEM)
		return option_no_memory(u->program);
	return err ? option_usage(u->program, "%s takes name=value[,value...]%s, not %s", u->name,
				  ranges ? ", or name=a-b with --verify" : "", u->arg) : 0;
}

/* ---- the table ---- */

#define MOST_ROWS 64 /* bits of command_words.given */
#define FIRST_LONG 256 /* getopt returns the letter of a short option, or this plus the row of a long one */

enum { ROW_HELP, ROW_VERSION, COMMON_ROWS };
static const struct option_row common[COMMON_ROWS] = {
	[ROW_HELP] = { .letter = 'h', .name = "help", .help = "print this" },
	[ROW_VERSION] = { .letter = 'V', .name = "version", .help = "print the version" },
};

static const struct option_row *row_at(const struct command_line *l, size_t i)
{
	return i < l->nrows ? &l->rows[i] : &common[i - l->nrows];
}

static size_t row_count(const struct command_line *l)
{
	return l->nrows + COMMON_ROWS;
}

/* Returns the row for a value that getopt has returned, or NULL. */
static const struct option_row *find_row(const struct command_line *l, int value)
{
	if (value >= FIRST_LONG)
		return row_at(l, (size_t)(value - FIRST_LONG));
	for (size_t i = 0; value && i < row_count(l); i++)
		if (row_at(l, i)->letter == value)
			return row_at(l, i);
	return NULL;
}

static int print_help(const struct command_line *l)
{
	printf("usage: %s", l->forms);
	for (size_t i = 0; i < row_count(l); i++) {
		const struct option_row *r = row_at(l, i);
		char form[80];

		if (r == common || (!r->letter && !r->name))
			putchar('\n');
		if (!r->letter && !r->name) {
			printf("%s\n", r->help);
			continue;
		}
		if (r->letter && r->name)
			snprintf(form, sizeof form, "-%c, %s", r->letter, option_name(r).s);
		else
			snprintf(form, sizeof form, "%s %s", option_name(r).s, r->arg ? r->arg : "");
		printf("  %-38s %s\n", form, r->help);
	}
	return option_flush(l->program);
}

static int print_version(const struct command_line *l)
{
	printf("%s %s\n", l->program, GOAL_VERSION);
	return option_flush(l->program);
}

/* ---- parsing ---- */

/* Reports a long option that does not exist, or that abbreviates several options. */
static int refuse_unknown(const struct command_line *l, const char *word)
{
	const int len = (int)strcspn(word, "=");
	struct text names = { 0 };
	char given[64], *list;
	struct nearest near = { .word = given };
	int rc;

	snprintf(given, sizeof given, "%.*s", len, word);

	for (size_t i = 0; i < row_count(l); i++) {
		const char *name = row_at(l, i)->name;

		if (name && len > 2 && !strncmp(name, word + 2, (size_t)len - 2))
			text_add(&names, "%s--%s", names.n ? ", " : "", name);
		if (name)
			nearest_name(&near, option_name(row_at(l, i)).s);
	}
	if (text_take(&names, &list))
		return option_no_memory(l->program);
	rc = *list ? option_usage(l->program, "%.*s may be %s", len, word, list) :
		     option_usage(l->program, "unknown option %.*s%s", len, word, nearest_hint(&near));
	free(list);
	return rc;
}

/* Reports a letter that is no option. It may begin the name of a long option, written with one dash. */
static int refuse_letter(const struct command_line *l, char **argv)
{
	const struct option_row *meant = NULL;
	const char *word = argv[optind];

	if (!word || word[0] != '-' || word[1] != optopt) /* getopt has gone on to the next word */
		word = argv[optind - 1];
	for (size_t i = 0; i < row_count(l) && word[0] == '-'; i++)
		if (row_at(l, i)->name && !strcmp(row_at(l, i)->name, word + 1))
			meant = row_at(l, i);
	return meant ? option_usage(l->program, "unknown option %s; did you mean --%s?", word, meant->name) :
		       option_usage(l->program, "unknown option -%c", optopt);
}

/* Reports an option that getopt has refused: it is unknown, lacks its argument, or has an argument and takes none. */
static int refuse_option(const struct command_line *l, bool missing, char **argv)
{
	const struct option_row *r = find_row(l, optopt);

	if (r && missing)
		return option_usage(l->program, "%s needs an argument: %s", option_name(r).s, r->arg);
	if (r)
		return option_usage(l->program, "%s takes no argument", option_name(r).s);
	return optopt ? refuse_letter(l, argv) : refuse_unknown(l, argv[optind - 1]);
}

static int take_option(const struct command_line *l, const struct option_row *r, void *fields)
{
	const struct option_name name = option_name(r);
	const struct option_use u = { l->program, name.s, r, fields, (char *)fields + r->field, optarg };

	if (r->take)
		return r->take(&u);
	*(bool *)u.field = true;
	return 0;
}

/* Returns the first row whose option was given and is in the list of words, or NULL. */
static const struct option_row *find_given(const struct command_line *l, uint64_t given, const char *words)
{
	for (size_t i = 0; i < l->nrows; i++)
		if (given >> i & 1 && l->rows[i].name && option_word(words, l->rows[i].name, strlen(l->rows[i].name)) >= 0)
			return &l->rows[i];
	return NULL;
}

static int check_together(const struct command_line *l, uint64_t given)
{
	for (size_t i = 0; i < l->nrows; i++) {
		const struct option_row *r = &l->rows[i], *other;

		if (!(given >> i & 1))
			continue;
		if (r->with && !find_given(l, given, r->with))
			return option_usage(l->program, "%s goes with %s", option_name(r).s, list_words("--", r->with).s);
		other = r->without ? find_given(l, given, r->without) : NULL;
		if (other)
			return option_usage(l->program, "%s does not go with %s", option_name(r).s, option_name(other).s);
	}
	return 0;
}

const struct option_row *option_marked(const struct command_line *l, uint64_t given, unsigned marks)
{
	for (size_t i = 0; i < l->nrows; i++)
		if (given >> i & 1 && l->rows[i].marks & marks)
			return &l->rows[i];
	return NULL;
}

/* The rows in the form that getopt_long needs. */
struct getopt_rows {
	struct option longs[MOST_ROWS + COMMON_ROWS + 1];
	char letters[2 * (MOST_ROWS + COMMON_ROWS) + 2];
};

static void fill_getopt(struct getopt_rows *g, const struct command_line *l)
{
	char *letter = stpcpy(g->letters, ":"); /* makes getopt return ':' for a missing argument, and not '?' */
	size_t n = 0;

	for (size_t i = 0; i < row_count(l); i++) {
		const struct option_row *r = row_at(l, i);

		if (r->name)
			g->longs[n++] = (struct option){ r->name, r->arg ? required_argument : no_argument, NULL,
							 FIRST_LONG + (int)i };
		if (r->letter)
			*letter++ = r->letter;
		if (r->letter && r->arg)
			*letter++ = ':';
	}
	g->longs[n] = (struct option){ 0 };
	*letter = '\0';
}

int command_line_parse(const struct command_line *l, int argc, char **argv, void *fields, struct command_words *w)
{
	struct getopt_rows g;
	int value, rc = 0;

	*w = (struct command_words){ 0 };
	fill_getopt(&g, l);
	opterr = 0;
	optind = 0; /* a program may parse several command lines */
	while (!rc && (value = getopt_long(argc, argv, g.letters, g.longs, NULL)) != -1) {
		const struct option_row *r = value == '?' || value == ':' ? NULL : find_row(l, value);

		if (!r)
			return refuse_option(l, value == ':', argv);
		w->done = r == &common[ROW_HELP] || r == &common[ROW_VERSION];
		if (w->done)
			return r == &common[ROW_HELP] ? print_help(l) : print_version(l);
		w->given |= (uint64_t)1 << (r - l->rows);
		rc = take_option(l, r, fields);
	}
	w->dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	w->rest = argv + optind;
	w->nrest = argc - optind;
	return rc ? rc : check_together(l, w->given);
}
