/* SPDX-License-Identifier: BSD-3-Clause
 * queues [-v] [-n RANKS] [-m MUTANTS] [-s SEEDS] [-T PASSES] [-p DIR] FILE...: lowers schedules to command queues and
 * carries them out in random orders; then changes what is posted in one place and compares what happens with what the
 * verifier says.
 *
 * Prints a row for each schedule. Exit status 1: an execution of a lowered schedule fails, the verifier rejects one, or
 * it accepts a mutant that fails. -v: also names what it rejects though no execution has failed.
 *
 * -p: nothing is executed, but written as a model for spin, a file in DIR each, with a line that says what it is and what
 * the verifier says of it. */
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "compiler/print/print_promela.h"
#include "compiler/queues/verify_queues.h"
#include "compiler/verify/verify_parts.h"
#include "tests/mutants/load.h"
#include "tests/queues/exec.h"
#include "tests/queues/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	uint32_t ranks;
	unsigned mutants;
	uint64_t seeds;
	const char *passes, *models;
	bool verbose;
};

/* One schedule, lowered, with what its ops mean. */
struct lowered {
	struct sized sized;
	struct ir_match *m;
	size_t nm;
	struct ir_events ev;
	struct terms *terms;
	struct symbolic run;
	bool *waits;
	struct scene *scene;
};

struct tally {
	unsigned cases, mutants, wrong, rejected, unseen, unseen_of[MUTATIONS], faults;
	uint64_t runs;
};

static int relations(struct lowered *l)
{
	const uint32_t n = l->sized.graph.nranks;
	struct ir_query *q = calloc((size_t)n * n, sizeof *q);
	int err;

	l->waits = calloc((size_t)n * n, 1);
	if (!q || !l->waits)
		abort();
	for (uint32_t i = 0; i < n * n; i++)
		q[i] = (struct ir_query){ { ir_rank_event(&l->ev, i / n, false), IR_NO_EVENT },
					  { ir_rank_event(&l->ev, i % n, true), IR_NO_EVENT },
					  false };
	err = ir_events_reach(&l->ev, q, (size_t)n * n);
	for (uint32_t i = 0; i < n * n; i++)
		l->waits[i] = q[i].yes;
	free(q);
	return err;
}

static int lowered_open(struct lowered *l, const struct subject *s, const struct options *o, int64_t count, unsigned which)
{
	struct ir_graph *g = &l->sized.graph;
	const char *failed;
	int err;

	*l = (struct lowered){ 0 };
	err = sized_open(&l->sized, s, o->ranks, count, which, (o->ranks - 1) / 2);
	if (err)
		return err;
	const struct pass_ctx c = { .size = o->ranks, .buffers = s->bin.buffers, .nbuffers = s->bin.nbuffers };

	err = passes_run_graph(o->passes, g, &c, &failed);
	if (err) {
		printf("# the pass %s cannot be applied: %s\n", failed, g->refused.text);
		return err;
	}
	l->terms = terms_new(g->nranks, g->nbuffers, false, 0);
	err = l->terms ? ir_graph_match(g, &l->m, &l->nm) : -ERR_NOMEM;
	err = err ? err : ir_events_init(&l->ev, g, l->m, l->nm, false);
	err = err ? err : ir_events_sort(&l->ev);
	err = err ? err : symbolic_run(&l->run, g, &l->ev, l->terms, true);
	err = err ? err : relations(l);
	if (!err)
		l->scene = scene_new(g, &l->ev, l->waits);
	return err;
}

static void lowered_close(struct lowered *l)
{
	if (l->scene)
		scene_free(l->scene);
	symbolic_fini(&l->run);
	ir_events_fini(&l->ev);
	terms_free(l->terms);
	free(l->m);
	free(l->waits);
	sized_close(&l->sized);
}

/* What the verifier says; *why is the caller's to free, NULL when it accepts. */
static char *ask(const struct lowered *l, const struct smcq *s)
{
	struct goal_diags *d = goal_diags_new();
	char *why = NULL;
	bool partly;

	if (!d || goal_diags_source(d, "schedule", NULL, 0) < 0 || verify_queues(d, &l->run, s, 0, &partly))
		abort();
	if (goal_diags_errors(d))
		why = strdup(goal_diags_text(d));
	goal_diags_free(d);
	return why;
}

static enum outcome once(const struct lowered *l, const struct smcq *s, struct order o, struct order *seen,
			  struct tally *t)
{
	t->runs++;
	*seen = o;
	return carry_out(l->scene, s, &o);
}

/* Random orders, and those in which one thing of the first or the second epoch is as late as it can be: the first that
 * fails. */
static enum outcome execute(const struct lowered *l, const struct smcq *s, uint64_t seeds, struct order *seen,
			    struct tally *t)
{
	enum outcome end = OUT_RIGHT;

	for (uint64_t i = 0; i < seeds && end == OUT_RIGHT; i++)
		end = once(l, s, (struct order){ .seed = i }, seen, t);
	for (uint32_t r = 0; r < s->nranks; r++) {
		for (uint32_t e = 0; e < s->ranks[r].entries.n && end == OUT_RIGHT; e++)
			if (s->ranks[r].entries.at[e].kind != BIN_E_NOP)
				end = once(l, s, (struct order){ e, LATE_ARRIVAL, r, e, (r + e) % 2 }, seen, t);
		for (enum late late = LATE_START; late <= LATE_DONE && end == OUT_RIGHT; late++)
			end = once(l, s, (struct order){ r, late, r, 0, (r + late) % 2 }, seen, t);
	}
	return end;
}

