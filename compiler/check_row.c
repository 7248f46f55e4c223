/* SPDX-License-Identifier: BSD-3-Clause
 * Checks one row of a selection table: its schedule compiles with the options of the row, fits the row, asserts nothing that a
 * call of the row can break, cuts no element of users' operations if the row takes them, and is proved for numbers of ranks that
 * the row takes. */
#include "compiler/check_table.h"

#include "compiler/collectives/names.h"
#include "compiler/compile.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "compiler/verify_cases.h"
#include "format/check.h"
#include "util/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COUNTS 32u
#define ALL_RANKS 64u /* up to this number of ranks, assertions are tried for each number that the row takes */
#define FEW_RANKS 9u /* up to this number of ranks, they are tried on all ranks, with all counts and samples */
#define PROVED_RANKS 128u /* the largest number of ranks of which graphs are made, unless the user asks for more */
#define MOST_RANKS (1u << 28) /* up to this number, they are tried near powers of two */
#define VECTOR_RANKS 256u /* the same if each rank has counts or neighbours, which take memory */
#define FUEL 3000u /* steps of a rank's program within which assertions are tried; usually they come first */

struct checked_row {
	struct check_table *t;
	const struct select_row *row;
	char *path;
	struct goal_diags *d; /* messages about the schedule */
	char *text;
	void *image;
	size_t size;
	struct bin b;
	struct claim claim;
	struct ir_locs locs;
	bool refused;
};

#define REFUSE(x, ...)                                                             \
	do {                                                                       \
		goal_diag((x)->t->d, GOAL_ERROR, (x)->row->at, NULL, __VA_ARGS__); \
		(x)->refused = true;                                               \
	} while (0)

/* Refuses the row for the first error of its schedule. */
static void refuse_schedule(struct checked_row *x, const char *what)
{
	static const char mark[] = ": error: ";
	const char *text = goal_diags_text(x->d), *error = strstr(text, mark), *line = error;

	while (line && line > text && line[-1] != '\n')
		line--;
	if (error)
		REFUSE(x, "%s%.*s: %.*s", what, (int)(error - line), line, (int)strcspn(error + strlen(mark), "\n"),
		       error + strlen(mark));
	else
		REFUSE(x, "%s%s: %s", what, x->path, err_text(-ERR_SYNTAX));
}

/* ---- the schedule ---- */

/* Stores the row's passes, owned by the caller. A pass that needs the nodes of the ranks gets nodes of two ranks each. */
static int close_passes(const struct select_row *row, char **out)
{
	static const uint32_t node[] = { 0, 0, 1, 1 };
	struct text t = { 0 };
	uint32_t apart;

	*out = NULL;
	if (!row->passes)
		return 0;
	if (passes_open(row->passes))
		return passes_close(row->passes, node, sizeof node / sizeof *node, &apart, out);
	text_add(&t, "%s", row->passes);
	return text_take(&t, out);
}

/* Makes x->image: compiles the text, or takes over the binary. */
static int make_image(struct checked_row *x, size_t len)
{
	struct compile_options o = { .debug = true, .defines = x->row->defines.v.at, .ndefines = x->row->defines.v.n,
				     .unchecked = true, .checks_off = UINT64_MAX, .locs = &x->locs };
	char *list;
	int err;

	if (len && (unsigned char)x->text[0] == 0x89) {
		x->image = x->text;
		x->text = NULL;
		x->size = len;
		err = goal_diags_source(x->d, x->path, NULL, 0);
		err = err < 0 ? err : bin_check(x->image, len);
		if (err && err != -ERR_NOMEM)
			REFUSE(x, "%s: %s", x->path, err_text(err));
		return err;
	}
	err = close_passes(x->row, &list);
	o.passes = list;
	err = err ? err : compile_text(x->d, x->path, x->text, len, &o, &x->image, &x->size);
	free(list);
	if (err && err != -ERR_NOMEM)
		refuse_schedule(x, "");
	return err;
}

/* Loads the schedule. If it cannot be loaded, reports why, and returns -ERR_x. */
static int load_schedule(struct checked_row *x)
{
	struct ir_fault fault = { 0 };
	size_t len;
	int err = select_path(&x->t->s, x->row, &x->path);

	if (err)
		return err;
	x->d = goal_diags_new();
	err = x->d ? file_read(x->path, &x->text, &len) : -ERR_NOMEM;
	if (err == -ERR_SYS)
		REFUSE(x, "%s: %s", x->path, file_why(errno));
	err = err ? err : make_image(x, len);
	err = err ? err : bin_open(&x->b, x->image, x->size);
	err = err ? err : claim_open_named(&x->claim, &x->b, &fault);
	if (err == -ERR_CLAIM)
		REFUSE(x, "%s: %s", x->path, fault.text);
	return err;
}

