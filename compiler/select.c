/* SPDX-License-Identifier: BSD-3-Clause
 * Reads selection tables and finds rows in them. */
#include "compiler/select.h"

#include "compiler/collectives/collective.h"
#include "compiler/collectives/names.h"
#include "compiler/passes/passes.h"
#include "util/env.h"
#include "util/err.h"
#include "util/file.h"
#include "util/install.h"
#include "util/nearest.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "select.table"

static const char *const topologies[SELECT_TOPOLOGIES] = { "any", "cart", "graph" };
static const char *const shape_names[SELECT_SHAPES] = { "all", "pow2", "even", "node", "cache", "core" };

/* ---- one row ---- */

struct reader {
	struct goal_diags *d;
	struct select *s;
	struct goal_loc at; /* location of the current word */
	const char *line, *end, *next;
	const char *word;
	size_t len;
	int err;
};

#define WRONG(x, ...)                                                       \
	do {                                                                \
		if (!(x)->err)                                              \
			goal_diag((x)->d, GOAL_ERROR, (x)->at, NULL, __VA_ARGS__); \
		(x)->err = (x)->err ? (x)->err : -ERR_SYNTAX;               \
	} while (0)

static bool is_blank_char(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Reads the next word of the line. At the end of the line, returns false and sets the location to the end. */
static bool next_word(struct reader *x)
{
	while (x->next < x->end && is_blank_char(*x->next))
		x->next++;
	x->word = x->next;
	while (x->next < x->end && !is_blank_char(*x->next))
		x->next++;
	x->len = (size_t)(x->next - x->word);
	x->at.col = (uint16_t)(x->word - x->line < UINT16_MAX ? x->word - x->line + 1 : UINT16_MAX);
	return x->len != 0;
}

static bool need_word(struct reader *x, const char *what)
{
	if (x->err || next_word(x))
		return !x->err;
	WRONG(x, "%s is missing", what);
	return false;
}

/* Returns an owned copy of the current word. */
static char *copy_word(struct reader *x)
{
	char *s = mem_alloc(x->len + 1);

	if (!s) {
		x->err = -ERR_NOMEM;
		return NULL;
	}
	memcpy(s, x->word, x->len);
	s[x->len] = '\0';
	return s;
}

/* Returns the index of the current word in `names`, of which it must be one. */
static unsigned one_of(struct reader *x, const char *what, const char *const *names, size_t n)
{
	int i = x->err ? 0 : option_name_index(names, n, x->word, x->len);

	if (i < 0) {
		char word[64];
		struct nearest near = { .word = word };

		snprintf(word, sizeof word, "%.*s", (int)x->len, x->word);
		for (size_t k = 0; k < n; k++)
			nearest_name(&near, names[k]);
		WRONG(x, "there is no %s %s%s", what, word, nearest_choices(&near));
	}
	return i < 0 ? 0 : (unsigned)i;
}

/* True if a range has a number of ranks of this shape. */
static bool has_ranks(const struct select_range *r, enum select_shape shape)
{
	uint64_t n = r->min ? r->min : 1;

	if (n > SELECT_MOST_RANKS)
		return false;
	if (shape == SELECT_EVEN)
		n += n % 2;
	while (shape == SELECT_POW2 && n & (n - 1))
		n += n & -n;
	return n <= r->max && n <= SELECT_MOST_RANKS;
}

/* Parses "any", N, N- or N-M. If shape is not NULL, a colon and the name of a shape may follow. */
static void parse_range(struct reader *x, const char *what, struct select_range *r, enum select_shape *shape)
{
	const char *s, *end, *colon;
	bool ok = true;

	*r = (struct select_range){ 0, UINT64_MAX };
	if (!need_word(x, what))
		return;
	s = x->word;
	end = s + x->len;
	colon = shape ? memchr(s, ':', x->len) : NULL;
	if (colon) {
		int i = option_name_index(shape_names, SELECT_SHAPES, colon + 1, (size_t)(end - colon - 1));

		*shape = (enum select_shape)(i < 0 ? 0 : i);
		ok = i > 0;
		end = colon;
	}
	if (end - s != 3 || memcmp(s, "any", 3) != 0) {
		ok = ok && option_scaled(&s, end, &r->min);
		r->max = r->min;
		if (ok && s < end && *s == '-' && ++s == end)
			r->max = UINT64_MAX;
		else if (ok && s < end)
			ok = option_scaled(&s, end, &r->max) && s == end;
	}
	if (!ok)
		WRONG(x, "%s is any, N, N- or N-M%s, not %.*s", what,
		      shape ? ", perhaps with :pow2, :even, :node, :cache or :core" : " with K, M or G", (int)x->len, x->word);
	else if (r->min > r->max || (shape && !has_ranks(r, *shape)))
		WRONG(x, "%s %.*s is empty", what, (int)x->len, x->word);
}

/* Parses "any", "commutative" or "builtin", with ":reproducible" behind it or without. */
static void parse_op(struct reader *x, struct select_row *row)
{
	static const char *const ops[SELECT_OPS] = { "any", "commutative", "builtin" };
	static const char mark[] = ":reproducible";
	const size_t len = strlen(mark);

	if (!need_word(x, "kind of operation"))
		return;
	row->reproducible = x->len > len && !memcmp(x->word + x->len - len, mark, len);
	x->len -= row->reproducible ? len : 0;
	row->op = (enum select_op)one_of(x, "kind of operation", ops, SELECT_OPS);
	if (!row->reproducible || x->err)
		return;
	if (!collective_reduces(row->collective))
		WRONG(x, "%s has no operation, so its calls are not reproducible or otherwise", row->collective);
	else if (row->bytes.min || row->bytes.max != UINT64_MAX || select_sharing_of(row) != SELECT_SHARE_NOTHING)
		WRONG(x, "reproducible results depend on neither bytes nor nodes: the row has to be for any bytes, without :node, :cache or :core");
}

static void parse_define(struct reader *x, struct select_row *row)
{
	char *s = need_word(x, "name=number behind -D") ? copy_word(x) : NULL, *eq = s ? strchr(s, '=') : NULL;
	size_t before = row->defines.v.n;
	int64_t value;

	if (s && (!eq || eq == s || !option_amount(eq + 1, strlen(eq + 1), INT64_MIN, INT64_MAX, &value)))
		WRONG(x, "-D takes name=number, not %s", s);
	else if (s && option_define(&row->defines, s, false))
		x->err = -ERR_NOMEM;
	else if (s && row->defines.v.n == before)
		WRONG(x, "the name of -D %s is there already", s);
	free(s);
}

static void parse_pass(struct reader *x, struct select_row *row)
{
	char *s = need_word(x, "a pass behind -T") ? copy_word(x) : NULL;
	struct text why = { 0 };
	const char *global;
	int err = s ? passes_add(&row->passes, s, &why) : 0;

	if (err == -ERR_NOMEM || why.err)
		x->err = -ERR_NOMEM;
	else if (err)
		WRONG(x, "%s", why.at);
	global = row->passes ? passes_global(row->passes) : NULL;
	if (global)
		WRONG(x, "the pass %s needs the ops of all ranks, and binding has those of one", global);
	free(why.at);
	free(s);
}

static void free_row(struct select_row *row)
{
	free(row->file);
	free(row->passes);
	defines_free(&row->defines);
}

static void parse_collective(struct reader *x, struct select_row *row)
{
	char *name = need_word(x, "collective") ? copy_word(x) : NULL;

	row->at = x->at;
	row->collective = name ? collective_name(name) : NULL;
	if (name && !row->collective) {
		struct nearest n = collective_nearest(name);

		WRONG(x, "there is no collective %s%s", name, nearest_hint(&n));
	}
	free(name);
}

/* Reads a row of the form: COLLECTIVE RANKS BYTES OP TOPOLOGY -> FILE [-D name=value]... [-T pass]... */
static void read_row(struct reader *x)
{
	struct select_row row = { .table = (unsigned)x->s->tables.n - 1, .text = x->word };

	x->next = x->word;
	parse_collective(x, &row);
	parse_range(x, "the number of ranks", &row.ranks, &row.shape);
	parse_range(x, "the number of bytes", &row.bytes, NULL);
	parse_op(x, &row);
	if (need_word(x, "topology"))
		row.topology = (enum select_topology)one_of(x, "topology", topologies, SELECT_TOPOLOGIES);
	if (need_word(x, "->") && (x->len != 2 || memcmp(x->word, "->", 2) != 0))
		WRONG(x, "-> is expected here, not %.*s", (int)x->len, x->word);
	if (need_word(x, "the file of the schedule"))
		row.file = copy_word(x);
	row.len = (size_t)(x->next - row.text);
	while (!x->err && next_word(x)) {
		if (x->len == 2 && !memcmp(x->word, "-D", 2))
			parse_define(x, &row);
		else if (x->len == 2 && !memcmp(x->word, "-T", 2))
			parse_pass(x, &row);
		else
			WRONG(x, "-D or -T is expected here, not %.*s", (int)x->len, x->word);
		row.len = (size_t)(x->next - row.text);
	}
	if (!x->err && VEC_PUSH(&x->s->rows, row))
		x->err = -ERR_NOMEM;
	if (x->err)
		free_row(&row);
}

/* ---- tables ---- */

/* True if row a takes some call that row b takes. */
static bool rows_meet(const struct select_row *a, const struct select_row *b)
{
	return select_alike(a, b) && a->ranks.min <= b->ranks.max && a->ranks.max >= b->ranks.min &&
	       a->bytes.min <= b->bytes.max && a->bytes.max >= b->bytes.min &&
	       (a->topology == SELECT_NONE || b->topology == SELECT_NONE || a->topology == b->topology);
}

/* True if row a takes all calls that row b takes. */
static bool row_covers(const struct select_row *a, const struct select_row *b)
{
	const enum select_sharing x = select_sharing_of(a), y = select_sharing_of(b);
	const bool shape = a->shape == SELECT_ALL || a->shape == b->shape || (x < SELECT_SHARE_NOTHING && x >= y);

	return shape && select_alike(a, b) && a->ranks.min <= b->ranks.min && a->ranks.max >= b->ranks.max &&
	       a->bytes.min <= b->bytes.min && a->bytes.max >= b->bytes.max &&
	       a->op <= b->op && (a->topology == SELECT_NONE || a->topology == b->topology);
}

/* Reports a row that no call reaches, with the lines of the rows that take its calls: one line if that row takes all. */
static int refuse_unreached(struct goal_diags *d, const struct select *s, const struct select_row *row)
{
	const struct select_row *own = s->rows.at;
	struct text lines = { 0 };
	unsigned n = 0;
	char *text;

	while (own < row && (own->table != row->table || !row_covers(own, row)))
		own++;
	for (const struct select_row *a = s->rows.at; a < row; a++)
		if (own < row ? a == own : a->table == row->table && rows_meet(a, row))
			text_add(&lines, "%s%u", n++ ? ", " : "", a->at.line);
	if (text_take(&lines, &text))
		return -ERR_NOMEM;
	goal_diag(d, GOAL_ERROR, row->at, NULL, "no call comes to this row: line%s %s take%s all", n == 1 ? "" : "s", text,
		  n == 1 ? "s" : "");
	free(text);
	return -ERR_SYNTAX;
}

/* Checks that calls come to all rows from `first` on, which are those of one table. */
static int check_reached(struct goal_diags *d, const struct select *s, size_t first)
{
	struct select_cover cover = { 0 };
	int err = select_cover(s, first, s->rows.n, &cover);

	for (size_t i = 0; i < cover.unreached.n && err != -ERR_NOMEM; i++)
		err = refuse_unreached(d, s, cover.unreached.at[i]);
	select_cover_free(&cover);
	return err;
}

static int parse_table(struct goal_diags *d, unsigned file, const char *text, size_t len, struct select *s)
{
	struct reader x = { .d = d, .s = s, .at = { .file = (uint16_t)file } };
	const char *p = text, *end = text + len;
	const size_t first = s->rows.n;
	int err = 0;

	if (memchr(text, '\0', len)) {
		WRONG(&x, "this is no text");
		return x.err;
	}
	while (p < end && err != -ERR_NOMEM) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
		const char *comment = memchr(p, '#', (size_t)(stop - p));

		x.line = x.next = p;
		x.end = comment ? comment : stop;
		x.at.line++;
		x.err = 0;
		if (next_word(&x))
			read_row(&x);
		err = x.err ? x.err : err;
		p = nl ? nl + 1 : end;
	}
	return err ? err : check_reached(d, s, first);
}

