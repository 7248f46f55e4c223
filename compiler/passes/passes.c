/* SPDX-License-Identifier: BSD-3-Clause
 * The table of passes, lists of passes, and the functions that run them. */
#include "compiler/passes/passes.h"

#include "compiler/queues/armw.h"
#include "compiler/verify/verify.h"
#include "util/err.h"
#include "util/nearest.h"
#include "util/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct pass passes[] = {
	{ .name = "hierarchy",
	  .help = "node by node, so that each message crosses the network once",
	  .text = pass_hierarchy,
	  .keys = { { .name = "ranks", .help = "of each node, the last number for all others; goalrun --hosts knows them",
		      .min = 1, .max = INT32_MAX, .several = true },
		    { .name = "cyclic", .help = "instead: nodes, which take ranks by turns", .min = 1, .max = INT32_MAX } } },
	{ .name = "segment",
	  .help = "split long messages, copies and reductions into pieces that follow each other",
	  .local = pass_segment,
	  .keys = { { .name = "size", .help = "elements of a piece", .min = 1, .max = INT64_MAX, .value = PASS_NEEDED,
		      .elements = true } } },
	{ .name = "fuse",
	  .help = "reduce straight from messages, and receive where a copy would go",
	  .local = pass_fuse,
	  .keys = { { .name = "wait", .help = "1: a recv may then wait for other messages", .max = 1 } } },
	{ .name = "reorder",
	  .help = "critical path first, in the program order of each rank",
	  .global = pass_reorder,
	  .keys = { { .name = "constant", .help = "elements that an op or a message counts besides its own", .max = INT32_MAX,
		      .value = 1000 } } },
	{ .name = "reduce-deps", .help = "drop dependencies that others imply", .local = pass_reduce_deps },
	{ .name = "coalesce", .help = "one message for those between two ranks that become ready together",
	  .global = pass_coalesce,
	  .keys = { { .name = "most", .help = "elements of a message that is copied, to be sent with others",
		      .min = 0, .max = INT64_MAX, .value = 0, .elements = true } } },
	{ .name = "sparse-rounds", .help = "one send and one recv at a time, few rounds with heavy messages",
	  .global = pass_sparse_rounds,
	  .keys = { { .name = "heavy", .help = "elements of a heavy message; 0: the mean of all",
		      .min = 0, .max = INT64_MAX, .value = 0 } } },
	{ .name = "split-tree", .help = "the levels at the leaves of a tree on the ranks' own cores",
	  .local = pass_split_tree,
	  .settle = pass_split_tree_settle,
	  .keys = { { .name = "S", .help = "levels; auto: as the model has it", .max = UINT16_MAX + 1,
		      .value = PASS_NEEDED, .word = "auto", .with = "cores" },
		    { .name = "cores", .help = "of the node, with those of the ranks, for S=auto", .max = INT32_MAX } } },
	{ .name = "odd-even", .help = "the ops of consecutive ranks on different communication cores", .local = pass_odd_even },
	{ .name = "lower-smcq", .help = "what to post to command queues in session mode; the last pass",
	  .global = pass_lower_smcq,
	  .keys = {
#define LIMIT(NAME, key, least, most, usual, sentence) \
	{ .name = #key, .help = sentence, .min = least, .max = most, .value = usual },
#define CHOICE(NAME, key, least, most, usual, sentence, list) \
	{ .name = #key, .help = sentence, .min = least, .max = most, .value = usual, .words = list },
#include "format/smcq.def"
#undef LIMIT
	  } },
};
const unsigned npasses = sizeof passes / sizeof *passes;

/* ---- lists ---- */

#define WRONG(why, ...)                             \
	do {                                        \
		if (why)                            \
			text_add(why, __VA_ARGS__); \
	} while (0)

static bool name_is(const char *name, const char *s, size_t len)
{
	return !strncmp(name, s, len) && !name[len];
}

/* Checks that s is a list of numbers for key k, with dots between them, and stores their number in *out. */
static bool parse_decimals(const struct pass_key *k, const char *s, size_t len, int64_t *out)
{
	const char *const end = s + len;
	int64_t one;

	for (*out = 1;; ++*out) {
		const char *dot = memchr(s, '.', (size_t)(end - s));

		if (!option_amount(s, (size_t)((dot ? dot : end) - s), k->min, k->max, &one))
			return false;
		if (!dot)
			return true;
		s = dot + 1;
	}
}

/* Reports a key that a pass does not have, with the one that was meant, or with those that there are. */
static void refuse_key(const struct pass *p, const char *s, size_t len, struct text *why)
{
	char word[64];
	struct nearest n = { .word = word };

	snprintf(word, sizeof word, "%.*s", (int)len, s);
	for (const struct pass_key *k = p->keys; k->name; k++)
		nearest_name(&n, k->name);
	WRONG(why, "the pass %s has no key %.*s%s", p->name, (int)len, s, p->keys->name ? nearest_choices(&n) : "");
}

/* Parses one "key=value" of pass p. */
static int take_value(const char *s, size_t len, const struct pass *p, int64_t value[PASS_KEYS], uint32_t *given,
		      struct text *why)
{
	const char *eq = memchr(s, '=', len);
	size_t name = eq ? (size_t)(eq - s) : len;
	const struct pass_key *k = p->keys;

	while (k->name && !name_is(k->name, s, name))
		k++;
	if (*given >> (k - p->keys) & 1) {
		WRONG(why, "the key %s of the pass %s is given twice", k->name, p->name);
		return -ERR_VERSION;
	}
	*given |= k->name ? (uint32_t)1 << (k - p->keys) : 0;
	if (k->word && eq && name_is(k->word, eq + 1, len - name - 1)) {
		value[k - p->keys] = PASS_WORD;
		return 0;
	}
	if (k->name && k->words) {
		value[k - p->keys] = eq ? option_word(k->words, eq + 1, len - name - 1) : -1;
		if (value[k - p->keys] >= 0)
			return 0;
		WRONG(why, "the key %s of the pass %s is one of %s, not %.*s", k->name, p->name, k->words,
		      eq ? (int)(len - name - 1) : 0, eq ? eq + 1 : "");
	} else if (k->name && k->several) {
		if (eq && parse_decimals(k, eq + 1, len - name - 1, &value[k - p->keys]))
			return 0;
		WRONG(why, "the key %s of the pass %s is numbers from %" PRId64 " to %" PRId64 " with dots between them, not %.*s",
		      k->name, p->name, k->min, k->max, eq ? (int)(len - name - 1) : 0, eq ? eq + 1 : "");
	} else if (!k->name)
		refuse_key(p, s, name, why);
	else if (!eq || !option_amount(eq + 1, len - name - 1, k->min, k->max, &value[k - p->keys]))
		WRONG(why, "the key %s of the pass %s is %s%sa number from %" PRId64 " to %" PRId64 ", not %.*s", k->name,
		      p->name, k->word ? k->word : "", k->word ? " or " : "", k->min, k->max,
		      eq ? (int)(len - name - 1) : 0, eq ? eq + 1 : "");
	else
		return 0;
	return -ERR_VERSION;
}

/* Checks that all required values are given. */
static int check_values(const struct pass *p, const int64_t value[PASS_KEYS], struct text *why)
{
	for (const struct pass_key *k = p->keys; k->name; k++) {
		const int64_t v = value[k - p->keys];

		for (const struct pass_key *w = p->keys; v == PASS_WORD && w->name; w++)
			if (!strcmp(w->name, k->with) && value[w - p->keys] == w->value) {
				WRONG(why, "%s:%s=%s needs %s=N too", p->name, k->name, k->word, w->name);
				return -ERR_VERSION;
			}
		if (v == PASS_NEEDED) {
			WRONG(why, "the pass %s needs %s:%s=N", p->name, p->name, k->name);
			return -ERR_VERSION;
		}
	}
	return 0;
}

static void refuse_pass(const char *s, size_t len, struct text *why)
{
	char word[64];
	struct nearest n = { .word = word };

	snprintf(word, sizeof word, "%.*s", (int)len, s);
	for (unsigned i = 0; i < npasses; i++)
		nearest_name(&n, passes[i].name);
	WRONG(why, "there is no pass %s%s", word, nearest_choices(&n));
}

int pass_take(const char **list, const struct pass **p, int64_t value[PASS_KEYS], struct text *why)
{
	const char *s = *list;
	size_t len = strcspn(s, ":;");
	uint32_t given = 0; /* one bit for each key, set if the key is given */
	int err;

	*p = NULL;
	for (unsigned i = 0; i < npasses && !*p; i++)
		if (name_is(passes[i].name, s, len))
			*p = &passes[i];
	if (!*p) {
		refuse_pass(s, len, why);
		return -ERR_VERSION;
	}
	for (unsigned k = 0; k < PASS_KEYS; k++)
		value[k] = (*p)->keys[k].value;
	s += len;
	while (*s && *s != ';') {
		len = strcspn(++s, ",;");
		err = take_value(s, len, *p, value, &given, why);
		if (err)
			return err;
		s += len;
	}
	err = check_values(*p, value, why);
	if (err)
		return err;
	*list = *s ? s + 1 : s;
	return 0;
}

/* Returns the pass on texts at the head of a list, or NULL; sets *rest to the list after this pass. */
static const struct pass *on_text(const char *list, const char **rest)
{
	const struct pass *p;
	int64_t value[PASS_KEYS];

	*rest = list;
	return *list && !pass_take(rest, &p, value, NULL) && p->text ? p : NULL;
}

static int insert_pass(char **list, bool front, const char *s, size_t len)
{
	const size_t old = *list ? strlen(*list) : 0, at = old && !front ? old + 1 : 0;
	char *more = mem_resize(*list, old + len + 2, 1);

	if (!more)
		return -ERR_NOMEM;
	*list = more;
	if (front && old)
		memmove(more + len + 1, more, old);
	memcpy(more + at, s, len);
	if (old)
		more[front ? len : old] = ';';
	more[old ? old + len + 1 : len] = '\0';
	return 0;
}

int passes_add(char **list, const char *arg, struct text *why)
{
	const char *rest = arg, *s;
	bool text = *list && on_text(*list, &s);
	const struct pass *p;
	int64_t value[PASS_KEYS];
	int err;

	do {
		err = pass_take(&rest, &p, value, why);
		if (!err && p->text && text) {
			WRONG(why, "the pass %s can be given once", p->name);
			err = -ERR_VERSION;
		}
		if (err)
			return err;
		text |= p->text != NULL;
	} while (*rest || rest[-1] == ';');
	for (rest = arg; *rest && !err;) {
		s = rest;
		pass_take(&rest, &p, value, NULL);
		err = insert_pass(list, p->text, s, strcspn(s, ";"));
	}
	return err;
}

const char *passes_on_ops(const char *list)
{
	const char *rest;

	return on_text(list, &rest) ? rest : list;
}

const char *passes_open(const char *list)
{
	const char *rest;
	const struct pass *p = on_text(list, &rest);

	return p && (!list[strlen(p->name)] || list[strlen(p->name)] == ';') ? p->name : NULL;
}

int passes_close(const char *list, const uint32_t *node, uint32_t nranks, uint32_t *apart, char **out)
{
	const char *rest;
	const struct pass *p = on_text(list, &rest);
	struct text t = { 0 };
	int err;

	text_add(&t, "%s:", p->name);
	err = pass_hierarchy_nodes(node, nranks, apart, &t);
	text_add(&t, "%s%s", *rest ? ";" : "", rest);
	if (!err)
		return text_take(&t, out);
	free(t.at);
	return err;
}

const char *passes_global(const char *list)
{
	const struct pass *p;
	int64_t value[PASS_KEYS];

	while (*list && !pass_take(&list, &p, value, NULL))
		if (p->global)
			return p->name;
	return NULL;
}

bool passes_need_root(const char *list)
{
	const struct pass *p;
	int64_t value[PASS_KEYS];

	while (*list && !pass_take(&list, &p, value, NULL))
		for (unsigned k = 0; p->keys[k].name; k++)
			if (value[k] == PASS_WORD)
				return true;
	return false;
}

int64_t passes_count(const char *list)
{
	const struct pass *p;
	int64_t value[PASS_KEYS], count = 0;

	while (*list && !pass_take(&list, &p, value, NULL))
		for (unsigned k = 0; p->keys[k].name; k++)
			if (p->keys[k].elements && value[k] < INT64_MAX / 4 && count <= value[k])
				count = 2 * value[k] + 1;
	return count;
}

/* ---- running ---- */

struct pass_ctx passes_ctx(const struct bin *b, const struct bin_args *a)
{
	const int64_t root = bin_root(b, a->by_rank ? a->by_rank[0] : a->args);

	return (struct pass_ctx){ .rank = a->rank, .size = a->size, .buffers = b->buffers, .nbuffers = b->nbuffers,
				  .barrier = verify_is_barrier(b), .root = root > 0 ? (uint32_t)root : 0 };
}

int passes_run_text(const char *list, struct goal_diags *d, struct goal_text **texts)
{
	const char *rest, *with = NULL;
	const struct pass *p = on_text(list, &rest);

	if (!p)
		return 0;
	if (list[strlen(p->name)] == ':')
		with = list + strlen(p->name) + 1;
	return p->text(d, with, texts);
}

int passes_run_rank(const char *list, struct ir_rank *r, const struct pass_ctx *c)
{
	static const struct ir_rank unknown;
	struct pass_ctx own = *c;
	const struct pass *p;
	int err = 0;

	while (*list && !err) {
		err = pass_take(&list, &p, own.value, NULL);
		if (!err && p->settle)
			err = p->settle(c->root_ops ? c->root_ops : c->rank == c->root ? r : &unknown, &own);
		if (!err)
			err = p->local ? p->local(r, &own) : -ERR_VERSION;
	}
	return err;
}

int passes_run_graph(const char *list, struct ir_graph *g, const struct pass_ctx *c, const char **failed)
{
	struct pass_ctx own = *c;
	const struct pass *p = NULL;
	int err = 0;

	own.refused = &g->refused;
	if (*list)
		g->args.size = 0; /* numbers of ops change */
	while (*list && !err) {
		err = pass_take(&list, &p, own.value, NULL);
		if (!err && g->queues) /* the pass would change the ops but not the queues */
			err = ir_refuse(own.refused, 0, BIN_NONE, "lower-smcq must be the last pass");
		else if (!err && p->text)
			err = -ERR_PASS;
		if (!err && p->global)
			err = p->global(g, &own);
		if (!err && p->settle && g->nranks)
			err = p->settle(&g->ranks[c->root < g->nranks ? c->root : 0], &own);
		for (own.rank = 0; !err && p->local && own.rank < g->nranks; own.rank++)
			err = p->local(&g->ranks[own.rank], &own);
	}
	if (failed)
		*failed = err && p ? p->name : "";
	return err;
}