static int check_fit(struct checked_row *x)
{
	struct text why = { 0 };
	char *text;

	if (select_fits(x->row, &x->b, &x->claim, &why) && !why.err)
		return 0;
	if (text_take(&why, &text))
		return -ERR_NOMEM;
	REFUSE(x, "%s", text);
	free(text);
	return 0;
}

/* ---- the calls of the row ---- */

static int order_counts(const void *a, const void *b)
{
	ORDER_BY(*(const int64_t *)a, *(const int64_t *)b);
	return 0;
}

/* Stores some counts of basic elements that blocks of the row's sizes have, ascending: the least and the largest for each size of
 * an element, and some between. All counts are at most 2^30, so that offsets do not overflow. Returns their number. */
static unsigned list_counts(const struct select_row *row, uint32_t ranks, int64_t counts[MOST_COUNTS])
{
	const uint64_t most = (uint64_t)1 << 30;
	unsigned n = 0;

	for (uint64_t size = 1; size <= 32; size *= 2) { /* of basic elements */
		const uint64_t lo = row->bytes.min / size + (row->bytes.min % size != 0);
		const uint64_t hi = row->bytes.max / size < most ? row->bytes.max / size : most;
		const uint64_t some[] = { lo, hi, lo + 1, 7, 2 * (uint64_t)ranks + 1 };

		for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
			bool new = some[i] >= lo && some[i] <= hi && n < MOST_COUNTS;

			for (unsigned k = 0; k < n && new; k++)
				new = (uint64_t)counts[k] != some[i];
			if (new)
				counts[n++] = (int64_t)some[i];
		}
	}
	qsort(counts, n, sizeof *counts, order_counts);
	return n;
}

/* Returns the number of ranks that is tried after n: up to ALL_RANKS the next one, then numbers around powers of two. */
static uint64_t next_ranks(uint64_t n)
{
	const uint64_t power = (uint64_t)1 << (63 - __builtin_clzll(n | 1));

	if (n < ALL_RANKS || n == power)
		return n + 1;
	return n < power + power / 2 ? power + power / 2 : n < 2 * power - 1 ? 2 * power - 1 : 2 * power;
}

/* A case in which an assertion fails. */
struct broken {
	uint32_t ranks; /* 0 if there is none */
	char values[160]; /* in the form in which messages begin */
	const char *text; /* the assertion's own */
};

/* Specialises one rank. Stores the case in *out if an assertion fails. */
static int try_rank(const struct checked_row *x, const struct bin_args *a, struct broken *out)
{
	struct ir_fault fault = { 0 };
	struct ir_rank r = { 0 };
	int err = ir_rank_specialise(&x->b, a, &r, &fault);

	ir_rank_fini(&r);
	if (err == -ERR_ASSERT) {
		out->ranks = a->size;
		lower_sample(out->values, sizeof out->values, &x->b, a);
		out->text = bin_str(&x->b, fault.what);
	}
	return err == -ERR_NOMEM ? err : 0;
}

/* Tries ranks and roots: all, or the first and the last. */
static int try_ranks(const struct checked_row *x, struct bin_args *a, struct arg_rows *rows, struct broken *out)
{
	const bool common = rows->size == 1;
	const uint32_t root = x->b.meta->root, step = a->size <= FEW_RANKS || a->size < 2 ? 1 : a->size - 1;
	int err = 0;

	for (uint32_t k = 0; k < a->size && !err && !out->ranks; k += root == BIN_NONE ? a->size : step) {
		if (root != BIN_NONE)
			arg_rows_set(rows, root, (struct bin_arg){ .known = true, .value = k });
		for (a->rank = 0; a->rank < a->size && !err && !out->ranks; a->rank += step) {
			a->args = rows->by_rank[common ? 0 : a->rank];
			err = try_rank(x, a, out);
		}
	}
	return err;
}

/* True if ranks have values of their own, such as counts and neighbours. */
static bool has_vectors(const struct bin *b)
{
	return collective_samples(b) > 2;
}

/* Tries the assertions for one number of ranks. */
static int try_size(const struct checked_row *x, uint32_t ranks, struct broken *out)
{
	const unsigned samples = ranks <= FEW_RANKS ? collective_samples(&x->b) : 1;
	int64_t counts[MOST_COUNTS];
	unsigned n = list_counts(x->row, ranks, counts);
	int err = 0;

	if (ranks > FEW_RANKS && n > 2) {
		counts[1] = counts[n - 1];
		n = 2;
	}
	for (unsigned k = 0; k < n * samples && !err && !out->ranks; k++) {
		struct bin_args a = { .size = ranks, .count = counts[k % n], .fuel = FUEL, .most_ops = x->t->most_ops };
		struct arg_rows rows;

		err = arg_rows_init(&rows, &x->b, has_vectors(&x->b) ? ranks : 1);
		err = err ? err : collective_sample(&x->b, a.count, k / n, &rows);
		a.sample = rows.name;
		err = err ? err : try_ranks(x, &a, &rows, out);
		arg_rows_fini(&rows);
	}
	return err;
}

