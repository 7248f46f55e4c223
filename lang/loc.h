/* SPDX-License-Identifier: BSD-3-Clause
 * Positions in source text, and the diagnostics that point at them. */
#ifndef LANG_LOC_H
#define LANG_LOC_H

#include "util/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* line and col count from 1; line 0 means that no position is known. file indexes the sources of
 * the diagnostics, in the order in which they were added. */
struct goal_loc {
	uint32_t line;
	uint16_t col, file;
};

enum goal_severity { GOAL_WARNING, GOAL_ERROR };

/* Collects what is wrong with an input, as text ready to print. */
struct goal_diags;

/* NULL when out of memory. */
struct goal_diags *goal_diags_new(void);
void goal_diags_free(struct goal_diags *d);

/* Makes a source known so that its lines can be quoted; text may be NULL (a binary) and is borrowed
 * for the life of d. Returns its index or -ERR_x. */
int goal_diags_source(struct goal_diags *d, const char *name, const char *text, size_t len);
/* The same for what is read piece by piece; f is borrowed. */
int goal_diags_file(struct goal_diags *d, const char *name, const struct file *f);
/* The same for a file that d closes, also when this fails. */
int goal_diags_take(struct goal_diags *d, const char *name, struct file *f);
/* A source once more, for what a place of the text makes of it there: messages that point into it also name that
 * place. The source itself when there are too many. */
unsigned goal_diags_called(struct goal_diags *d, unsigned file, struct goal_loc from);
/* Copies up to max bytes of a source from offset off on; how many, 0 at the end, or -ERR_SYS with errno. */
ssize_t goal_diags_read(const struct goal_diags *d, unsigned file, uint64_t off, void *buf, size_t max);
size_t goal_diags_len(const struct goal_diags *d, unsigned file);
const char *goal_diags_name(const struct goal_diags *d, unsigned file);

/* Adds "file:line:col: error: …" with the line and a caret. tag, when not NULL, is the name of the
 * check and stands in brackets behind the message. */
__attribute__((format(printf, 5, 6))) void goal_diag(struct goal_diags *d, enum goal_severity s,
						     struct goal_loc at, const char *tag,
						     const char *fmt, ...);

unsigned goal_diags_errors(const struct goal_diags *d);
unsigned goal_diags_warnings(const struct goal_diags *d);
/* All messages so far, NUL-terminated, owned by d. */
const char *goal_diags_text(const struct goal_diags *d);

#endif
