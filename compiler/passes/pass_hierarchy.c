/* SPDX-License-Identifier: BSD-3-Clause
 * hierarchy: calls a schedule twice, among ranks that represent their nodes and among the ranks within each node. So data
 * that all ranks of a node receive or contribute crosses the network once. The pass works on texts, because GOAL has calls
 * (goal(5)). The compiled text becomes a schedule of hierarchy.goal, which calls the given schedule. The new schedule is
 * parametric if the given one is, and is checked and proved like a schedule written by hand.
 *
 * If the ranks of a node are consecutive, a node reduces operands that are next to each other, so operations need not
 * commute. If ranks are assigned to nodes in turn, operations must commute. */
#include "compiler/passes/passes.h"

#include "lang/labels.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char around[] =
#include "compiler/passes/hierarchy.inc"
	;

/* Schedules of the library that are called within nodes. */
static const char bcast[] =
#include "schedules/bcast_binomial.inc"
	;
static const char gather[] =
#include "schedules/gather_binomial.inc"
	;
static const char reduce[] =
#include "schedules/lib/reduce_tree.inc"
	;

struct collective {
	const char *name;
	const char *modes; /* modes of the buffers, in their order: in, out, both */
	bool reduces;
	bool twice; /* the schedule is called with one buffer for both in and out */
	struct {
		const char *name, *text;
	} calls[2]; /* schedules that are called; `name` is the part after the prefix NAME */
};

static const struct collective collectives[] = {
	{ .name = "MPI_Bcast", .modes = "b" },
	{ .name = "MPI_Reduce", .modes = "io", .reduces = true },
	{ .name = "MPI_Allreduce", .modes = "io", .reduces = true, .twice = true, .calls = { { "_reduce", reduce }, { "_bcast", bcast } } },
	{ .name = "MPI_Barrier", .modes = "", .calls = { { "_gather", gather }, { "_bcast", bcast } } },
};

/* The ranks of nodes. Node i begins at rank begin[i]. From the last element of begin on, all nodes have `each` ranks. If
 * cyclic is not 0, it is the number of nodes, and node i has the ranks i, i + cyclic, i + 2 cyclic and so on. */
struct nodes {
	VEC(int64_t) begin;
	int64_t each, cyclic;
};

struct hierarchy {
	struct goal_diags *d;
	const struct goal_schedule *s;
	struct nodes nodes;
	struct text out;
	bool inplace; /* true if the schedule has buffers that may share memory */
};

/* ---- nodes ---- */

static int read_nodes(struct nodes *n, const char *with)
{
	const char *list = strchr(with, '=') + 1;
	int64_t begin = 0;

	if (!strncmp(with, "cyclic=", 7)) {
		n->cyclic = strtoll(list, NULL, 10);
		return 0;
	}
	do {
		char *end;

		if (VEC_PUSH(&n->begin, begin))
			return -ERR_NOMEM;
		n->each = strtoll(list, &end, 10);
		begin += n->each;
		list = end + 1;
	} while (list[-1] == '.');
	while (n->begin.n > 1 && n->begin.at[n->begin.n - 1] - n->begin.at[n->begin.n - 2] == n->each)
		n->begin.n--;
	return 0;
}

enum ask { NODE, FIRST, START };

int pass_hierarchy_nodes(const uint32_t *node, uint32_t nranks, uint32_t *apart, struct text *out)
{
	uint32_t most = 0, nnodes = 0, newest = 0, *next, begin = 0;
	bool blocks = true, cyclic = true;

	for (uint32_t r = 0; r < nranks; r++)
		most = node[r] > most ? node[r] : most;
	next = mem_calloc((size_t)most + 1, sizeof *next); /* for each node, 1 + its last rank so far */
	if (!next)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < nranks; r++) {
		if (!next[node[r]]) {
			nnodes++;
			newest = r;
		} else if (next[node[r]] != r && blocks) {
			*apart = r;
			blocks = false;
		}
		next[node[r]] = r + 1;
	}
	free(next);
	for (uint32_t r = nnodes; r < nranks; r++)
		cyclic &= node[r] == node[r - nnodes];
	if (!blocks && (!cyclic || newest + 1 != nnodes))
		return -ERR_UNSUPPORTED;
	if (!blocks)
		text_add(out, "cyclic=%u", nnodes);
	for (uint32_t r = 1; r <= nranks && blocks; r++) {
		if (r < nranks && node[r] == node[r - 1])
			continue;
		text_add(out, "%s%u", begin ? "." : "ranks=", r - begin);
		begin = r;
	}
	return 0;
}