/* Loads one table. Takes ownership of path. */
static int load_table(struct goal_diags *d, char *path, struct select *s)
{
	struct select_table t = { .path = path };
	size_t len = 0;
	int file, err = file_read(path, &t.text, &len), sys = errno;

	if (err) {
		file = goal_diags_source(d, path, NULL, 0);
		if (err == -ERR_SYS && file >= 0)
			goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)file }, NULL, "%s", file_why(sys));
		free(path);
		return err;
	}
	if (VEC_PUSH(&s->tables, t)) {
		free(t.path);
		free(t.text);
		return -ERR_NOMEM;
	}
	file = goal_diags_source(d, path, t.text, len);
	return file < 0 ? file : parse_table(d, (unsigned)file, t.text, len, s);
}

int select_load_one(struct goal_diags *d, const char *path, struct select *s)
{
	struct text t = { 0 };
	char *own;
	int err;

	*s = (struct select){ 0 };
	text_add(&t, "%s", path);
	err = text_take(&t, &own);
	err = err ? err : load_table(d, own, s);
	if (err)
		select_free(s);
	return err;
}

int select_load(struct goal_diags *d, const char *path, struct select *s)
{
	char *installed = NULL;
	int err = 0;

	*s = (struct select){ 0 };
	if (*path)
		err = select_load_one(d, path, s);
	err = err ? err : install_find(NAME, &installed);
	if (!err && installed)
		err = load_table(d, installed, s);
	if (!err && !*path && !installed) {
		err = goal_diags_source(d, NAME, NULL, 0);
		if (err >= 0)
			goal_diag(d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)err }, NULL,
				  "there is none among the installed files");
		err = err < 0 ? err : -ERR_SYS;
	}
	if (err)
		select_free(s);
	return err;
}

