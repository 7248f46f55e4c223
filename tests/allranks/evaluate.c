/* SPDX-License-Identifier: BSD-3-Clause
 * evaluate FILE... : evaluates the sites of schedules for all sizes up to 16, all ranks and all roots, and compares them with
 * the ops and the order of ops of the specialised ranks. Proofs for all numbers of ranks are about these sites. */
#include "compiler/allranks/sites.h"
#include "compiler/compile.h"
#include "compiler/ir/args.h"
#include "format/check.h"
#include "util/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES 16u
#define COUNT 3
#define MOST_LOOPS 8u

struct made { /* an op of a rank */
	const struct site *site;
	int64_t *value; /* values of all variables */
	int64_t turn[MOST_LOOPS]; /* position in each loop around it */
	uint32_t loop[MOST_LOOPS];
	unsigned nloops;
};

struct rank {
	const struct sites *s;
	size_t nvars;
	int64_t *value;
	VEC(struct made) ops;
	uint8_t *order; /* order[a * 2n + b]: event b comes after event a; events 2i and 2i + 1: start and end of op i */
	size_t n;
	const char *wrong;
};

static int64_t value_of(struct rank *k, term x, const int64_t *value)
{
	int64_t out = 0;

	if (term_eval(k->s->t, x, value, &out))
		k->wrong = "a term cannot be evaluated";
	return out;
}

/* Calls fn for each way to meet the conditions of a path, with the values of the loop variables in k->value. */
static void each_execution(struct rank *k, const struct path *p, unsigned at, struct made *m,
			   void (*fn)(struct rank *, struct made *, void *), void *arg)
{
	const struct frame *f = &p->frame[at];
	int64_t lo, hi;

	if (at == p->n) {
		fn(k, m, arg);
		return;
	}
	if (f->var == TERM_NONE) {
		if (value_of(k, f->cond, k->value))
			each_execution(k, p, at + 1, m, fn, arg);
		return;
	}
	lo = value_of(k, f->lo, k->value);
	hi = value_of(k, f->hi, k->value);
	for (int64_t x = lo; x <= hi; x++) {
		k->value[term_at(k->s->t, f->var)->num] = x;
		m->loop[m->nloops] = f->loop;
		m->turn[m->nloops++] = f->down ? -x : x;
		each_execution(k, p, at + 1, m, fn, arg);
		m->nloops--;
	}
}

static void note_op(struct rank *k, struct made *m, void *arg)
{
	struct made made = *m;

	made.site = arg;
	made.value = malloc(k->nvars * sizeof *made.value);
	memcpy(made.value, k->value, k->nvars * sizeof *made.value);
	if (VEC_PUSH(&k->ops, made))
		abort();
}

static int in_order(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	for (unsigned i = 0; i < x->nloops && i < y->nloops && x->loop[i] == y->loop[i]; i++)
		if (x->turn[i] != y->turn[i])
			return x->turn[i] < y->turn[i] ? -1 : 1;
	return x->site->seq < y->site->seq ? -1 : x->site->seq > y->site->seq;
}

/* True if the label of a dependency is that of an op, or of a call around it. */
static bool is_key(struct rank *k, term key, const int64_t *at, term of, const int64_t *value)
{
	const struct term_node *x = term_at(k->s->t, key), *y;

	if (of == TERM_NONE)
		return false;
	y = term_at(k->s->t, of);
	if ((x->op == TERM_KEY) != (y->op == TERM_KEY))
		return false;
	if (x->op == TERM_KEY)
		return is_key(k, x->a, at, y->a, value) && is_key(k, x->b, at, y->b, value) && is_key(k, x->c, at, y->c, value);
	return value_of(k, key, at) == value_of(k, of, value);
}

static bool has_key(struct rank *k, term key, const struct made *m)
{
	bool is = is_key(k, key, k->value, m->site->key, m->value);

	for (unsigned i = 0; i < m->site->ncalls && !is; i++)
		is = is_key(k, key, k->value, m->site->calls[i], m->value);
	return is;
}

