/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the results of goalrun's launches, and the command that runs one case again. */
#include "goalrun/goalrun.h"
#include "runtime/comm.h"
#include "util/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the median over the iterations, and the minimum in *min. The time of an iteration is that of its slowest
 * rank. */
static double median_of_slowest(const double *times, uint32_t ranks, size_t iters, double *scratch, double *min)
{
	double median;

	for (size_t i = 0; i < iters; i++) {
		scratch[i] = 0;
		for (uint32_t r = 0; r < ranks; r++)
			if (times[r * iters + i] > scratch[i])
				scratch[i] = times[r * iters + i];
	}
	median = work_median(scratch, iters);
	*min = scratch[0];
	return median;
}

/* Computes the mean time of a start on each rank: the mean, the least and the largest of these, as OSU's benchmarks print
 * them. */
static void mean_of_ranks(const double *times, uint32_t ranks, size_t iters, struct run_result *out)
{
	for (uint32_t r = 0; r < ranks; r++) {
		double mean = 0;

		for (size_t i = 0; i < iters; i++)
			mean += times[r * iters + i] / (double)iters;
		out->mean_us[RUN_AVG] += mean / ranks;
		out->mean_us[RUN_MIN] = r && out->mean_us[RUN_MIN] < mean ? out->mean_us[RUN_MIN] : mean;
		out->mean_us[RUN_MAX] = r && out->mean_us[RUN_MAX] > mean ? out->mean_us[RUN_MAX] : mean;
	}
}

int run_summarise(struct goalrun *g)
{
	const struct run_options *o = &g->o;
	size_t iters = (size_t)o->iters, per = o->nranks * iters;
	double *scratch = mem_alloc(iters * sizeof *scratch), ignored;

	g->results = mem_calloc(o->ncases, sizeof *g->results);
	if (!scratch || !g->results) {
		free(scratch);
		return no_memory();
	}
	for (size_t c = 0; c < o->ncases; c++) {
		struct run_result *r = &g->results[c];

		mean_of_ranks(g->total + c * per, o->nranks, iters, r);
		r->median_us = median_of_slowest(g->total + c * per, o->nranks, iters, scratch, &r->min_us);
		r->start_us = median_of_slowest(g->start + c * per, o->nranks, iters, scratch, &ignored);
		for (size_t i = c * per; i < (c + 1) * per; i++) /* the rest of the total is the wait */
			g->total[i] -= g->start[i];
		r->wait_us = median_of_slowest(g->total + c * per, o->nranks, iters, scratch, &ignored);
		for (uint32_t k = 0; k < o->nranks; k++)
			if (g->init[c * o->nranks + k] > r->init_us)
				r->init_us = g->init[c * o->nranks + k];
		for (uint32_t k = 0; k < o->nranks; k++)
			r->cpu_s += g->cpu[c * o->nranks + k];
		if (o->overlap)
			r->overlap = work_overlap(g->spans + c * per, o->nranks, iters, scratch, r->part_us);
	}
	free(scratch);
	return EXIT_OK;
}

/* True if CPU seconds and joules are measured. */
static bool measures_energy(const struct run_options *o)
{
	return o->wait && !o->overlap;
}

/* True if waiting ranks make progress for others. */
static bool ranks_help(const struct run_options *o)
{
	return o->progress && !strcmp(o->progress, rt_progress_names[RT_COLLAB]);
}

static void print_steals(const struct goalrun *g)
{
	puts(" rank   steals on its NUMA node   on others");
	for (uint32_t r = 0; r < g->o.nranks; r++)
		printf("%5" PRIu32 " %25" PRIu64 " %11" PRIu64 "\n", r, g->stats[r].steals_local,
		       g->stats[r].steals_remote);
}

/* Returns the average of a sum over all requests of a rank. */
static uint64_t per_request(const struct MPIX_Sched_stats *s, uint64_t sum)
{
	return s->requests ? sum / s->requests : 0;
}

static void print_rank_stats(const struct goalrun *g)
{
	puts(" rank    links   link bytes     posted       sent     sent bytes");
	for (uint32_t r = 0; r < g->o.nranks; r++)
		printf("%5" PRIu32 " %8" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %14" PRIu64 "\n", r, g->stats[r].links,
		       g->stats[r].link_bytes, g->stats[r].posted, g->stats[r].sent, g->stats[r].sent_bytes);
	puts(" rank requests   shared bytes  scratch bytes  private bytes    moved bytes");
	for (uint32_t r = 0; r < g->o.nranks; r++) {
		const struct MPIX_Sched_stats *s = &g->stats[r];

		printf("%5" PRIu32 " %8" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", r, s->requests,
		       per_request(s, s->shared_bytes), per_request(s, s->scratch_bytes), per_request(s, s->private_bytes),
		       s->moved_bytes);
	}
}

