/* SPDX-License-Identifier: BSD-3-Clause
 * mutants [-v] [-n RANKS] [-m MOST] [-s SEEDS] FILE...: changes schedules in one place each, executes the mutants, and
 * compares what happens with what the verifier says of them.
 *
 * Prints a row for each schedule; -v: also what is rejected though no execution fails. Exit status 1: the verifier accepted a mutant that fails, or rejected a schedule
 * that means the same as the right one. */
#include "compiler/verify/verify.h"
#include "tests/mutants/load.h"
#include "tests/mutants/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	uint32_t ranks;
	size_t most; /* mutants of a schedule, of all that it is called with together */
	uint64_t seeds; /* of a mutant that the verifier accepts */
	bool verbose;
};

/* Of a mutant that the verifier rejects: all that it tells is whether the fault can be seen. */
#define SEEDS_REJECTED 100u

/* What a schedule is called with. */
struct call {
	unsigned which; /* sample of arguments */
	int64_t root;
	size_t most; /* mutants */
};

struct tally {
	unsigned calls, mutants, wrong, rejected, unseen, same, accepted;
	unsigned faults; /* of the verifier */
	uint64_t runs;
};

/* What the verifier says of a graph; *why is the caller's to free. */
static int ask(const struct subject *s, const struct sized *z, const struct ir_graph *g, bool *accepts, char **why)
{
	struct goal_diags *d = goal_diags_new();
	struct verify_report report;
	int err = d ? verify_graph(d, &s->bin, g, z->claim.any ? z->wants : NULL, &report) : -ERR_NOMEM;

	*why = NULL;
	*accepts = !err && report.proved;
	if (!err && !report.proved)
		*why = strdup(goal_diags_text(d));
	goal_diags_free(d);
	return err;
}

static void fault(struct tally *t, const char *what, const char *of, const struct options *o, struct call call,
		  const char *detail)
{
	t->faults++;
	printf("# %u ranks, sample %u, root %lld: %s: %s: %s\n", o->ranks, call.which, (long long)call.root, of, what,
	       detail);
}

/* The first seed with which a graph fails, or seeds. */
static uint64_t execute(const struct sized *z, const struct ir_graph *g, uint64_t seeds, enum exec_end *end,
			uint32_t *rank, struct tally *t)
{
	struct exec *x = exec_new(z->world, g);
	uint64_t seed = 0;

	for (*end = EXEC_RIGHT; x && seed < seeds; seed++) {
		t->runs++;
		*end = exec_run(x, seed, rank);
		if (*end != EXEC_RIGHT)
			break;
	}
	exec_free(x);
	if (!x)
		abort();
	return seed;
}

/* One mutant; m NULL: the schedule itself. */
static int try(const struct options *o, const struct subject *s, const struct sized *z, struct call call,
	       const struct mutation *m, struct tally *t)
{
	struct ir_graph g;
	char text[160] = "unchanged", seen[120], *why;
	enum exec_end end;
	uint32_t rank = 0;
	bool same = !m || m->kind >= MUTATION_SAME, ok;
	uint64_t seed;
	int err = mutant_init(&g, &z->graph, m);

	if (err)
		return err;
	if (m)
		mutation_text(text, sizeof text, &z->graph, m);
	err = ask(s, z, &g, &ok, &why);
	if (err)
		goto out;
	seed = execute(z, &g, ok && (!same || !m) ? o->seeds : SEEDS_REJECTED, &end, &rank, t);
	snprintf(seen, sizeof seen, "%s at rank %u with seed %llu", exec_end_words[end], rank,
		 (unsigned long long)seed);
	if (m) {
		t->mutants += !same;
		t->wrong += !same && end != EXEC_RIGHT;
		t->rejected += !same && !ok;
		t->unseen += !same && !ok && end == EXEC_RIGHT;
		t->same += same;
		t->accepted += same && ok;
	}
	if (ok && end != EXEC_RIGHT)
		fault(t, "accepted, but", text, o, call, seen);
	else if (same && end != EXEC_RIGHT)
		fault(t, "should be right, but", text, o, call, seen);
	if (o->verbose && m && !same && !ok && end == EXEC_RIGHT)
		printf("# unseen: %s: %s", text, why ? why : "\n");
	/* Without a race there is one result only. */
	if (!ok && end == EXEC_RIGHT && !verify_is_barrier(&s->bin) && why && strstr(why, "[result]"))
		fault(t, "its result is rejected, but right", text, o, call, why);
	if (same && !ok)
		fault(t, "rejected, but right", text, o, call, why ? why : "");
out:
	free(why);
	mutant_fini(&g);
	return err;
}

static int all_mutants(const struct options *o, const struct subject *s, struct call call, struct tally *t)
{
	/* Blocks of this count are uneven, and none is empty. */
	const int64_t count = o->ranks + o->ranks / 2;
	struct mutations all = { 0 };
	struct sized z;
	int err = sized_open(&z, s, o->ranks, count, call.which, call.root);

	if (err)
		return err == -ERR_ASSERT ? 0 : err;
	t->calls++;
	err = mutations_of(&z.graph, &all);
	err = err ? err : mutations_draw(&all, call.most, o->ranks + call.which + (uint64_t)call.root);
	err = err ? err : try(o, s, &z, call, NULL, t);
	for (size_t i = 0; i < all.v.n && !err; i++)
		err = try(o, s, &z, call, &all.v.at[i], t);
	VEC_FREE(&all.v);
	sized_close(&z);
	return err;
}

static int one_file(const struct options *o, const char *file, struct tally *t)
{
	struct subject s;
	int err = subject_open(&s, file, 0);
	int64_t roots[] = { 0, o->ranks / 2 + 1 };
	unsigned nroots = err || s.bin.meta->root == BIN_NONE ? 1 : 2;
	unsigned samples = err ? 0 : collective_samples(&s.bin), calls = nroots * samples;

	for (unsigned i = 0; i < calls && !err; i++)
		err = all_mutants(o, &s, (struct call){ i / nroots, roots[i % nroots], (o->most + calls - 1) / calls }, t);
	if (err && s.diags)
		fputs(goal_diags_text(s.diags), stdout);
	subject_close(&s);
	return err;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	struct options o = { .ranks = 5, .most = SIZE_MAX, .seeds = 1000 };
	bool bad = false;
	int c;

	while ((c = getopt(argc, argv, "vn:m:s:")) != -1)
		switch (c) {
		case 'v':
			o.verbose = true;
			break;
		case 'n':
			o.ranks = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			o.most = strtoul(optarg, NULL, 10);
			break;
		case 's':
			o.seeds = strtoul(optarg, NULL, 10);
			break;
		default:
			return 2;
		}
	if (optind == argc || !o.ranks)
		return 2;
	for (; optind < argc; optind++) {
		struct tally t = { 0 };
		int err = one_file(&o, argv[optind], &t);

		printf("%-40s %2u %6u %6u %6u %6u %6u %6u %8llu\n", base_name(argv[optind]), o.ranks, t.mutants, t.wrong,
		       t.rejected, t.unseen, t.same, t.accepted, (unsigned long long)t.runs);
		if (err)
			printf("# %s: %s\n", argv[optind], err_text(-err));
		bad |= err || t.faults;
	}
	return bad;
}