static void tell(const char *file, const struct options *o, const char *what, enum outcome end, const struct order *x,
		 const char *why)
{
	printf("# %s, %u ranks, %s: %s: execution %s (seed %llu, late %d: rank %u entry %u epoch %u); verifier: %s\n", file,
	       o->ranks, o->passes, what, outcome_words[end], (unsigned long long)x->seed, x->late, x->rank, x->entry, x->epoch,
	       why ? why : "accepted");
}

/* In a line: the file, the kind of mutant, what the verifier says, and what the mutant is. */
static void write_model(const char *file, const struct options *o, struct lowered *l, struct smcq *s, const char *kind,
			const char *what)
{
	static unsigned number; /* of models of this run */
	struct smcq *const own = l->sized.graph.queues;
	const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	char *why = ask(l, s), *text, path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%.*s.%u.%u.pml", o->models, (int)strcspn(name, "."), name, o->ranks, number++);
	l->sized.graph.queues = s;
	if (print_promela(&l->sized.graph, &text))
		abort();
	l->sized.graph.queues = own;
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
	printf("%s\t%s\t%s\t%s\t%.*s\n", path, kind, why ? "rejected" : "accepted", what,
	       why ? (int)strcspn(why, "\n") : 1, why ? why : "-");
	free(text);
	free(why);
}

static void try_mutant(const char *file, const struct options *o, struct lowered *l, uint64_t seed, enum mutation kind,
		       struct tally *t)
{
	struct smcq *s = mutant_copy(l->sized.graph.queues);
	struct order seen;
	char what[200], *why;
	enum outcome end;

	if (!mutate(s, &l->sized.graph, kind, seed, what, sizeof what)) {
		smcq_free(s);
		return;
	}
	if (o->models) {
		write_model(file, o, l, s, mutation_words[kind], what);
	} else {
		why = ask(l, s);
		end = execute(l, s, o->seeds, &seen, t);
		t->mutants++;
		t->wrong += end != OUT_RIGHT;
		t->rejected += why != NULL;
		if (why && end == OUT_RIGHT) {
			t->unseen++;
			t->unseen_of[kind]++;
			if (o->verbose)
				tell(file, o, what, end, &seen, why);
		}
		if (!why && end != OUT_RIGHT) {
			t->faults++;
			tell(file, o, what, end, &seen, why);
		}
		free(why);
	}
	smcq_free(s);
}

static void try_one(const char *file, const struct options *o, struct lowered *l, unsigned mutants, struct tally *t)
{
	struct smcq *const s = l->sized.graph.queues;
	unsigned first = o->ranks + t->cases++; /* kind, so that few mutants of many schedules are of all kinds */

	if (o->models) {
		write_model(file, o, l, s, "-", "unchanged");
	} else {
		struct order seen;
		char *why = ask(l, s);
		enum outcome end = execute(l, s, 4 * o->seeds, &seen, t);

		if (why || end != OUT_RIGHT) {
			t->faults++;
			tell(file, o, "unchanged", end, &seen, why);
		}
		free(why);
	}
	for (const char *p = file; *p; p++)
		first += (unsigned char)*p;
	for (uint64_t seed = 0; seed < mutants; seed++)
		try_mutant(file, o, l, seed, (enum mutation)((first + seed) % MUTATIONS), t);
}

static int try_file(const char *file, const struct options *o, struct tally *all)
{
	static const int64_t counts[] = { 3, 0 };
	struct tally t = { 0 };
	struct subject s;
	int err = subject_open(&s, file, 0);

	if (err)
		printf("# %s: %s", file, s.diags ? goal_diags_text(s.diags) : "out of memory\n");
	for (unsigned which = 0; !err && which < collective_samples(&s.bin); which++)
		for (size_t c = 0; c < 2 && !err; c++) {
			struct lowered l;
			int rc = lowered_open(&l, &s, o, counts[c], which);

			if (!rc)
				try_one(file, o, &l, which ? o->mutants / 4 : c ? o->mutants / 8 : o->mutants, &t);
			else if (rc != -ERR_ASSERT)
				err = rc;
			lowered_close(&l);
		}
	subject_close(&s);
	if (!err && t.cases && !o->models)
		printf("%-40s %5u %7u %7u %7u %7u %9llu\n", file, o->ranks, t.mutants, t.wrong, t.rejected, t.unseen,
		       (unsigned long long)t.runs);
	for (unsigned i = 0; i < MUTATIONS; i++)
		all->unseen_of[i] += t.unseen_of[i];
	return err || t.faults;
}

int main(int argc, char **argv)
{
	struct options o = { .ranks = 4, .mutants = 40, .seeds = 20, .passes = "lower-smcq:assist=1" };
	struct tally all = { 0 };
	int c, rc = 0;

	while ((c = getopt(argc, argv, "vn:m:s:T:p:")) != -1)
		if (c == 'v')
			o.verbose = true;
		else if (c == 'n')
			o.ranks = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'm')
			o.mutants = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 's')
			o.seeds = strtoull(optarg, NULL, 10);
		else if (c == 'T')
			o.passes = optarg;
		else if (c == 'p')
			o.models = optarg;
		else
			return 2;
	for (; optind < argc; optind++)
		rc |= try_file(argv[optind], &o, &all);
	for (unsigned i = 0; i < MUTATIONS; i++)
		if (all.unseen_of[i])
			printf("# rejected, and no execution failed: %u of %s\n", all.unseen_of[i], mutation_words[i]);
	return rc != 0;
}
