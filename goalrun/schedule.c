/* SPDX-License-Identifier: BSD-3-Clause
 * Prepares the schedule that goalrun runs: chooses it, lowers it, sets its arguments, and checks whether it can run. */
#include "compiler/collectives/names.h"
#include "compiler/lower/lower.h"
#include "compiler/origin.h"
#include "compiler/passes/passes.h"
#include "compiler/queues/armw.h"
#include "compiler/verify/verify.h"
#include "format/check.h"
#include "goalrun/goalrun.h"
#include "runtime/placement/cpus.h"
#include "runtime/kernels/kernels.h"
#include "runtime/sched.h"
#include "util/env.h"
#include "util/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the errors found in the schedule. */
int run_report_diags(const struct goalrun *g, int err)
{
	fputs(goal_diags_text(g->diags), stderr);
	return err == -ERR_NOMEM ? no_memory() : EXIT_FAULT;
}

/* Returns what the ranks of the run will share. They run on CPUs on which goalrun may run. */
static enum select_sharing find_sharing(const struct run_options *o)
{
	if (o->hosts || run_lowers(o))
		return SELECT_SHARE_NOTHING;
	return !rt_spins(o->nranks) ? SELECT_SHARE_CORE : rt_cpus_shared_here() ? SELECT_SHARE_CACHE : SELECT_SHARE_NODE;
}

/* Finds the schedule that --select chooses for the first count. Counts that have other rows are left for later runs. */
static int choose_schedule(struct goalrun *g)
{
	struct run_options *o = &g->o;
	struct select_call call = { .collective = g->collective, .ranks = o->nranks, .topology = g->topology,
				    .reproducible = !g->tune && select_asks(g->collective), .sharing = find_sharing(o) };
	struct run_chosen chosen;
	bool found;
	size_t size = rt_basic_size(g->types.n ? (enum MPIX_Sched_basic)g->types.at[0] : MPIX_SCHED_DOUBLE);

	if (!collective_known(g->collective)) {
		struct nearest n = collective_nearest(g->collective);

		return usage("there is no collective %s%s", g->collective, nearest_choices(&n));
	}
	if (!o->nranks)
		return usage("--select needs the number of ranks: -n");
	if (g->types.n > 1 || g->ops.n > 1)
		return usage("--select takes one type and one operation");
	for (size_t i = 0; i < o->defines.v.n; i++)
		if (!g->counts.n && !strcmp(o->defines.v.at[i].name, "count") && o->defines.v.at[i].n == 1 &&
		    VEC_PUSH(&g->counts, o->defines.v.at[i].value[0]))
			return no_memory();
	if (!g->counts.n && VEC_PUSH(&g->counts, DEFAULT_COUNT))
		return no_memory();
	call.op = g->ops.n && g->ops.at[0] == RUN_USER ? SELECT_ANY_OP : SELECT_BUILTIN;
	found = run_choose(o, call, g->counts.at, run_lowers(o) ? 1 : g->counts.n, size, g->table, &chosen);
	g->input = g->selected = chosen.path;
	g->row = chosen.row;
	g->later = found ? g->counts.n - chosen.served : 0;
	g->counts.n = found ? chosen.served : g->counts.n;
	if (found && g->later && o->trace)
		return usage("--trace takes one schedule: the table has another one for the count %" PRId64, g->counts.at[g->counts.n]);
	return found ? 0 : EXIT_FAULT;
}

/* Lists the samples that --sample names, or the first sample if it is not given. */
static int choose_samples(struct goalrun *g)
{
	const unsigned n = g->o.plain ? 1 : collective_samples(&g->bin);
	const bool all = g->sample && !strcmp(g->sample, "all");
	char *save = NULL, name[32];
	int err = 0;

	for (unsigned i = 0; i < (all ? n : g->sample ? 0 : 1) && !err; i++)
		err = VEC_PUSH(&g->samples, i);
	for (char *p = all || !g->sample ? NULL : strtok_r(g->sample, ",", &save); p && !err; p = strtok_r(NULL, ",", &save)) {
		struct nearest names = { .word = p };
		unsigned i = 0;

		for (; i < n; i++) {
			collective_sample_name(&g->bin, i, name, sizeof name);
			if (*name && !strcmp(name, p))
				break;
			if (*name)
				nearest_name(&names, name);
		}
		if (i == n) {
			fprintf(stderr, "goalrun: the schedule has no sample of arguments called %s%s\n", p,
				names.len ? nearest_choices(&names) : "");
			return EXIT_FAULT;
		}
		err = VEC_PUSH(&g->samples, i);
	}
	return err ? no_memory() : 0;
}