/* Writes the expression for NODE, FIRST or START of e, if e is in one of the nodes `low` to `high`. */
static void write_node_choice(struct hierarchy *h, enum ask ask, const char *e, size_t low, size_t high)
{
	const struct nodes *n = &h->nodes;
	const int64_t begin = n->cyclic ? 0 : n->begin.at[low];
	const size_t mid = (low + high) / 2;

	if (n->cyclic) {
		text_add(&h->out, ask == START ? "(%s)" : "((%s) mod %" PRId64 ")", e, n->cyclic);
	} else if (low < high) {
		text_add(&h->out, "(%s < %" PRId64 " ? ", e, ask == START ? (int64_t)mid + 1 : n->begin.at[mid + 1]);
		write_node_choice(h, ask, e, low, mid);
		text_add(&h->out, " : ");
		write_node_choice(h, ask, e, mid + 1, high);
		text_add(&h->out, ")");
	} else if (low < n->begin.n - 1) {
		text_add(&h->out, "%" PRId64, ask == NODE ? (int64_t)low : begin);
	} else if (ask == START) {
		text_add(&h->out, "(%" PRId64 " + (%s - %zu) * %" PRId64 ")", begin, e, low, n->each);
	} else {
		text_add(&h->out, "(%" PRId64 " + (%s - %" PRId64 ") / %" PRId64, ask == NODE ? (int64_t)low : begin, e, begin,
			 n->each);
		text_add(&h->out, ask == NODE ? ")" : " * %" PRId64 ")", n->each);
	}
}

/* ---- the text ---- */

static bool word_is(const char *word, const char *s, size_t len)
{
	return strlen(word) == len && !memcmp(word, s, len);
}

static void add_args(struct hierarchy *h)
{
	for (const struct goal_param *p = h->s->params; p; p = p->next)
		if (strcmp(p->name, "root") != 0)
			text_add(&h->out, ", %s = %s", p->name, p->name);
}

static void fill_in(struct hierarchy *h, const char *s, const char *end);

/* Words that expand to expressions, which may contain further words. is[0] is for nodes of consecutive ranks, is[1] for ranks
 * assigned to nodes in turn. */
static const struct {
	const char *word, *is[2];
} words[] = {
	{ "NODES", { "NODE(P - 1) + 1", "min(STEP, P)" } },
	{ "HERE", { "min(START(node + 1), P) - first", "(P - 1 - node) / STEP + 1" } },
};

static bool add_words(struct hierarchy *h, const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (word_is(words[i].word, word, len)) {
			const char *const text = words[i].is[h->nodes.cyclic != 0];

			fill_in(h, text, text + strlen(text));
			return true;
		}
	return false;
}

/* Expands NODE(e), FIRST(e) or START(e), whose e begins at s. Returns the text after the
 * closing parenthesis. */
static const char *add_ask(struct hierarchy *h, enum ask ask, const char *s)
{
	const char *close = strchr(s, ')') + 1;
	struct text whole = h->out, e;

	h->out = (struct text){ 0 };
	fill_in(h, s, close);
	e = h->out;
	h->out = whole;
	h->out.err |= e.err;
	if (!e.err)
		write_node_choice(h, ask, e.at, 0, h->nodes.cyclic ? 0 : h->nodes.begin.n - 1);
	free(e.at);
	return close;
}

