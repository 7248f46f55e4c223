/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of a program, as a table with a row for each option. The table is what parses options, checks their
 * arguments and combinations, and prints --help. So a new option is a row, the field that it sets, and an entry in the man
 * page, which man/lint.sh holds against the table. */
#ifndef UTIL_COMMAND_LINE_H
#define UTIL_COMMAND_LINE_H

#include "util/options.h"
#include "util/text.h"

#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

/* One option where it is given. */
struct option_use {
	const char *program, *name; /* "goalrun", "--count" */
	const struct option_row *row;
	void *fields; /* the struct of the program */
	void *field; /* the row's */
	char *arg; /* NULL: it has none */
};

/* Checks an argument and keeps it; an exit status, after a message. */
typedef int option_taker(const struct option_use *u);

/* A row without letter and name is the heading of those below it. */
struct option_row {
	char letter; /* 'n' for -n; 0: there is none */
	const char *name; /* "count" for --count, or NULL */
	const char *arg; /* as the usage shows it; NULL: the option takes none */
	const char *help; /* one line */
	option_taker *take; /* NULL: the field is a bool, which becomes true */
	size_t field; /* its offset in the struct of the program */
	int64_t min, max;
	double least, most; /* of a decimal */
	const char *const *names; /* for a taker of the program's own */
	const char *with; /* "stats|model": one of these options has to be given as well */
	const char *without; /* none of these may be */
	unsigned marks; /* bits to which the program gives a meaning */
};

/* The fields that they set, and the arguments that they take: */
option_taker take_text; /* const char *: what is not empty */
option_taker take_number; /* int64_t: from min to max */
option_taker take_decimal; /* double: from least to most */
option_taker take_range; /* struct option_range: A or A-B, from min to max */
option_taker take_word; /* const char *: one of the words that arg lists, "app|thread|collab" */
option_taker take_either; /* bool: true for the second one of the two words of arg */
option_taker take_define; /* struct defines: name[@rank]=value[,value...] */

struct command_line {
	const char *program;
	const char *forms; /* the lines behind "usage: ", as --help prints them */
	const struct option_row *rows; /* at most 64, without -h and -V, which all programs have */
	size_t nrows;
};

/* What was found on it. */
struct command_words {
	uint64_t given; /* a bit for each row */
	bool done; /* --help or --version has been printed: there is nothing else to do */
	bool dashes; /* "--" stands before the rest */
	char **rest; /* what is no option */
	int nrest;
};

/* Parses the options, which may stand before and behind other words; argv is reordered. An exit status. */
int command_line_parse(const struct command_line *l, int argc, char **argv, void *fields, struct command_words *w);

struct option_name {
	char s[32];
};

/* "--count", or "-n" where there is only a letter. */
struct option_name option_name(const struct option_row *r);
/* The first of the rows given that has one of the marks, or NULL. */
const struct option_row *option_marked(const struct command_line *l, uint64_t given, unsigned marks);

/* "PROGRAM: what is wrong", and where to read more; returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int option_usage(const char *program, const char *fmt, ...);
/* "PROGRAM: out of memory"; returns EXIT_FAULT. */
int option_no_memory(const char *program);
/* "--wait is spin, yield, block or learn, not x", by the words of arg; an exit status. */
int option_refuse_word(const struct option_use *u);
/* What became of an option's argument, whose mistakes are told in why, which is freed; an exit status. */
int option_result(const char *program, int err, struct text *why);
/* What a later version brings; returns EXIT_USAGE. */
int option_not_built(const char *program, const char *what);
/* To be called after the last printf, for not all of it may have arrived; an exit status. */
int option_flush(const char *program);

#endif