static bool has_assertion(const struct bin *b)
{
	for (uint32_t i = 0; i < b->ncode; i++)
		if (b->code[i].op == BIN_ASSERT)
			return true;
	return false;
}

/* Finds the least number of ranks between `good`, which is tried, and out->ranks, for which an assertion fails, if assertions
 * limit the number of ranks. */
static int narrow(const struct checked_row *x, uint32_t good, struct broken *out)
{
	int err = 0;

	for (uint32_t bad = out->ranks; bad - good > 1 && !err;) {
		uint32_t middle = good + (bad - good) / 2;
		struct broken there = { 0 };

		middle -= x->row->shape == SELECT_EVEN ? middle % 2 : 0;
		if (middle <= good || !select_takes_ranks(x->row, middle))
			break;
		err = try_size(x, middle, &there);
		if (there.ranks)
			*out = there;
		bad = there.ranks ? middle : bad;
		good = there.ranks ? good : middle;
	}
	return err;
}

/* Checks that no call of the row breaks an assertion of its schedule. */
static int check_assertions(struct checked_row *x)
{
	const uint64_t most = has_vectors(&x->b) ? VECTOR_RANKS : MOST_RANKS, last = x->row->ranks.max;
	struct broken found = { 0 };
	uint32_t good = 0;
	int err = 0;

	if (!has_assertion(&x->b))
		return 0;
	for (uint64_t n = x->row->ranks.min ? x->row->ranks.min : 1; n <= most && n <= last && !err && !found.ranks;) {
		if (select_takes_ranks(x->row, n)) {
			err = try_size(x, (uint32_t)n, &found);
			good = found.ranks ? good : (uint32_t)n;
		}
		n = next_ranks(n) > last && n < last ? last : next_ranks(n);
	}
	if (!err && found.ranks > ALL_RANKS)
		err = narrow(x, good, &found);
	if (!err && found.ranks)
		REFUSE(x, "%s is not for all calls of the row: %s%s", x->row->file, found.values, found.text);
	return err;
}

/* ---- users' operations ---- */

/* True if an op of a rank reduces a part of an element that has `per` basic elements. */
static bool cuts_element(const struct ir_rank *r, uint64_t per)
{
	for (uint32_t i = 0; i < r->nops; i++)
		for (unsigned k = 0; bin_reduces(r->ops[i].kind) && k < bin_nranges(r->ops[i].kind); k++)
			if (r->ops[i].off[k] % per || r->ops[i].len % per)
				return true;
	return false;
}

/* Makes the graph of a case, with the passes, and stores whether it cuts elements. A case that cannot be made is for others to
 * report. */
static int try_cut(const struct checked_row *x, uint32_t ranks, int64_t count, uint64_t per, bool *cuts)
{
	struct bin_args a = { .size = ranks, .count = count, .fuel = lower_fuel(ranks), .most_ops = x->t->most_ops };
	struct ir_fault fault = { 0 };
	struct ir_graph g = { 0 };
	struct arg_rows rows;
	int err = arg_rows_init(&rows, &x->b, ranks);

	err = err ? err : collective_sample(&x->b, count, 0, &rows);
	a.args = err ? NULL : rows.by_rank[0];
	a.by_rank = rows.by_rank;
	err = err ? err : ir_graph_specialise(&x->b, &a, &g, &a.rank, &fault);
	if (!err) {
		const struct pass_ctx c = passes_ctx(&x->b, &a);

		err = passes_run_graph(bin_str(&x->b, x->b.meta->passes), &g, &c, NULL);
	}
	for (uint32_t r = 0; r < g.nranks && !err && !*cuts; r++)
		*cuts = cuts_element(&g.ranks[r], per);
	ir_graph_fini(&g);
	arg_rows_fini(&rows);
	return err == -ERR_NOMEM ? err : 0;
}