/* Writes the text from s to end, with the words in capitals replaced. */
static void fill_in(struct hierarchy *h, const char *s, const char *end)
{
	static const char *const asks[] = { [NODE] = "NODE", [FIRST] = "FIRST", [START] = "START" };

	while (s < end) {
		const char *word = s;
		unsigned ask = 0;
		size_t len;

		while (s < end && goal_is_name(*s))
			s++;
		len = (size_t)(s - word);
		while (ask < sizeof asks / sizeof *asks && !word_is(asks[ask], word, len))
			ask++;
		if (ask < sizeof asks / sizeof *asks)
			s = add_ask(h, (enum ask)ask, s);
		else if (len >= 4 && !memcmp(word, "NAME", 4))
			text_add(&h->out, "%s%.*s", h->s->name, (int)len - 4, word + 4);
		else if (word_is("R", word, len) || word_is("P", word, len))
			text_add(&h->out, "%s", *word == 'R' ? h->s->rank : h->s->size);
		else if (word_is("ARGS", word, len))
			add_args(h);
		else if (word_is("STEP", word, len))
			text_add(&h->out, "%" PRId64, h->nodes.cyclic ? h->nodes.cyclic : 1);
		else if (word_is("INPLACE", word, len))
			text_add(&h->out, "%s", h->inplace ? ", inplace = inplace" : "");
		else if (!add_words(h, word, len))
			text_add(&h->out, "%.*s", len ? (int)len : 1, word);
		s += !len;
	}
}

/* Parses a source of the diagnostics as one more text of the list. The number of the source is negative if there was no
 * memory for it. */
static int add_text(struct goal_diags *d, int file, struct goal_text **list)
{
	struct goal_text *t = file < 0 ? NULL : mem_calloc(1, sizeof *t);

	if (!t)
		return -ERR_NOMEM;
	t->next = *list;
	*list = t;
	return goal_parse_text(d, (unsigned)file, t);
}

static int add_import(struct goal_text *into, struct goal_text *from)
{
	struct goal_import *i = arena_alloc(&into->arena, sizeof *i);

	if (!i)
		return -ERR_NOMEM;
	*i = (struct goal_import){ .next = into->imports, .path = "", .text = from };
	into->imports = i;
	return 0;
}

/* Adds a schedule of the library under a name that no schedule of the text has. */
static int add_part(struct hierarchy *h, const char *name, const char *text, struct goal_text **list)
{
	int err = add_text(h->d, goal_diags_source(h->d, "hierarchy", text, strlen(text)), list);
	struct text t = { 0 };
	char *whole = NULL;

	if (err)
		return err;
	text_add(&t, "%s%s", h->s->name, name);
	err = text_take(&t, &whole);
	if (!err && !((*list)->last->name = arena_strndup(&(*list)->arena, whole, strlen(whole))))
		err = -ERR_NOMEM;
	free(whole);
	return err;
}

/* Adds the schedule of hierarchy.goal that calls the given schedule. The diagnostics keep the text of the added schedule. */
static int add_around(struct hierarchy *h, const char *from, const char *to, struct goal_text **list)
{
	struct text name = { 0 };
	struct file f = { .fd = -1 };
	char *title = NULL;
	int err;

	fill_in(h, from, to);
	f.len = h->out.n;
	err = text_take(&h->out, &f.data);
	text_add(&name, "hierarchy of %s", goal_diags_name(h->d, h->s->loc.file));
	err = text_take(&name, &title) || err ? -ERR_NOMEM : 0;
	if (err)
		file_close(&f);
	else
		err = add_text(h->d, goal_diags_take(h->d, title, &f), list);
	free(title);
	return err;
}

static int build_texts(struct hierarchy *h, const struct collective *c, const char *from, const char *to,
		       struct goal_text **list)
{
	struct goal_text *own = *list, *parts[2] = { NULL, NULL };
	int err = 0;

