/* SPDX-License-Identifier: BSD-3-Clause
 * The nearest name to a misspelt word, for messages. */
#ifndef UTIL_NEAREST_H
#define UTIL_NEAREST_H

#include <stddef.h>

/* A search for the name that a word was meant to be. The caller sets `word` and clears the rest, tries each name there is,
 * and then asks for the hint. */
struct nearest {
	const char *word;
	char best[64]; /* nearest name so far, or "" */
	unsigned distance; /* from the word to that name */
	char all[1024]; /* names tried, in the form "a, b, c" */
	size_t len; /* of `all`; larger than its size if the names do not fit */
	char hint[1100];
};

/* Tries a name of `len` bytes. */
void nearest_try(struct nearest *n, const char *name, size_t len);
/* Tries a name that ends with 0. */
void nearest_name(struct nearest *n, const char *name);
/* Returns the end of a message: "; did you mean NAME?" if a name is near, and "" otherwise. The text belongs to n. */
const char *nearest_hint(struct nearest *n);
/* Like nearest_hint(), but returns "; it is one of a, b, c" if no name is near. */
const char *nearest_choices(struct nearest *n);

#endif
