/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --tune: measures the schedules of a collective on this machine, and prints rows of a selection table.
 *
 * A candidate is a row's words for a schedule: those of the selection table, with their options, and each installed schedule
 * that implements the collective, with its defaults. Each measurement is a run of its own, as goalrun --select makes it of a
 * table with one row; so data are generated and checked as always. A candidate that cannot run the call is left out. */
#include "compiler/collectives/names.h"
#include "goalrun/goalrun.h"
#include "runtime/sched.h"
#include "util/env.h"
#include "util/file.h"
#include "util/install.h"
#include "util/progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 3 /* measurements of a candidate, between which others are measured */
#define ROUND_US 30000 /* time of a measurement, if MIN_STARTS take no longer */
#define MIN_STARTS 5
#define MAX_STARTS 1000
#define STEPS 3 /* bisections of the sizes between which another schedule becomes the fastest */
#define CLEARLY 0.95 /* the part of the time by which another schedule has to be faster, so that noise makes no rows */
#define MOST 64

struct tuner {
	const struct goalrun *g; /* the command line */
	size_t elem; /* bytes of an element */
	char *words[MOST]; /* the candidates */
	size_t n;
	bool reduces, dataless; /* properties of the collective, known after the first run */
	struct progress progress;
};

/* ---- candidates ---- */

/* Adds a candidate, unless it is there already. Takes ownership of the words. */
static int add_words(struct tuner *t, char *words)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->words[i], words)) {
			free(words);
			return 0;
		}
	if (t->n == MOST) {
		free(words);
		return run_fault("--tune: %s has too many schedules", t->g->tune);
	}
	t->words[t->n++] = words;
	return 0;
}

/* True if a text implements the collective. */
static bool implements(const char *path, const char *collective)
{
	const size_t len = strlen(collective);
	char *text;
	size_t size;
	bool found = false;

	if (file_read(path, &text, &size))
		return false;
	for (const char *p = text; (p = strstr(p, "implements ")) && !found;) {
		p += strlen("implements ");
		found = !strncmp(p, collective, len) && strspn(p + len, " \t\r\n") > 0;
	}
	free(text);
	return found;
}