static json_object *rank_stats(const struct goalrun *g)
{
	json_object *all = json_object_new_array();

	for (uint32_t r = 0; r < g->o.nranks; r++) {
		const struct MPIX_Sched_stats *s = &g->stats[r];
		const struct {
			const char *name;
			uint64_t value;
		} rows[] = { { "rank", r },
			     { "links", s->links },
			     { "link_bytes", s->link_bytes },
			     { "posted", s->posted },
			     { "sent", s->sent },
			     { "sent_bytes", s->sent_bytes },
			     { "requests", s->requests },
			     { "shared_bytes", per_request(s, s->shared_bytes) },
			     { "scratch_bytes", per_request(s, s->scratch_bytes) },
			     { "private_bytes", per_request(s, s->private_bytes) },
			     { "moved_bytes", s->moved_bytes } };
		json_object *one = json_object_new_object();

		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			json_object_object_add(one, rows[i].name, json_object_new_int64((int64_t)rows[i].value));
		json_object_array_add(all, one);
	}
	return all;
}

/* True if the backend sends some messages over a network, and others by shared memory. */
static bool has_network(const struct run_options *o)
{
	return !strcmp(run_backend_name(o), "verbs");
}

static void count_messages(const struct goalrun *g, uint64_t *network, uint64_t *memory)
{
	*network = *memory = 0;
	for (uint32_t r = 0; r < g->o.nranks; r++) {
		*network += g->stats[r].sent;
		*memory += g->stats[r].near_sent;
	}
}

static void print_messages(const struct goalrun *g)
{
	uint64_t network, memory;

	count_messages(g, &network, &memory);
	printf("messages: %" PRIu64 " by RDMA, %" PRIu64 " by shared memory\n", network, memory);
}

static json_object *messages(const struct goalrun *g)
{
	json_object *counts = json_object_new_object();
	uint64_t network, memory;

	count_messages(g, &network, &memory);
	json_object_object_add(counts, "rdma", json_object_new_int64((int64_t)network));
	json_object_object_add(counts, "shared_memory", json_object_new_int64((int64_t)memory));
	return counts;
}

/* Entries, packets and bytes of all ranks per start of the first case. */
struct posted {
	uint64_t queues, entries; /* queues: largest number on one rank; entries: total */
	double packets, bytes; /* packets and bytes that the interface has moved, average per start */
};

static struct posted count_posted(const struct goalrun *g)
{
	const double starts = (double)g->o.ncases * (double)(g->o.warmup + (g->o.overlap ? 2 : 1) * g->o.iters);
	struct posted p = { 0 };

	for (uint32_t r = 0; r < g->o.nranks; r++) {
		const struct bin_queues *h = bin_posts(&g->bin, bin_dir_row(&g->bin, r, g->o.cases[0].root)).head;

		p.queues = h->nqueues > p.queues ? h->nqueues : p.queues;
		p.entries += h->nentries;
	}
	if (g->nic.stats) {
		p.packets = (double)g->nic.stats->packets / starts;
		p.bytes = (double)g->nic.stats->bytes / starts;
	}
	return p;
}

static void print_posted(const struct goalrun *g)
{
	const struct posted p = count_posted(g);

	printf("a start: %" PRIu64 " entries in all, in at most %" PRIu64 " queues of a rank", p.entries, p.queues);
	if (g->nic.stats)
		printf("; %.1f packets, %.0f bytes", p.packets, p.bytes);
	putchar('\n');
}

/* The runs whose results are printed. With several, each case has a schedule of its own. */
struct results {
	struct goalrun *const *runs;
	size_t n;
	int type_width; /* width of the column of types */
};

/* Returns the schedule of a run: with several runs the words of the row that has it, otherwise its file. */
static const char *schedule_of(const struct results *all, const struct goalrun *g)
{
	return all->n > 1 ? g->row : g->o.name;
}

static void print_starts(const struct results *all)
{
	const struct goalrun *g = all->runs[0];
	const struct run_options *o = &g->o;

	printf("%s: %u ranks (%s), backend %s, %s%s%" PRId64 " starts each%s\n", all->n > 1 ? g->collective : o->name, o->nranks,
	       o->threads ? "threads" : "processes", run_backend_name(o), o->progress ? o->progress : "", o->progress ? " progress, " : "",
	       o->warmup + (o->overlap ? 2 : 1) * o->iters,
	       !result_is_known(o)  ? ", result not checked" :
	       o->verify || o->plain || o->overlap ? ", every byte of every start checked" :
				       ", first and last start checked");
}