/* True if the schedule has an op that reduces. */
static bool reduces_any(const struct bin *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->ntmpls; i++)
		any |= strchr(bin_operands(b->tmpls[i].kind), 'U') != NULL;
	for (uint32_t i = 0; i < b->nclasses; i++)
		any |= strchr(bin_operands(b->classes[i].kind), 'U') != NULL;
	return any;
}

/* Returns the count that a text is lowered for. */
static int64_t only_count(const struct goalrun *g)
{
	const struct defines *d = &g->o.defines;

	for (size_t i = 0; i < d->v.n; i++)
		if (!strcmp(d->v.at[i].name, "count") && d->v.at[i].n == 1)
			return d->v.at[i].value[0];
	return g->counts.n ? g->counts.at[0] : DEFAULT_COUNT;
}

/* Moves the values that the text was lowered with to o->lowered, because they are not parameters of the lowered
 * schedule. */
static int forget_defines(struct run_options *o)
{
	for (size_t i = 0; i < o->defines.v.n;) {
		const struct define d = o->defines.v.at[i];

		if (!strcmp(d.name, "count") || !strcmp(d.name, "root")) {
			i++;
			continue;
		}
		if (VEC_PUSH(&o->lowered.v, d))
			return -ERR_NOMEM;
		o->defines.v.at[i] = o->defines.v.at[--o->defines.v.n];
	}
	return 0;
}

/* Adds the lowering pass. If there is one operation and one type, and an interface can reduce them, the pass gets their
 * names. */
static int add_lowering(struct goalrun *g)
{
	const enum MPIX_Sched_builtin op = g->ops.n ? (enum MPIX_Sched_builtin)g->ops.at[0] : MPIX_SCHED_SUM;
	const enum MPIX_Sched_basic type = g->types.n ? (enum MPIX_Sched_basic)g->types.at[0] : MPIX_SCHED_DOUBLE;
	char pass[96] = "lower-smcq";

	if (reduces_any(&g->bin) && g->ops.n <= 1 && g->types.n <= 1 && (unsigned)op < MPIX_SCHED_BUILTINS &&
	    armw_of(op, type, NULL, 0))
		snprintf(pass, sizeof pass, "lower-smcq:op=%s,type=%s", run_op_names[op], run_type_names[type]);
	return run_add_pass(g, pass);
}

/* Lowers the text, and replaces o->image by the result. */
static int lower_text(struct goalrun *g, const char *text, size_t len)
{
	struct run_options *o = &g->o;
	struct run_lowering l = { .bin = &g->bin, .text = text, .len = len, .count = only_count(g) };
	void *plain = o->image;
	int err;

	if (!o->nranks)
		return usage("the number of ranks is missing: -n");
	if (g->counts.n > 1)
		return usage("--backend smcq takes one count: queues are made for one");
	err = choose_samples(g);
	if (err)
		return err;
	if (g->samples.n > 1)
		return usage("--backend smcq takes one sample: queues are made for one");
	if ((!o->passes || !strstr(o->passes, "lower-smcq")) && (err = add_lowering(g)))
		return err;
	l.passes = o->passes;
	l.sample = (unsigned)g->samples.at[0];
	o->image = NULL;
	err = run_lower(g->diags, o, &l, &o->image, &o->size);
	free(plain);
	err = err ? err : forget_defines(o);
	o->sample = g->sample;
	g->sample = NULL;
	g->samples.n = 0;
	return err ? run_report_diags(g, err) : 0;
}

/* Numbers the NUMA nodes of the ranks. A node is a run of successive ranks on one NUMA node. */
static int numa_nodes(const struct run_options *o, uint32_t *node)
{
	struct run_pinning w = { 0 };
	int rc = run_place_ranks(o, &w);
	const uint32_t *core = w.placement.core;

	if (rc)
		return rc;
	node[0] = 0;
	for (uint32_t r = 1; r < o->nranks; r++)
		node[r] = node[r - 1] + (w.topology.cores[core[r]].numa != w.topology.cores[core[r - 1]].numa);
	run_unplace_ranks(&w);
	return EXIT_OK;
}