/* Adds the schedules that are beside the installed table. */
static int add_installed(struct tuner *t)
{
	char *table = NULL, *slash;
	struct dirent **names;
	int n, rc = install_find("select.table", &table) ? no_memory() : EXIT_OK;

	if (rc || !table)
		return rc;
	slash = strrchr(table, '/');
	*slash = '\0';
	n = scandir(table, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const size_t len = strlen(names[i]->d_name);
		struct text path = { 0 }, word = { 0 };
		char *words;

		text_add(&path, "%s/%s", table, names[i]->d_name);
		if (!rc && !path.err && len > 5 && !strcmp(names[i]->d_name + len - 5, ".goal") && implements(path.at, t->g->tune)) {
			text_add(&word, "%s", names[i]->d_name);
			rc = text_take(&word, &words) ? no_memory() : add_words(t, words);
		}
		free(path.at);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	free(table);
	return rc;
}

/* Stores the words of a row for its schedule, as they mean the same in a table of any directory: a file that is not installed gets
 * its whole path. If no row can have that path, says so and stores NULL. */
static int row_anywhere(const struct select *s, const struct select_row *row, char **out)
{
	char *words = NULL, *path = NULL, *installed = NULL, *whole = NULL;
	struct text t = { 0 };
	int err = run_row_words(row, &words);

	err = err ? err : select_path(s, row, &path);
	err = err ? err : install_find(row->file, &installed);
	if (!err && !(installed && !strcmp(path, installed)))
		whole = realpath(path, NULL);
	if (whole && strpbrk(whole, " \t\r\n#"))
		run_fault("--tune: %s has a blank or a #, and so can be in no row", whole);
	else if (!err)
		text_add(&t, "%s%s", whole ? whole : row->file, words + strlen(row->file));
	free(words);
	free(path);
	free(installed);
	free(whole);
	*out = NULL;
	return err || (!t.at && !t.err) ? err : text_take(&t, out);
}

static int add_rows(struct tuner *t)
{
	struct goal_diags *d = goal_diags_new();
	struct select s = { 0 };
	int err = d ? select_load(d, t->g->table ? t->g->table : env_get(ENV_GOAL_SELECT), &s) : -ERR_NOMEM, rc = EXIT_OK;

	for (size_t i = 0; i < s.rows.n && !err && !rc; i++) {
		char *words;

		if (strcmp(s.rows.at[i].collective, t->g->tune) != 0)
			continue;
		err = row_anywhere(&s, &s.rows.at[i], &words);
		rc = err ? EXIT_OK : words ? add_words(t, words) : EXIT_FAULT;
	}
	if (err)
		rc = err == -ERR_NOMEM ? no_memory() : (fputs(goal_diags_text(d), stderr), EXIT_FAULT);
	goal_diags_free(d);
	select_free(&s);
	return rc;
}

/* ---- measurements ---- */

/* Makes a table with one row, as a file in memory, and its path. Returns a descriptor, or -1. */
static int one_row(const struct tuner *t, const char *words, char path[32])
{
	const int fd = memfd_create("goal-tune", MFD_CLOEXEC);

	if (fd >= 0 && dprintf(fd, "%s any any any any -> %s\n", t->g->tune, words) < 0) {
		close(fd);
		return -1;
	}
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* Prepares a run. What a candidate cannot do is no fault that anybody has to see. */
static int prepare_quietly(struct goalrun *g)
{
	const int err = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int rc;

	if (err >= 0 && nowhere >= 0)
		dup2(nowhere, STDERR_FILENO);
	rc = run_prepare_schedule(g);
	if (err >= 0)
		dup2(err, STDERR_FILENO);
	close(err);
	close(nowhere);
	return rc;
}

/* Runs a candidate. Stores its median time in us; infinity if it cannot run the call. Returns an exit status. */
static int run_candidate(struct tuner *t, const char *words, int64_t count, int64_t starts, double *us)
{
	char path[32];
	struct goalrun *g;
	const int fd = one_row(t, words, path);
	int rc = fd < 0 ? run_fault("%s", run_errno_text()) : run_open_again(t->g, &g);

	*us = INFINITY;
	if (rc)
		return rc;
	g->collective = t->g->tune;
	g->table = path;
	g->o.iters = starts;
	g->o.warmup = starts < 10 ? 2 : 10;
	g->counts.n = 0;
	rc = VEC_PUSH(&g->counts, count) ? no_memory() : EXIT_OK;
	if (!rc && !prepare_quietly(g)) {
		rc = run_prepared(g);
		*us = rc ? INFINITY : g->results[0].median_us;
		t->reduces = has_reduction(&g->o);
		t->dataless = is_dataless(&g->o);
	}
	run_free(g);
	close(fd);
	return rc;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Measures candidates at one size, each in several rounds. us[i] is the median of candidate i; infinity if it was left out. */
static int measure(struct tuner *t, const bool *skip, int64_t count, double *us)
{
	double times[MOST][ROUNDS];
	int rc = EXIT_OK;

	for (unsigned k = 0; k <= ROUNDS; k++)
		for (size_t i = 0; i < t->n && !rc; i++) {
			double starts = k ? ROUND_US / (us[i] > 1 ? us[i] : 1) : MIN_STARTS;

			progress_tick(&t->progress, "%s, %" PRIu64 " bytes: round %u of %u, %s", t->g->tune,
				      (uint64_t)count * t->elem, k, ROUNDS, t->words[i]);
			starts = starts < MIN_STARTS ? MIN_STARTS : starts > MAX_STARTS ? MAX_STARTS : starts;
			if (k ? isinf(us[i]) : skip && skip[i]) {
				us[i] = k ? us[i] : INFINITY;
				times[i][k ? k - 1 : 0] = INFINITY;
				continue;
			}
			/* round 0 finds how many starts fit into a round, and whether the candidate runs at all */
			rc = run_candidate(t, t->words[i], count, (int64_t)starts, k ? &times[i][k - 1] : &us[i]);
		}
	for (size_t i = 0; i < t->n && !rc; i++) {
		if (isinf(us[i]))
			continue;
		qsort(times[i], ROUNDS, sizeof times[i][0], by_time);
		us[i] = times[i][ROUNDS / 2];
	}
	return rc;
}

/* Returns the fastest candidate: `before`, unless another one is clearly faster. Returns t->n if none runs. */
static size_t fastest(const struct tuner *t, const double *us, size_t before)
{
	size_t best = before < t->n && !isinf(us[before]) ? before : t->n;

	for (size_t i = 0; i < t->n; i++)
		if (!isinf(us[i]) && (best == t->n || us[i] < us[best] * (best == before ? CLEARLY : 1)))
			best = i;
	return best;
}

/* ---- rows ---- */

/* Returns a count between two others: about their geometric mean. */
static int64_t count_between(int64_t from, int64_t to)
{
	const int64_t ratio = to / (from ? from : 1);

	return ratio < 4 ? from + (to - from) / 2 : (from ? from : 1) << (63 - __builtin_clzll((uint64_t)ratio)) / 2;
}

/* Finds the least count at which candidate b was measured to be faster than a, between counts at which a and b are. */
static int find_change(struct tuner *t, size_t a, size_t b, int64_t from, int64_t *to)
{
	bool skip[MOST];
	double us[MOST];
	int rc = EXIT_OK;

	for (size_t i = 0; i < t->n; i++)
		skip[i] = i != a && i != b;
	for (unsigned k = 0; k < STEPS && *to - from > 1 && !rc; k++) {
		const int64_t middle = count_between(from, *to);

		rc = measure(t, skip, middle, us);
		if (!rc && fastest(t, us, a) == b)
			*to = middle;
		else
			from = middle;
	}
	return rc;
}

static void print_measured(const struct tuner *t, int64_t count, const double *us)
{
	const char *between = "";

	printf("# %10" PRIu64 " bytes, median us: ", t->dataless ? 0 : (uint64_t)count * t->elem);
	for (size_t i = 0; i < t->n; i++)
		if (!isinf(us[i])) {
			printf("%s%s %.2f", between, t->words[i], us[i]);
			between = "; ";
		}
	putchar('\n');
}

static void print_row(const struct tuner *t, uint64_t from, uint64_t to, const char *words)
{
	printf("%s %u %" PRIu64 "-", t->g->tune, t->g->o.nranks, from);
	if (to != UINT64_MAX)
		printf("%" PRIu64, to);
	printf(" %s any -> %s\n", t->reduces ? "builtin" : "any", words);
}

/* Measures all sizes, and prints a row for each range of sizes with one fastest schedule. */
static int tune_sizes(struct tuner *t, const struct list *counts)
{
	double us[MOST];
	size_t before = t->n, now;
	uint64_t from = 0;
	int rc = EXIT_OK;

	for (size_t i = 0; i < (t->dataless ? 1 : counts->n); i++) {
		int64_t to = counts->at[i];

		rc = measure(t, NULL, to, us);
		now = rc ? before : fastest(t, us, before);
		if (rc || now == t->n)
			return rc ? rc : run_fault("--tune: no schedule of %s runs", t->g->tune);
		print_measured(t, to, us);
		if (i && now != before) {
			rc = find_change(t, before, now, counts->at[i - 1], &to);
			if (rc)
				return rc;
			print_row(t, from, (uint64_t)to * t->elem - 1, t->words[before]);
			from = (uint64_t)to * t->elem;
		}
		before = now;
	}
	print_row(t, from, UINT64_MAX, t->words[before]);
	return EXIT_OK;
}

static int check_options(const struct goalrun *g)
{
	struct nearest n = collective_nearest(g->tune);

	if (!collective_known(g->tune))
		return usage("there is no collective %s%s", g->tune, nearest_choices(&n));
	if (collective_near(g->tune))
		return usage("--tune is not for %s: its time depends on the neighbours", g->tune);
	if (!g->o.nranks)
		return usage("--tune needs the number of ranks: -n");
	if (g->types.n > 1 || g->ops.n > 1 || g->roots.n > 1 || g->memories.n > 1 || g->all_roots)
		return usage("--tune takes one type, operation, root and memory");
	if (g->ops.n && g->ops.at[0] == RUN_USER)
		return usage("--tune is for the operations of the library, not for user");
	if (g->o.defines.v.n || g->o.passes)
		return usage("--tune takes no -D and no -T: rows of a table have them");
	for (size_t i = 0; i + 1 < g->counts.n; i++)
		if (g->counts.at[i] >= g->counts.at[i + 1])
			return usage("the counts of --tune have to ascend");
	return EXIT_OK;
}

int run_tune(struct goalrun *g)
{
	static const int64_t bytes[] = { 8, 64, 512, 4096, 32768, 262144, 1048576 };
	struct tuner t = { .g = g, .elem = rt_basic_size(g->types.n ? (enum MPIX_Sched_basic)g->types.at[0] : MPIX_SCHED_DOUBLE) };
	int rc = check_options(g);

	progress_begin(&t.progress, "goalrun");
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes && !rc && g->counts.n <= i; i++)
		rc = VEC_PUSH(&g->counts, bytes[i] / (int64_t)t.elem ? bytes[i] / (int64_t)t.elem : (int64_t)i + 1) ? no_memory() : EXIT_OK;
	rc = rc ? rc : add_rows(&t);
	rc = rc ? rc : add_installed(&t);
	if (!rc) {
		printf("# goalrun --tune %s of goalsched %s: %u ranks, backend %s, type %s\n", g->tune, GOAL_VERSION, g->o.nranks,
		       run_backend_name(&g->o), run_type_names[g->types.n ? g->types.at[0] : MPIX_SCHED_DOUBLE]);
		rc = tune_sizes(&t, &g->counts);
	}
	progress_end(&t.progress);
	for (size_t i = 0; i < t.n; i++)
		free(t.words[i]);
	return rc ? rc : option_flush("goalrun");
}