static void print_heading(const struct results *all)
{
	const struct goalrun *g = all->runs[0];
	const struct run_options *o = &g->o;

	if (run_simulates(o))
		printf("%s: %u ranks, simulated: none ran\n", all->n > 1 ? g->collective : o->name, o->nranks);
	else
		print_starts(all);
	printf("%10s %-*s %s%5s %-8s %s", "count", all->type_width, "type", has_reduction(o) ? "op      " : "", "root", "memory",
	       g->sample ? "sample            " : "");
	if (o->overlap)
		printf("%11s %11s %11s %11s", "comm us", "compute us", "total us", "overlap");
	else
		printf("%11s %11s %11s %11s%s%s", "median us", "min us", "start us", "init us",
		       run_lowers(o) ? "     wait us" : "", measures_energy(o) ? "       cpu s      joules" : "");
	puts(all->n > 1 ? "  schedule" : "");
}

static void print_case(const struct results *all, const struct goalrun *g, size_t i)
{
	const struct run_options *o = &g->o;
	const struct run_case *c = &o->cases[i];
	const struct run_result *r = &g->results[i];
	char root[24] = "-", count[24] = "-", op[24] = "", sample[32] = "", joules[24] = "-";

	if (c->root >= 0)
		snprintf(root, sizeof root, "%" PRId64, c->root);
	if (!is_dataless(o))
		snprintf(count, sizeof count, "%" PRId64, c->count);
	if (measures_energy(o) && !isnan(g->joules[i]))
		snprintf(joules, sizeof joules, "%.3f", g->joules[i]);
	if (has_reduction(o))
		snprintf(op, sizeof op, "%-8s", run_op_names[c->op]);
	if (g->sample)
		collective_sample_name(&g->bin, c->sample, sample, sizeof sample);
	printf("%10s %-*s %s%5s %-8s %-*s", count, all->type_width, run_type_names[c->type], op, root,
	       run_memory_names[c->memory], g->sample ? 18 : 0, sample);
	if (o->overlap)
		printf("%11.2f %11.2f %11.2f %9.1f %%", r->part_us[WORK_COMM], r->part_us[WORK_COMPUTE], r->part_us[WORK_BOTH],
		       100 * r->overlap);
	else
		printf("%11.2f %11.2f %11.2f %11.1f", r->median_us, r->min_us, r->start_us, r->init_us);
	if (run_lowers(o) && !o->overlap)
		printf(" %11.2f", r->wait_us);
	if (measures_energy(o))
		printf(" %11.4f %11s", r->cpu_s, joules);
	printf("%s%s\n", all->n > 1 ? "  " : "", all->n > 1 ? g->row : "");
}

/* Prints what is counted for all cases of a run together. */
static void print_counters(const struct results *all, const struct goalrun *g)
{
	const struct run_options *o = &g->o;

	if (all->n > 1 && (ranks_help(o) || run_lowers(o) || g->show_stats || has_network(o)))
		printf("%s:\n", g->row);
	if (ranks_help(o))
		print_steals(g);
	if (run_lowers(o))
		print_posted(g);
	if (g->show_stats)
		print_rank_stats(g);
	if (has_network(o))
		print_messages(g);
}

static void print_table(struct results *all)
{
	size_t cases = 0;
	bool known = true;

	all->type_width = 7;
	for (size_t k = 0; k < all->n; k++) {
		const struct run_options *o = &all->runs[k]->o;

		cases += o->ncases;
		known &= result_is_known(o);
		for (size_t i = 0; i < o->ncases; i++)
			if ((int)strlen(run_type_names[o->cases[i].type]) > all->type_width)
				all->type_width = (int)strlen(run_type_names[o->cases[i].type]);
	}
	print_heading(all);
	for (size_t k = 0; k < all->n; k++)
		for (size_t i = 0; i < all->runs[k]->o.ncases; i++)
			print_case(all, all->runs[k], i);
	for (size_t k = 0; k < all->n; k++)
		print_counters(all, all->runs[k]);
	if (known)
		printf("verified: all %zu case%s right\n", cases, cases == 1 ? "" : "s");
}

/* Adds CPU seconds and joules of case i. */
static void add_cost(json_object *j, const struct goalrun *g, size_t i)
{
	json_object *all = json_object_new_array();

	for (uint32_t k = 0; k < g->o.nranks; k++)
		json_object_array_add(all, json_object_new_double(g->cpu[i * g->o.nranks + k]));
	json_object_object_add(j, "cpu_s", all);
	json_object_object_add(j, "joules", isnan(g->joules[i]) ? NULL : json_object_new_double(g->joules[i]));
}