	for (int i = 0; i < 2 && c->calls[i].name && !err; i++) {
		err = add_part(h, c->calls[i].name, c->calls[i].text, list);
		parts[i] = *list;
	}
	err = err ? err : add_around(h, from, to, list);
	err = err ? err : add_import(*list, own);
	for (int i = 0; i < 2 && parts[i] && !err; i++)
		err = add_import(*list, parts[i]);
	if (!err && (*list)->last) {
		(*list)->last->params = h->s->params;
		(*list)->last->commutative = h->s->commutative || (c->reduces && h->nodes.cyclic);
	}
	return err;
}

/* ---- conditions ---- */

__attribute__((format(printf, 2, 3))) static void refuse(const struct hierarchy *h, const char *fmt, ...)
{
	char text[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	goal_diag(h->d, GOAL_ERROR, h->s->loc, NULL, "the pass hierarchy cannot be applied: %s", text);
}

/* True if the caller's buffers have these modes, in this order. */
static bool has_modes(const struct goal_schedule *s, const char *modes)
{
	static const char letters[] = { [GOAL_IN] = 'i', [GOAL_OUT] = 'o', [GOAL_INOUT] = 'b' };

	for (const struct goal_buffer *b = s->buffers; b; b = b->next)
		if (b->mode != GOAL_SCRATCH && letters[b->mode] != *modes++)
			return false;
	return !*modes;
}

static bool may_apply(struct hierarchy *h, const struct collective *c)
{
	const struct goal_schedule *s = h->s;

	for (const struct goal_buffer *b = s->buffers; b; b = b->next)
		h->inplace |= b->inplace != NULL;
	if (!has_modes(s, c->modes))
		refuse(h, "its buffers are not those of %s, in their order", c->name);
	else if (c->twice && !h->inplace)
		refuse(h, "it is to be called in place, and has no buffer that says inplace");
	for (const struct goal_param *p = s->params; p; p = p->next)
		if (p->length || p->scope == GOAL_ROOTONLY || goal_computed(p))
			refuse(h, "the parameter %s is %s", p->name,
			       p->length		   ? "a vector, and may be about all ranks" :
			       p->scope == GOAL_ROOTONLY ? "known to the root only" :
							     "computed by default, and may be about all ranks");
	return !goal_diags_errors(h->d);
}

static const struct collective *find_collective(const char *name)
{
	for (size_t i = 0; name && i < sizeof collectives / sizeof *collectives; i++)
		if (!strcmp(collectives[i].name, name))
			return &collectives[i];
	return NULL;
}

/* Finds the text of the schedule of hierarchy.goal for a collective, from *from to *to. */
static void find_around(const struct collective *c, const char **from, const char **to)
{
	static const char head[] = "\nschedule NAME_by_node implements ";
	const char *at = around;

	do
		at = strstr(at, head) + sizeof head - 1;
	while (strncmp(at, c->name, strlen(c->name)) != 0 || at[strlen(c->name)] != '\n');
	*from = at - (sizeof head - 1);
	*to = strstr(at, head);
	*to = *to ? *to : at + strlen(at);
}

int pass_hierarchy(struct goal_diags *d, const char *with, struct goal_text **texts)
{
	struct hierarchy h = { .d = d, .s = (*texts)->last };
	const struct collective *c = find_collective(h.s->implements);
	const char *from, *to;
	int err = 0;

	if (!c)
		refuse(&h, "it is for MPI_Bcast, MPI_Reduce, MPI_Allreduce and MPI_Barrier, and this schedule implements %s",
		       h.s->implements ? h.s->implements : "nothing");
	else if (!with)
		refuse(&h, "it needs the number of ranks of a node, or of each: hierarchy:ranks=N[.N...]");
	else if (with[strcspn(with, ",;")] == ',')
		refuse(&h, "it takes ranks or cyclic, and once");
	else if (may_apply(&h, c)) {
		err = read_nodes(&h.nodes, with);
		find_around(c, &from, &to);
		err = err ? err : build_texts(&h, c, from, to, texts);
	}
	VEC_FREE(&h.nodes.begin);
	return err;
}