void select_free(struct select *s)
{
	for (size_t i = 0; i < s->rows.n; i++)
		free_row(&s->rows.at[i]);
	for (size_t i = 0; i < s->tables.n; i++) {
		free(s->tables.at[i].path);
		free(s->tables.at[i].text);
	}
	VEC_FREE(&s->rows);
	VEC_FREE(&s->tables);
}

static bool range_contains(const struct select_range *r, uint64_t v)
{
	return v >= r->min && v <= r->max;
}

bool select_takes_ranks(const struct select_row *r, uint64_t ranks)
{
	static const uint64_t mask[SELECT_SHAPES] = { [SELECT_EVEN] = 1 };
	const uint64_t bits = r->shape == SELECT_POW2 ? ranks - 1 : mask[r->shape];

	return range_contains(&r->ranks, ranks) && !(ranks & bits);
}

const char *select_misfit(const struct select_row *r, const struct select_call *call)
{
	return strcmp(r->collective, call->collective) != 0				       ? "collective" :
	       !select_takes_ranks(r, call->ranks) || call->sharing > select_sharing_of(r)     ? "ranks" :
	       !range_contains(&r->bytes, call->bytes)					       ? "bytes" :
	       r->op > call->op || r->reproducible != call->reproducible		       ? "op" :
	       r->topology != SELECT_NONE && r->topology != call->topology		       ? "topology" : NULL;
}

bool select_asks(const char *collective)
{
	long asks;

	return !env_number(ENV_GOAL_REPRODUCIBLE, &asks) && asks && collective_reduces(collective);
}

const struct select_row *select_find(const struct select *s, const struct select_call *call)
{
	for (size_t i = 0; i < s->rows.n; i++)
		if (!select_misfit(&s->rows.at[i], call))
			return &s->rows.at[i];
	return NULL;
}

int select_path(const struct select *s, const struct select_row *row, char **path)
{
	const char *table = s->tables.at[row->table].path, *slash = strrchr(table, '/');
	struct text t = { 0 };
	char *dir;
	int err;

	if (slash && row->file[0] != '/')
		text_add(&t, "%.*s", (int)(slash + 1 - table), table);
	err = text_take(&t, &dir);
	err = err ? err : install_path(dir, row->file, path);
	free(dir);
	return err;
}