static void add_times(json_object *j, const struct goalrun *g, size_t i)
{
	const struct run_options *o = &g->o;
	const struct run_result *r = &g->results[i];

	json_object_object_add(j, "median_us", json_object_new_double(r->median_us));
	json_object_object_add(j, "min_us", json_object_new_double(r->min_us));
	json_object_object_add(j, "start_us", json_object_new_double(r->start_us));
	json_object_object_add(j, "init_us", json_object_new_double(r->init_us));
	if (run_lowers(o))
		json_object_object_add(j, "wait_us", json_object_new_double(r->wait_us));
	if (measures_energy(o))
		add_cost(j, g, i);
	if (!o->overlap)
		return;
	json_object_object_add(j, "comm_us", json_object_new_double(r->part_us[WORK_COMM]));
	json_object_object_add(j, "compute_us", json_object_new_double(r->part_us[WORK_COMPUTE]));
	json_object_object_add(j, "total_us", json_object_new_double(r->part_us[WORK_BOTH]));
	json_object_object_add(j, "overlap", json_object_new_double(r->overlap));
}

static void add_posted(json_object *j, const struct goalrun *g)
{
	const struct posted p = count_posted(g);

	json_object_object_add(j, "queues", json_object_new_int64((int64_t)p.queues));
	json_object_object_add(j, "entries", json_object_new_int64((int64_t)p.entries));
	json_object_object_add(j, "packets", g->nic.stats ? json_object_new_double(p.packets) : NULL);
	json_object_object_add(j, "bytes", g->nic.stats ? json_object_new_double(p.bytes) : NULL);
}

static json_object *steals_json(const struct goalrun *g)
{
	json_object *all = json_object_new_array();

	for (uint32_t r = 0; r < g->o.nranks; r++) {
		json_object *one = json_object_new_object();

		json_object_object_add(one, "rank", json_object_new_int64(r));
		json_object_object_add(one, "local", json_object_new_int64((int64_t)g->stats[r].steals_local));
		json_object_object_add(one, "remote", json_object_new_int64((int64_t)g->stats[r].steals_remote));
		json_object_array_add(all, one);
	}
	return all;
}

static void add_case(json_object *report, const struct results *all, const struct goalrun *g, size_t i)
{
	const struct run_case *c = &g->o.cases[i];
	json_object *e = report_case(report);
	char sample[32];

	collective_sample_name(&g->bin, c->sample, sample, sizeof sample);
	report_text(e, "schedule", schedule_of(all, g));
	report_add(e, "count", is_dataless(&g->o) ? NULL : json_object_new_int64(c->count));
	report_text(e, "type", run_type_names[c->type]);
	report_text(e, "op", has_reduction(&g->o) ? run_op_names[c->op] : NULL);
	report_add(e, "root", c->root < 0 ? NULL : json_object_new_int64(c->root));
	report_text(e, "memory", run_memory_names[c->memory]);
	report_text(e, "sample", *sample && !g->o.plain ? sample : NULL);
	add_times(e, g, i);
}

/* Adds what is counted for all cases of a run together. */
static void add_counters(json_object *to, const struct goalrun *g)
{
	const struct run_options *o = &g->o;

	if (ranks_help(o))
		report_add(to, "steals", steals_json(g));
	if (run_lowers(o))
		add_posted(to, g);
	if (g->show_stats)
		report_add(to, "stats", rank_stats(g));
	if (has_network(o))
		report_add(to, "messages", messages(g));
}

static int print_json(const struct results *all)
{
	const struct goalrun *g = all->runs[0];
	json_object *j = report_new("goalrun", all->n > 1 ? NULL : g->o.name), *counters = json_object_new_array();
	bool known = true;

	for (size_t k = 0; k < all->n; k++)
		known &= result_is_known(&all->runs[k]->o);
	report_text(j, "collective", g->collective);
	report_int(j, "ranks", g->o.nranks);
	report_text(j, "backend", run_backend_name(&g->o));
	report_add(j, "verified", json_object_new_boolean(known));
	report_int(j, "iters", g->o.iters);
	for (size_t k = 0; k < all->n; k++)
		for (size_t i = 0; i < all->runs[k]->o.ncases; i++)
			add_case(j, all, all->runs[k], i);
	for (size_t k = 0; k < all->n; k++) {
		json_object *e = report_element(counters);

		report_text(e, "schedule", schedule_of(all, all->runs[k]));
		add_counters(e, all->runs[k]);
	}
	report_add(j, "counters", counters);
	return report_print("goalrun", j);
}

int run_report(struct goalrun *const *runs, size_t n)
{
	struct results all = { runs, n, 0 };
	int rc = EXIT_OK;

	if (runs[0]->o.json)
		return print_json(&all);
	if (runs[0]->format != FORMAT_TABLE)
		rc = run_report_osu(runs, n);
	else
		print_table(&all);
	return rc ? rc : option_flush("goalrun");
}