/* Checks that users' operations, if the row takes them, get whole elements: of 2 and of 3 basic elements. */
static int check_elements(struct checked_row *x)
{
	const struct select_row *row = x->row;
	unsigned sizes = 0;
	int err = 0;

	if (row->op == SELECT_BUILTIN || !collective_reduces(row->collective))
		return 0;
	for (uint64_t n = row->ranks.min ? row->ranks.min : 1; n <= PROVED_RANKS && sizes < 6 && !err && !x->refused; n++) {
		int64_t counts[MOST_COUNTS];
		const unsigned k = list_counts(row, (uint32_t)n, counts);

		if (!select_takes_ranks(row, n))
			continue;
		sizes++;
		for (unsigned i = 0; i < 2 * k && !err && !x->refused; i++) {
			const int64_t per = 2 + i % 2, count = (counts[i / 2] + per - 1) / per * per;
			bool cuts = false;

			err = try_cut(x, (uint32_t)n, count, (uint64_t)per, &cuts);
			if (cuts)
				REFUSE(x, "%s cuts elements of users' operations, and the row takes these: with %" PRIu64
				       " ranks and count %" PRId64 ", of elements of %" PRId64 " parts; the row has to say builtin",
				       row->file, n, count / per, per);
		}
	}
	return err;
}

/* ---- proofs ---- */

static bool is_proved(const struct checked_row *x, const char *schedule, uint32_t ranks)
{
	for (size_t i = 0; i < x->t->proofs.n; i++)
		if (x->t->proofs.at[i].ranks == ranks && !strcmp(x->t->proofs.at[i].schedule, schedule))
			return true;
	for (uint32_t i = 0; i < x->b.nproved; i++)
		if (ranks >= x->b.proved[i].first && ranks <= x->b.proved[i].last)
			return true;
	return false;
}

static int prove_size(struct checked_row *x, const char *schedule, uint32_t ranks)
{
	const struct verify_asked asked = { .first = ranks, .last = ranks, .most_ops = x->t->most_ops, .locs = x->locs.v.at };
	struct checked_proof proof = { .ranks = ranks };
	struct verify_result r = { 0 };
	struct text t = { 0 };
	int err;

	if (is_proved(x, schedule, ranks))
		return 0;
	err = verify_cases(x->d, &x->b, &asked, &r);
	verify_result_fini(&r);
	if (err && err != -ERR_NOMEM)
		refuse_schedule(x, "it is not proved what the schedule does: ");
	if (err)
		return err == -ERR_NOMEM ? err : 0;
	text_add(&t, "%s", schedule);
	err = text_take(&t, &proof.schedule);
	if (!err && VEC_PUSH(&x->t->proofs, proof)) {
		free(proof.schedule);
		err = -ERR_NOMEM;
	}
	return err;
}

/* Returns the words of a row after the arrow, which say how the schedule is compiled. */
static const char *schedule_words(const struct select_row *row)
{
	const char *arrow = memmem(row->text, row->len, "->", 2);

	return arrow + 2 + strspn(arrow + 2, " \t");
}

/* Proves the schedule for numbers of ranks that the row takes: those that the user asks for, or the usual ones, or else the
 * least. */
static int check_proofs(struct checked_row *x)
{
	static const uint32_t usual[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17 };
	const struct option_range *sizes = &x->t->sizes;
	const char *words = schedule_words(x->row);
	struct text t = { 0 };
	char *schedule;
	bool any = false;
	int err;

	text_add(&t, "%.*s", (int)(x->row->text + x->row->len - words), words);
	err = text_take(&t, &schedule);
	for (int64_t n = sizes->first; n && n <= sizes->last && !err && !x->refused; n++)
		if (select_takes_ranks(x->row, (uint64_t)n))
			err = prove_size(x, schedule, (uint32_t)n);
	for (size_t i = 0; i < sizeof usual / sizeof *usual && !sizes->first && !err && !x->refused; i++)
		if (select_takes_ranks(x->row, usual[i])) {
			err = prove_size(x, schedule, usual[i]);
			any = true;
		}
	for (uint64_t n = x->row->ranks.min; n <= PROVED_RANKS && !sizes->first && !any && !err && !x->refused; n++)
		if (select_takes_ranks(x->row, n)) {
			err = prove_size(x, schedule, (uint32_t)n);
			any = true;
		}
	free(schedule);
	return err;
}

int check_row(struct check_table *t, const struct select_row *row)
{
	static int (*const steps[])(struct checked_row *) = { check_fit, check_assertions, check_elements, check_proofs };
	struct checked_row x = { .t = t, .row = row };
	int err = load_schedule(&x);

	for (size_t i = 0; i < sizeof steps / sizeof *steps && !err && !x.refused; i++)
		err = steps[i](&x);
	if (err && !x.refused && err != -ERR_NOMEM)
		REFUSE(&x, "%s: %s", row->file, err_text(err));
	claim_close(&x.claim);
	VEC_FREE(&x.locs.v);
	free(x.image);
	goal_diags_free(x.d);
	free(x.text);
	free(x.path);
	return err == -ERR_NOMEM ? err : 0;
}