/* Completes a pass that needs the nodes of ranks: with their hosts, or else with the NUMA nodes on which they are placed. */
static int find_nodes(struct goalrun *g)
{
	struct run_options *o = &g->o;
	const char *pass = o->passes ? passes_open(o->passes) : NULL;
	uint32_t *node, apart;
	char *all = NULL;
	int rc = EXIT_OK;

	if (!pass)
		return EXIT_OK;
	if (!o->nranks)
		return usage("-T %s needs the number of ranks: -n", pass);
	if (!o->hosts && !run_pins(o))
		return usage("-T %s needs nodes: --hosts, or --placement for NUMA nodes, or -T %s:ranks=N", pass, pass);
	node = mem_calloc(o->nranks, sizeof *node);
	if (!node)
		return no_memory();
	if (o->hosts)
		hosts_nodes(o->hosts, o->nranks, node);
	else
		rc = numa_nodes(o, node);
	if (!rc && passes_close(o->passes, node, o->nranks, &apart, &all))
		rc = no_memory();
	free(node);
	if (rc)
		return rc;
	free(o->passes);
	o->passes = all;
	return EXIT_OK;
}

static int load_text(struct goalrun *g, const char *data, size_t len)
{
	struct run_options *o = &g->o;
	const bool queues = run_lowers(o);
	const char *global = o->passes && !queues ? passes_global(o->passes) : NULL;
	const bool plain = goal_text_is_plain(&(struct file){ -1, (void *)(uintptr_t)data, len });
	struct compile_options c = { .debug = true };
	int err = find_nodes(g);

	if (err)
		return err;
	c.passes = queues ? NULL : o->passes;
	if (!plain && o->nranks) {
		c.nranks = o->nranks;
		c.parametric = true;
		c.count = only_count(g);
		c.defines = o->defines.v.at;
		c.ndefines = o->defines.v.n;
	}
	if (global && !plain)
		return usage("-T %s needs the ops of all ranks: make a binary of them with goalc -n", global);
	err = compile_text(g->diags, option_source(g->input), data, len, &c, &o->image, &o->size);
	err = err || !queues ? err : bin_open(&g->bin, o->image, o->size);
	return err ? run_report_diags(g, err) : queues ? lower_text(g, data, len) : 0;
}

static int load_binary(struct goalrun *g, char *data, size_t len)
{
	struct run_options *o = &g->o;
	int err;

	o->image = data;
	o->size = len;
	if (o->passes && !g->sent) /* an agent's schedule has been through the passes already */
		return usage("-T works on a schedule's text: give it to goalc for this binary");
	err = bin_check(data, len);
	if (err)
		goal_diag(g->diags, GOAL_ERROR, (struct goal_loc){ 0 }, NULL, "%s", err_text(err));
	return err ? run_report_diags(g, err) : 0;
}

static int load_schedule(struct goalrun *g)
{
	struct run_options *o = &g->o;
	const char *name = option_source(g->input);
	char *data = NULL;
	size_t len;
	int err;

	if (g->sent) {
		data = mem_alloc(g->sent->size + 1);
		len = g->sent->size;
		if (data) {
			memcpy(data, g->sent->image, len);
			data[len] = '\0';
		}
		err = data ? 0 : -ERR_NOMEM;
	} else {
		struct file f;

		err = option_open(g->input, &f);
		err = err ? err : file_load(&f);
		data = f.data;
		len = f.len;
	}
	if (err == -ERR_NOMEM)
		return no_memory();
	if (err) {
		fprintf(stderr, "goalrun: %s: %s\n", name, file_why(errno));
		return EXIT_FAULT;
	}
	g->diags = goal_diags_new();
	if (!g->diags || goal_diags_source(g->diags, name, NULL, 0) < 0) {
		free(data);
		return no_memory();
	}
	o->name = name;
	o->input = g->input;
	if (len && (unsigned char)data[0] == 0x89) {
		err = load_binary(g, data, len);
	} else {
		err = load_text(g, data, len);
		free(data);
	}
	if (err)
		return err;
	err = bin_open(&g->bin, o->image, o->size);
	if (err)
		return run_report_diags(g, err);
	if (!o->nranks)
		o->nranks = g->bin.meta->nranks;
	if (!o->nranks)
		return usage("the schedule is parametric: give the number of ranks with -n");
	if (g->bin.meta->nranks && g->bin.meta->nranks != o->nranks) {
		fprintf(stderr, "goalrun: %s is for %u ranks, not for %u\n", name, g->bin.meta->nranks, o->nranks);
		return EXIT_FAULT;
	}
	return 0;
}

/* True if the operation is defined for the type. Any type may have no operation, or goalrun's own. */
static bool op_is_defined(int64_t type, int64_t op)
{
	return op == MPIX_SCHED_NO_OP || op == RUN_USER || rt_kernels_base.of[type][op];
}

