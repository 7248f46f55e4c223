/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of a program, as a table with a row for each option. The functions here use the table to parse
 * options, to check arguments and combinations, and to print --help. A new option needs a row, the field that it sets, and an
 * entry in the man page; man/lint.sh compares the page with the table. */
#ifndef UTIL_COMMAND_LINE_H
#define UTIL_COMMAND_LINE_H

#include "util/file.h"
#include "util/options.h"
#include "util/text.h"

#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 /* as shells report SIGINT */ };

/* One use of an option on a command line. */
struct option_use {
	const char *program, *name; /* as in messages: "goalrun", "--count" */
	const struct option_row *row;
	void *fields; /* struct of the program that holds the options */
	void *field; /* field in it that the option sets */
	char *arg; /* argument, or NULL if the option takes none */
};

/* Checks the argument of an option and stores it. Returns an exit status, and prints a message if that is not 0. */
typedef int option_taker(const struct option_use *u);

/* An option. A row without letter and name is a heading of the rows below it. */
struct option_row {
	char letter; /* 'n' for -n, or 0 */
	const char *name; /* "count" for --count, or NULL */
	const char *arg; /* name of the argument in the usage; NULL if the option takes none */
	const char *help; /* description in one line */
	option_taker *take; /* function that checks and stores the argument; NULL: the field is a bool, which becomes true */
	size_t field; /* offset of the field in the struct of the program */
	int64_t min, max; /* limits of a number */
	double least, most; /* limits of a decimal */
	const char *const *names; /* names of values, for takers that the program defines */
	const char *with; /* options "a|b" of which one has to be given as well */
	const char *without; /* options "a|b" of which none may be given as well */
	unsigned marks; /* bits whose meaning the program defines */
};

/* Functions that take arguments. The comments name the type of the field that each one sets, and the arguments it allows. */
option_taker take_text; /* const char *: any text that is not empty */
option_taker take_number; /* int64_t: an integer from min to max */
option_taker take_amount; /* int64_t: an integer from min to max, perhaps with k, M or G (util/options.h) */
option_taker take_decimal; /* double: a decimal number from least to most */
option_taker take_range; /* struct option_range: A or A-B, from min to max */
option_taker take_word; /* const char *: one of the words of the row's arg, such as "app|thread|collab" */
option_taker take_index; /* unsigned, or an enum: the number of the word among those of the row's arg, from 0 */
option_taker take_either; /* bool: one of the two words of the row's arg; the second one means true */
option_taker take_define; /* struct defines: name[@rank]=value[,value...]; if max is 1, also name=A-B */

struct command_line {
	const char *program;
	const char *forms; /* lines that --help prints behind "usage: " */
	const struct option_row *rows; /* at most 64; -h and -V are added, as all programs have them */
	size_t nrows;
};

/* The result of parsing a command line, apart from the fields that options set. */
struct command_words {
	uint64_t given; /* bit mask of the rows whose options were given */
	bool done; /* --help or --version has been printed, so that there is nothing else to do */
	bool dashes; /* "--" stands before the rest */
	char **rest; /* words that are not options */
	int nrest;
};

/* Parses the options, which may stand before and behind other words, and reorders argv. Returns an exit status. */
int command_line_parse(const struct command_line *l, int argc, char **argv, void *fields, struct command_words *w);

struct option_name {
	char s[32];
};

/* Returns "--count", or "-n" for an option that has only a letter. */
struct option_name option_name(const struct option_row *r);
/* Returns the first row whose option was given and that has one of the marks, or NULL. */
const struct option_row *option_marked(const struct command_line *l, uint64_t given, unsigned marks);

/* Prints "PROGRAM: " and the message, and a hint to --help. Returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int option_usage(const char *program, const char *fmt, ...);
/* Makes SIGINT end the program with one line and EXIT_INTERRUPTED, unless the caller ignores it. */
void option_catch_interrupt(void);
/* Prints that line, and returns EXIT_INTERRUPTED. May be called in a signal handler. */
int option_interrupted(void);
/* Warns about variables of the environment that are misspelt variables of the library. */
void option_check_environment(const char *program);
/* Prints "PROGRAM: out of memory". Returns EXIT_FAULT. */
int option_no_memory(const char *program);
/* Prints "--wait is spin, yield, block or learn, not x", with the words of the row's arg. Returns EXIT_USAGE. */
int option_refuse_word(const struct option_use *u);
/* Turns the result of parsing an argument, 0 or -ERR_x, into an exit status. Prints the text `why` if it is an error of the
 * argument, and frees it. */
int option_result(const char *program, int err, struct text *why);
/* Prints that `what`, a backend or an engine, was left out of this build. Returns EXIT_USAGE. */
int option_not_built(const char *program, const char *what);
/* ---- files that an argument names: "-" is standard input or standard output ---- */

/* Opens the file that an argument names. Returns as file_open(). */
int option_open(const char *arg, struct file *f);
/* Writes a whole file. Returns as file_write(). */
int option_write(const char *arg, const void *data, size_t len);
bool option_is_dash(const char *arg);
/* Returns the name of a file that is read, as messages show it. */
const char *option_source(const char *arg);
/* Flushes standard output, and reports an error of this or any earlier write. To be called after the last printf. Returns an
 * exit status. */
int option_flush(const char *program);

#endif
