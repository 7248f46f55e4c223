/* SPDX-License-Identifier: BSD-3-Clause
 * Positions in source texts, and diagnostics: messages that point at them and quote the line. */
#ifndef LANG_LOC_H
#define LANG_LOC_H

#include "util/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A position in a source. line and col count from 1; line 0 means that no position is known; col UINT16_MAX stands for all
 * larger columns. file is the index of a source of the diagnostics. */
struct goal_loc {
	uint32_t line;
	uint16_t col, file;
};

enum goal_severity { GOAL_WARNING, GOAL_ERROR };

/* The errors and warnings of an input, as text ready to print, and the sources that they quote. */
struct goal_diags;

/* Returns new diagnostics, or NULL if out of memory. */
struct goal_diags *goal_diags_new(void);
void goal_diags_free(struct goal_diags *d);

/* Adds a source, so that messages can quote its lines. text may be NULL (for a binary), stays the caller's, and must outlive
 * d. Returns the index of the source, or -ERR_x. */
int goal_diags_source(struct goal_diags *d, const char *name, const char *text, size_t len);
/* Adds a source that is read from a file. The file stays the caller's, and must outlive d. Returns as goal_diags_source. */
int goal_diags_file(struct goal_diags *d, const char *name, const struct file *f);
/* Adds a source that is read from a file, and takes over the file, which is closed with d, or at once if this fails. Returns
 * as goal_diags_source. */
int goal_diags_take(struct goal_diags *d, const char *name, struct file *f);
/* Adds a source once more, for messages about one call of its code: they also name the position of the call, `from`.
 * Returns its index, or the index of the source itself if there are too many sources. */
unsigned goal_diags_called(struct goal_diags *d, unsigned file, struct goal_loc from);
/* Copies up to max bytes of a source, from offset off on, to buf. Returns how many, 0 at the end, or -ERR_SYS with errno. */
ssize_t goal_diags_read(const struct goal_diags *d, unsigned file, uint64_t off, void *buf, size_t max);
size_t goal_diags_len(const struct goal_diags *d, unsigned file);
const char *goal_diags_name(const struct goal_diags *d, unsigned file);

/* Adds a message "file:line:col: error: …", and the line with a caret. tag is the name of the check, which stands in brackets
 * behind the message, or NULL. */
__attribute__((format(printf, 5, 6))) void goal_diag(struct goal_diags *d, enum goal_severity s,
						     struct goal_loc at, const char *tag,
						     const char *fmt, ...);

/* Groups messages that differ only in the op that they are about: the ops of a loop, or of several ranks. If d has a message
 * of this kind at this position, counts one more of it, about `rank`, and returns true: that message then ends in "(and 19
 * like it, of ranks 0-7)". Otherwise returns false, and the next goal_diag() adds the first message of the kind there. kind
 * is compared as a pointer. In a position without a line, col tells ops apart. */
bool goal_diag_again(struct goal_diags *d, enum goal_severity s, struct goal_loc at, const char *kind, uint32_t rank);

unsigned goal_diags_errors(const struct goal_diags *d);
unsigned goal_diags_warnings(const struct goal_diags *d);
/* Returns all messages so far, NUL-terminated. The text belongs to d, and is valid until the next message. */
const char *goal_diags_text(struct goal_diags *d);
/* Copies the text of a source from a position on to buf, up to the end of the line or as far as it fits. */
void goal_diags_peek(struct goal_diags *d, struct goal_loc at, char *buf, size_t size);

#endif