static void note_dep(struct rank *k, struct made *m, void *arg)
{
	const struct site_dep *d = arg;

	(void)m;
	for (size_t a = 0; a < k->n; a++)
		for (size_t b = 0; b < k->n; b++)
			if (has_key(k, d->op, &k->ops.at[a]) && has_key(k, d->on, &k->ops.at[b]))
				k->order[(2 * b + !d->start) * 2 * k->n + 2 * a] = 1;
}

/* Completes the order of n events. */
static void close_order(uint8_t *order, size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t a = 0; a < n; a++)
			for (size_t b = 0; b < n && order[a * n + k]; b++)
				order[a * n + b] |= order[k * n + b];
}

static uint8_t *order_of(const struct ir_rank *r)
{
	const size_t n = 2 * (size_t)r->nops;
	uint8_t *o = calloc(n * n + 1, 1);

	for (uint32_t i = 0; i < r->nops; i++) {
		o[2 * i * n + 2 * i + 1] = 1;
		for (uint32_t d = r->dep_at[i]; d < r->dep_at[i + 1]; d++) {
			const uint32_t on = r->deps[d] & ~BIN_START;

			o[(2 * (size_t)on + !(r->deps[d] & BIN_START)) * n + 2 * i] = 1;
		}
	}
	close_order(o, n);
	return o;
}

/* Returns the element with which a part begins. */
static int64_t offset_of(struct rank *k, int64_t part, const int64_t *value)
{
	const int64_t n = k->s->parts == TERM_NONE ? 1 : value_of(k, k->s->parts, value), i = part % n;

	return part / n * COUNT + COUNT / n * i + (i < COUNT % n ? i : COUNT % n);
}

static void compare_op(struct rank *k, const struct made *m, const struct bin_op *op)
{
	const struct site *s = m->site;
	const int64_t from = value_of(k, s->phase, m->value);
	const int64_t len = offset_of(k, from + value_of(k, s->len, m->value), m->value) - offset_of(k, from, m->value);

	if (s->kind != op->kind || (uint64_t)len != op->len)
		k->wrong = "the kind or the length of an op";
	else if (bin_is_message(op->kind) &&
		 (value_of(k, s->peer, m->value) != op->peer || value_of(k, s->tag, m->value) != op->tag))
		k->wrong = "the peer or the tag of an op";
	else if (!s->any_level && value_of(k, s->level, m->value) != op->level)
		k->wrong = "the level of an op";
	for (unsigned i = 0; i < bin_nranges(op->kind) && len; i++)
		if (s->range[i].buf != op->buf[i] ||
		    (uint64_t)offset_of(k, value_of(k, s->range[i].off, m->value), m->value) != op->off[i])
			k->wrong = "the range of an op";
}

static void compare_rank(struct rank *k, const struct ir_rank *r)
{
	const size_t n = k->n;
	uint8_t *want = order_of(r);

	for (size_t i = 0; i < n && !k->wrong; i++)
		compare_op(k, &k->ops.at[i], &r->ops[i]);
	for (uint32_t i = 0; i < r->nops && !k->wrong; i++)
		if (i >= n && r->ops[i].kind != BIN_OP_NOP)
			k->wrong = "the number of ops";
	for (size_t a = 0; a < 2 * n && !k->wrong; a++)
		for (size_t b = 0; b < 2 * n; b++)
			if (k->order[a * 2 * n + b] != want[a * 2 * r->nops + b])
				k->wrong = "the order of the ops";
	free(want);
}

/* Compares one rank. Returns the number of its ops. */
static size_t evaluate_rank(const struct sites *s, const struct bin *b, struct bin_args *args, int64_t root, const char **wrong)
{
	struct rank k = { .s = s, .nvars = s->t->vars.n, .value = calloc(s->t->vars.n, sizeof(int64_t)) };
	struct made m = { 0 };
	struct ir_rank r;
	struct ir_fault fault;

	k.value[term_at(s->t, s->p)->num] = args->size;
	k.value[term_at(s->t, s->r)->num] = args->rank;
	k.value[term_at(s->t, s->root)->num] = root;
	k.value[term_at(s->t, s->count)->num] = COUNT;
	for (size_t i = 0; i < s->ops.n; i++)
		each_execution(&k, &s->ops.at[i].path, 0, &m, note_op, &s->ops.at[i]);
	qsort(k.ops.at, k.ops.n, sizeof *k.ops.at, in_order);
	k.n = k.ops.n;
	k.order = calloc(4 * k.n * k.n + 1, 1);
	for (size_t i = 0; i < k.n; i++)
		k.order[2 * i * 2 * k.n + 2 * i + 1] = 1;
	for (size_t i = 0; i < s->deps.n; i++)
		each_execution(&k, &s->deps.at[i].path, 0, &m, note_dep, &s->deps.at[i]);
	close_order(k.order, 2 * k.n);
	if (ir_rank_specialise(b, args, &r, &fault)) {
		k.wrong = "the rank cannot be specialised";
	} else {
		if (r.nops < k.n)
			k.wrong = "the number of ops";
		else
			compare_rank(&k, &r);
		ir_rank_fini(&r);
	}
	for (size_t i = 0; i < k.n; i++)
		free(k.ops.at[i].value);
	VEC_FREE(&k.ops);
	free(k.order);
	free(k.value);
	*wrong = k.wrong;
	return k.n;
}