/* Takes the lowest digit off *rest, and returns the element of the list with that number. The digits of *rest have the
 * lengths of the lists as their bases. */
static int64_t value_of(const struct list *l, size_t *rest)
{
	int64_t v = l->at[*rest % l->n];

	*rest /= l->n;
	return v;
}

/* Adds every combination as a case. Types that do not have the operation are left out, unless no other combination
 * remains. */
static int add_cases(struct goalrun *g)
{
	VEC(struct run_case) v = { 0 };
	bool any = false;
	int err = 0;

	for (size_t t = 0; t < g->types.n; t++)
		for (size_t k = 0; k < g->ops.n; k++)
			any |= op_is_defined(g->types.at[t], g->ops.at[k]);
	const size_t all = g->samples.n * g->memories.n * g->types.n * g->ops.n * g->roots.n * g->counts.n;

	for (size_t i = 0; i < all && !err; i++) {
		size_t rest = i;
		struct run_case c = { .count = value_of(&g->counts, &rest), .root = value_of(&g->roots, &rest) };

		c.op = (unsigned)value_of(&g->ops, &rest);
		c.type = (enum MPIX_Sched_basic)value_of(&g->types, &rest);
		c.memory = (enum run_memory)value_of(&g->memories, &rest);
		c.sample = (unsigned)value_of(&g->samples, &rest);
		if (!any || op_is_defined(c.type, c.op))
			err = VEC_PUSH(&v, c);
	}
	g->o.cases = v.at;
	g->o.ncases = v.n;
	if (!err && g->o.pairs) {
		g->o.ncases = sweep_pairs(v.at, v.n);
		err = !g->o.ncases;
	}
	return err ? run_fault("%s", "out of memory: fewer combinations") : 0;
}

static int set_defaults(struct goalrun *g)
{
	struct run_options *o = &g->o;
	struct ir_fault why;
	int err;

	o->plain = g->bin.meta->flags & BIN_F_PLAIN;
	err = claim_open(&g->claim, &g->bin, &why);
	if (err)
		return run_fault("%s", err == -ERR_CLAIM ? why.text : err_text(err));
	o->claim = &g->claim;
	o->barrier = verify_is_barrier(&g->bin);
	err = choose_samples(g);
	if (err)
		return err;
	o->has_root = g->bin.meta->root != BIN_NONE;
	for (size_t i = 0; i < o->defines.v.n;) { /* count and root are set like --count and --root */
		struct define *d = &o->defines.v.at[i];
		bool count = !strcmp(d->name, "count"), root = !strcmp(d->name, "root");

		if ((!count && !root) || d->n != 1 || d->rank >= 0) {
			i++;
			continue;
		}
		if (count) {
			g->counts.n = 0;
			err |= VEC_PUSH(&g->counts, d->value[0]);
		} else {
			g->roots.n = 0;
			err |= VEC_PUSH(&g->roots, d->value[0]);
		}
		define_drop(d);
		*d = o->defines.v.at[--o->defines.v.n];
	}
	if (!g->counts.n)
		err |= VEC_PUSH(&g->counts, g->bin.meta->count >= 0 ? g->bin.meta->count : DEFAULT_COUNT);
	if (!g->types.n)
		err |= VEC_PUSH(&g->types, MPIX_SCHED_DOUBLE);
	if (!g->memories.n)
		err |= VEC_PUSH(&g->memories, RUN_HEAP);
	if ((g->roots.n || g->all_roots) && !o->has_root)
		return run_fault("%s has no root", o->name);
	if (g->all_roots)
		for (uint32_t r = 0; r < o->nranks; r++)
			err |= VEC_PUSH(&g->roots, r);
	else if (!g->roots.n)
		err |= VEC_PUSH(&g->roots, o->has_root ? g->bin.params[g->bin.meta->root].value : -1);
	if (o->plain || (o->claim->any && !reduces_any(&g->bin))) {
		g->ops.n = 0;
		err |= VEC_PUSH(&g->ops, MPIX_SCHED_NO_OP);
	} else if (!g->ops.n) {
		err |= VEC_PUSH(&g->ops, MPIX_SCHED_SUM);
	}
	if (is_dataless(o)) { /* only the memory kind is left to choose */
		g->counts.n = g->types.n = 1;
		g->types.at[0] = MPIX_SCHED_BYTE;
	}
	if (o->plain)
		g->counts.at[0] = 1;
	return err ? no_memory() : add_cases(g);
}

