/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a file of parametric GOAL and the files that it imports, each once. A path is relative to the importing file. A
 * cycle of imports is an error. */
#include "lang/ast.h"
#include "util/err.h"
#include "util/file.h"
#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEEPEST 64u /* the most files on one chain of imports */

struct import {
	struct goal_diags *d;
	struct goal_text *first, **last;
	unsigned depth;
};

void goal_text_free(struct goal_text *t)
{
	while (t) {
		struct goal_text *next = t->next;

		arena_fini(&t->arena);
		free(t);
		t = next;
	}
}

/* True if a text with this name is a regular file, so that imports can be relative to it. A text in memory has a name too. */
static bool on_disk(const char *name, struct stat *st)
{
	return !stat(name, st) && S_ISREG(st->st_mode);
}

/* Returns the path of an import, relative to the directory of the importing file unless it is absolute. The caller frees
 * it. NULL if out of memory. */
static char *path_of(struct import *im, const struct goal_import *i)
{
	const char *from = goal_diags_name(im->d, i->loc.file), *slash = strrchr(from, '/');
	struct text t = { 0 };
	struct stat st;
	char *path;

	if (*i->path != '/' && slash && on_disk(from, &st))
		text_add(&t, "%.*s", (int)(slash + 1 - from), from);
	text_add(&t, "%s", i->path);
	return text_take(&t, &path) ? NULL : path;
}

/* Returns the text of a file that has been read already, or NULL. */
static struct goal_text *find_loaded_text(struct import *im, const struct stat *st)
{
	struct goal_text *t = im->first;

	while (t && (t->id[0] != st->st_dev || t->id[1] != st->st_ino))
		t = t->next;
	return t;
}

static int read_text(struct import *im, unsigned file, const struct stat *st, struct goal_text **out);

static int import_file(struct import *im, struct goal_import *i)
{
	char *path = path_of(im, i);
	struct stat st;
	struct file f;
	int err = path ? 0 : -ERR_NOMEM, file;

	if (err)
		return err;
	if (stat(path, &st)) {
		goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "cannot import %s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "cannot import %s: it is no regular file", path);
	} else if ((i->text = find_loaded_text(im, &st)) != NULL) {
		if (i->text->open)
			goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "%s imports itself, directly or by way of others",
				  path);
	} else if (im->depth == DEEPEST) {
		goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "more than %u files import each other", DEEPEST);
	} else if ((err = file_open(path, &f)) == -ERR_SYS) {
		goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "cannot import %s: %s", path, file_why(errno));
		err = 0;
	} else if (!err && goal_text_is_plain(&f)) {
		goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "cannot import %s: it is plain GOAL", path);
		file_close(&f);
	} else if (!err && !goal_text_is_parametric(&f)) { /* not GOAL, perhaps secret: messages must not quote its lines */
		goal_diag(im->d, GOAL_ERROR, i->loc, NULL, "cannot import %s: it begins with neither \"schedule\" nor \"import\"",
			  path);
		file_close(&f);
	} else if (!err) {
		file = goal_diags_take(im->d, path, &f);
		err = file < 0 ? file : read_text(im, (unsigned)file, &st, &i->text);
	}
	free(path);
	return err;
}

/* Reads a file and the files that it imports, and appends them to the list of texts. */
static int read_text(struct import *im, unsigned file, const struct stat *st, struct goal_text **out)
{
	struct goal_text *t = mem_calloc(1, sizeof *t);
	int err;

	if (!t)
		return -ERR_NOMEM;
	*out = *im->last = t;
	im->last = &t->next;
	t->id[0] = st->st_dev;
	t->id[1] = st->st_ino;
	t->open = true;
	err = goal_parse_text(im->d, file, t);
	im->depth++;
	for (struct goal_import *i = t->imports; i && !err; i = i->next)
		err = import_file(im, i);
	im->depth--;
	t->open = false;
	return err;
}

int goal_parse_parametric(struct goal_diags *d, unsigned file, struct goal_text **out)
{
	struct import im = { .d = d, .last = &im.first };
	unsigned errors = goal_diags_errors(d);
	struct goal_text *t;
	struct stat st = { 0 };
	int err;

	*out = NULL;
	if (!on_disk(goal_diags_name(d, file), &st))
		st = (struct stat){ 0 };
	err = read_text(&im, file, &st, &t);
	if (!err && goal_diags_errors(d) == errors)
		*out = im.first;
	else
		goal_text_free(im.first);
	return err;
}