/* Compares all sizes, roots and ranks. Returns the number of ops, and prints the first difference. */
static size_t evaluate_all(const struct sites *s, const struct bin *b, bool inplace, const char *name)
{
	struct bin_arg *args = calloc(b->nparams + 1, sizeof *args);
	size_t n = 0;

	for (uint32_t i = 0; i < b->nparams; i++) {
		args[i] = bin_default(&b->params[i]);
		args[i].known = b->params[i].has_default == BIN_NUMBER;
		if (!strcmp(bin_str(b, b->params[i].name), "inplace"))
			args[i] = (struct bin_arg){ .known = true, .value = inplace };
	}
	for (uint32_t p = 1; p <= SIZES; p++)
		for (uint32_t root = 0; root < (b->meta->root == BIN_NONE ? 1 : p); root++)
			for (uint32_t r = 0; r < p; r++) {
				struct bin_args a = { .rank = r, .size = p, .count = COUNT, .args = args };
				const char *wrong;

				if (b->meta->root != BIN_NONE)
					args[b->meta->root] = (struct bin_arg){ .known = true, .value = root };
				n += evaluate_rank(s, b, &a, root, &wrong);
				if (wrong) {
					printf("FAIL %s: size %u, root %u, rank %u, inplace %d: %s differs\n", name, p, root, r,
					       inplace, wrong);
					free(args);
					return 0;
				}
			}
	free(args);
	return n;
}

static void begin_sites(struct sites *s, struct terms *t, struct arena *store)
{
	jmp_buf nomem;

	t->nomem = &nomem;
	if (setjmp(nomem))
		abort();
	sites_begin(s, t, store);
}

static int evaluate_variant(const struct bin *b, bool inplace, const char *name)
{
	struct terms t = { 0 };
	struct arena store = { 0 };
	struct sites s;
	size_t n = 0;
	int err;

	begin_sites(&s, &t, &store);
	err = sites_translate(&s, b, inplace, false);
	if (!err) {
		n = evaluate_all(&s, b, inplace, name);
		if (n)
			printf("ok %s%s: %zu ops evaluated\n", name, inplace ? ", in place" : "", n);
	} else {
		printf("left %s: line %u: %s\n", name, b->lines[s.stop_insn], s.stop);
	}
	sites_fini(&s);
	terms_fini(&t);
	arena_fini(&store);
	return !err && !n;
}

static int evaluate_file(const char *file)
{
	struct compile_options o = { .debug = true, .unchecked = true, .checks_off = UINT64_MAX };
	struct goal_diags *d = goal_diags_new();
	struct bin b;
	char *text;
	void *image = NULL;
	size_t len, size;
	int rc = 0, err = file_read(file, &text, &len);

	err = err ? err : compile_text(d, file, text, len, &o, &image, &size);
	err = err ? err : bin_open(&b, image, size);
	if (err) {
		printf("FAIL %s: %s\n", file, err_text(err));
		return 1;
	}
	rc = evaluate_variant(&b, false, file);
	for (uint32_t i = 0; i < b.nparams; i++)
		if (!strcmp(bin_str(&b, b.params[i].name), "inplace"))
			rc |= evaluate_variant(&b, true, file);
	goal_diags_free(d);
	free(image);
	free(text);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= evaluate_file(argv[i]);
	return rc;
}