/* Refuses messages with wildcards. */
static int check_wildcards(struct goalrun *g, const struct ir_graph *graph)
{
	int err = 0;

	for (uint32_t r = 0; r < graph->nranks; r++)
		for (uint32_t i = 0; i < graph->ranks[r].nops; i++) {
			const struct bin_op *op = &graph->ranks[r].ops[i];

			if ((op->kind == BIN_OP_SEND || op->kind == BIN_OP_RECV) &&
			    (op->peer == BIN_ANY || op->tag == BIN_ANY)) {
				goal_diag(g->diags, GOAL_ERROR, ir_graph_loc(graph, op), NULL,
					  "rank %u op %u has a wildcard: messages are matched before they run", r,
					  i);
				err = -ERR_UNSUPPORTED;
			}
		}
	return err;
}

/* Checks that what the schedule claims fits its buffers. */
static int check_claim(struct goalrun *g, struct bin_args *args)
{
	struct expected *expected = mem_calloc(args->size, sizeof *expected);
	struct ir_fault why = { 0 };
	int err = expected ? claim_all_expected(&g->claim, args, expected, &args->rank, &why) : -ERR_NOMEM;

	if (err && err != -ERR_NOMEM)
		lower_fault(g->diags, 0, &g->bin, NULL, args, err, &why);
	origin_free_expected(expected, args->size);
	return err;
}

int run_case_args(struct goalrun *g, const struct run_case *c, struct bin_args *args, struct arg_rows *rows)
{
	const struct run_options *o = &g->o;
	int64_t ignored;
	long most = 0; /* if the environment has a wrong value, ranks report it */
	int err = arg_rows_init(rows, &g->bin, o->nranks);

	*args = (struct bin_args){ .size = o->nranks, .count = c->count };
	args->most_ops = env_number(ENV_GOAL_MAX_OPS, &most) ? 0 : ir_most_ops(most);
	err = err ? err : arg_rows_define(rows, g->diags, 0, &g->bin, o->defines.v.at, o->defines.v.n, &ignored);
	err = err ? err : collective_sample(&g->bin, args->count, c->sample, rows);
	if (err)
		return err;
	if (o->has_root)
		arg_rows_set(rows, g->bin.meta->root, (struct bin_arg){ .known = true, .value = c->root });
	args->by_rank = rows->by_rank;
	args->args = args->by_rank[0];
	args->sample = rows->name;
	return 0;
}

/* Checks one sample of arguments, for the first count and root. */
static int check_sample(struct goalrun *g, unsigned sample, struct ir_graph *graph)
{
	const struct run_case c = { .count = g->o.cases[0].count, .root = g->o.cases[0].root, .sample = sample };
	struct bin_args args;
	struct arg_rows rows;
	int err = run_case_args(g, &c, &args, &rows);

	err = err ? err : compile_graph(g->diags, 0, &g->bin, &args, graph);
	err = err ? err : check_wildcards(g, graph);
	err = err ? err : checks_run(g->diags, graph, CHECK_RUN, 0);
	err = err ? err : check_claim(g, &args);
	arg_rows_fini(&rows);
	return err;
}

/* Checks all samples over all ranks, before the schedule runs. */
static int check_schedule(struct goalrun *g)
{
	int err = 0;

	for (size_t i = 0; i < g->samples.n && !err && !goal_diags_errors(g->diags); i++) {
		ir_graph_fini(&g->graph);
		err = check_sample(g, (unsigned)g->samples.at[i], &g->graph);
	}
	return goal_diags_errors(g->diags) || err ? run_report_diags(g, err) : 0;
}

/* Reports that --verify does not know what the schedule has to do. */
static int refuse_unknown(const struct goalrun *g)
{
	const char *name = bin_str(&g->bin, g->bin.meta->implements);
	struct nearest n = collective_nearest(name);

	if (*name)
		fprintf(stderr, "goalrun: --verify: %s implements %s, which has no definition%s\n", g->o.name, name,
			nearest_hint(&n));
	else
		fprintf(stderr, "goalrun: --verify: %s does not say what it implements\n", g->o.name);
	return EXIT_FAULT;
}

int run_prepare_schedule(struct goalrun *g)
{
	int rc = g->collective ? choose_schedule(g) : 0;

	rc = rc ? rc : load_schedule(g);
	rc = rc ? rc : set_defaults(g);
	rc = rc ? rc : check_schedule(g);
	if (rc)
		return rc;
	g->o.graph = &g->graph;
	if (g->o.verify && !result_is_known(&g->o))
		return refuse_unknown(g);
	return EXIT_OK;
}
