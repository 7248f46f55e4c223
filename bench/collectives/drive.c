/* SPDX-License-Identifier: BSD-3-Clause
 * drive: measures collectives side by side. It starts groups of ranks, which live at the same time, and lets each side of each
 * group run a cell (a collective and a size) in turn, for several turns, so that a disturbance affects all of them. Standard input
 * has a line for each group, with tabs between its fields: its role, its label, what it is for ("all", or words such as
 * allreduce.persistent, a collective and a side), and the shell command that starts its ranks. The command gets two more arguments,
 * a path and a number. collectives.sh has the commands, and makes tables of the output:
 *
 *	heat RANKS COLLECTIVE BYTES ROLE LABEL SIDE MEDIAN LOW HIGH START INIT FIRST
 *	cell RANKS COLLECTIVE BYTES ROLE LABEL SIDE MEDIAN LOW HIGH START INIT FIRST
 *	none RANKS COLLECTIVE BYTES ROLE LABEL SIDE REASON...
 *
 * Of the sides whose role is limit, private or peer only the fastest is compared with the others. The least of many medians is too small,
 * because each is off by chance, so the choice and the comparison are measured apart: these sides run heats, and the fastest of
 * each role enters the final, the lines `cell`, with all sides of other roles. Where a role has one side, there are no heats.
 *
 * The sides that come first get pages that are scattered over memory, and the kernel's copies for another process take up to a quarter
 * longer from these. So in each cell another side is the first.
 *
 * Times are in us, "-" if there is none: the median of all iterations and the 10th and 90th percentile; the median of the calls of
 * start and of init after the first; the first init. The slowest rank counts. An iteration lasts from the common start until the last
 * rank has read what it received. Where ranks share cores, each is in turn the first of its core to begin (rank.c); the times are then
 * averages of the medians and percentiles of the iterations in which the same ranks were. */
#include "bench/bench.h"
#include "bench/collectives/board.h"
#include "util/futex.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LIMIT_NS 60000000000u /* for a command, and for the start of a group */
#define TURNS_MAX 16
#define FINAL 2 /* turns of the final for each of the heats */
/* From the release of the ranks from the barrier to the common start: until all have left it, or, where ranks share cores, the first of
 * each core, for which all others of the core may come before it. */
#define LEAD_NS 600
#define LEAD_CHANGE_NS 3000

struct group {
	struct board_group *on;
	char role[16], label[32], only[128], command[1024];
	char errors[4096]; /* file with the messages of its ranks */
	pid_t pid; /* of the process that started its ranks, in a process group of its own; 0: not running */
	uint32_t done; /* commands that ranks have carried out */
	unsigned nsides;
};

static struct {
	int ranks;
	unsigned turns, iterations; /* iterations: of a turn, of a short collective */
	uint64_t memory; /* bytes that all groups together may use */
	uint64_t seconds; /* time for all cells */
	const char *path; /* of the board */
	struct board *board;
	struct group groups[GROUPS_MAX];
	unsigned ngroups;
	unsigned sharing; /* most ranks of a core */
	double ticks_per_us;
	uint64_t clock; /* ticks that it takes to read the clock */
	bool failed; /* a side that has to work did not */
	unsigned cells; /* that have been measured */
} d = { .ranks = 2, .turns = 5, .iterations = 300, .memory = (uint64_t)4 << 30, .seconds = 3600 };

/* A side that takes part in a cell. */
struct entrant {
	struct group *g;
	unsigned side;
	bool bound, out; /* out: it failed */
	/* Times in us, of iterations, of starts, and of inits, of which inits[0] is the first. */
	double *us, *starts, inits[INITS];
	unsigned n, nstarts;
};

/* ---- groups ---- */

/* Ends the ranks of a group. A launcher may have put them into other process groups, so it gets some time to end them. */
static void kill_group(struct group *g)
{
	if (g->pid <= 0)
		return;
	kill(-g->pid, SIGTERM);
	for (int i = 0; i < 200 && waitpid(g->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	kill(-g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
	g->pid = 0;
}

/* Ends all ranks and removes the files. Ranks also end by themselves when there is no driver any more. May be called in a signal
 * handler. */
static void clean_up(void)
{
	for (unsigned i = 0; i < d.ngroups; i++) {
		kill_group(&d.groups[i]);
		unlink(d.groups[i].errors);
	}
	unlink(d.path);
}

static void interrupted(int sig)
{
	clean_up();
	_exit(128 + sig);
}

static bool has_ended(struct group *g)
{
	if (g->pid > 0 && waitpid(g->pid, NULL, WNOHANG) == g->pid)
		g->pid = 0;
	return g->pid == 0;
}

/* Runs the command of a group in a shell, without input; its messages go to a file. */
static void exec_group(const struct group *g)
{
	char line[sizeof g->command + 512];
	const int null = open("/dev/null", O_RDWR), log = open(g->errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	setpgid(0, 0);
	dup2(null, 0);
	dup2(log < 0 ? null : log, 1);
	dup2(log < 0 ? null : log, 2);
	snprintf(line, sizeof line, "exec %s '%s' %d", g->command, d.path, (int)(g - d.groups));
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	_exit(127);
}

/* Prints why a side is not measured: the reason, or the first line of the messages of its ranks. */
static void print_none(const struct group *g, const char *cell, const char *side, const char *reason)
{
	char text[160] = "";
	FILE *f = *reason ? NULL : fopen(g->errors, "r");

	while (f && !*text && fgets(text, sizeof text, f))
		text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	printf("none %s %s %s %s %s\n", cell, g->role, g->label, side, *reason ? reason : *text ? text : "the ranks ended");
	if (!strcmp(g->role, "ours") || !strcmp(g->role, "limit") || !strcmp(g->role, "served"))
		d.failed = true;
}

/* Starts the ranks of a group and waits until all take commands. */
static void start_group(struct group *g)
{
	const uint64_t limit = clock_now_ns() + LIMIT_NS;
	char cell[32];

	g->on->size = d.ranks;
	g->on->cores = (int)bench_cores();
	g->on->sharing = (int)d.sharing;
	snprintf(g->errors, sizeof g->errors, "%s.%d", d.path, (int)(g - d.groups));
	fflush(stdout);
	g->pid = fork();
	if (g->pid == 0)
		exec_group(g);
	setpgid(g->pid, g->pid);
	while (atomic_load(&g->on->joined) < d.ranks && !has_ended(g) && clock_now_ns() < limit)
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	if (atomic_load(&g->on->joined) == d.ranks && !has_ended(g)) {
		while (g->nsides < SIDES_MAX && *g->on->sides[g->nsides])
			g->nsides++;
		return;
	}
	snprintf(cell, sizeof cell, "%d all 0", d.ranks);
	print_none(g, cell, "-", has_ended(g) ? "" : "does not start");
	kill_group(g);
}

/* ---- commands ---- */

/* Gives a command to the ranks of a group and waits until they have carried it out. Returns false if they fail. */
static bool command(struct group *g, enum command what)
{
	const uint64_t limit = clock_now_ns() + LIMIT_NS;
	const uint32_t want = g->done + (uint32_t)d.ranks;
	uint64_t patience = limit;
	uint32_t seen;

	if (!g->pid)
		return false;
	g->on->command = what;
	atomic_store(&g->on->failed, BOARD_WELL);
	atomic_fetch_add(&g->on->turn, 1);
	futex_wake(&g->on->turn, d.ranks);
	while ((seen = atomic_load(&g->on->done)) != want) {
		const uint64_t now = clock_now_ns();

		/* One rank that has failed may leave the others waiting for it. */
		if (atomic_load(&g->on->failed) && patience == limit)
			patience = now + LIMIT_NS / 20;
		if (has_ended(g) || now > patience) {
			if (g->pid && !atomic_load(&g->on->failed))
				board_fail(g->on, "does not end");
			kill_group(g);
			return false;
		}
		futex_wait(&g->on->done, seen, 100000000);
	}
	g->done = want;
	return !atomic_load(&g->on->failed);
}

static double us_of(uint64_t ticks)
{
	return (double)ticks / d.ticks_per_us;
}

/* ---- cells ---- */

static const char *name_of(const struct entrant *e)
{
	return e->g->on->sides[e->side];
}

static bool give(struct entrant *e, enum what what, size_t bytes, enum command c)
{
	char cell[64];

	if (e->out)
		return false;
	e->g->on->side = e->side;
	e->g->on->what = what;
	e->g->on->bytes = bytes;
	if (command(e->g, c))
		return true;
	e->out = true;
	if (atomic_load(&e->g->on->failed) != BOARD_UNSUITED) {
		snprintf(cell, sizeof cell, "%d %s %zu", d.ranks, what_names[what], bytes);
		print_none(e->g, cell, name_of(e), e->g->on->why);
	}
	e->g->on->why[0] = '\0';
	return false;
}

/* Returns the number of iterations of a turn: fewer of long ones, and a multiple of d.sharing. */
static unsigned iterations_for(size_t bytes)
{
	unsigned n = (unsigned)((double)d.iterations / (1 + (double)bytes / 400000));

	n = n < 3 ? 3 : n > ITERATIONS_MAX - RANKS_MAX ? ITERATIONS_MAX - RANKS_MAX : n;
	return (n + d.sharing - 1) / d.sharing * d.sharing;
}

/* Returns the largest duration that any rank has in column i of a table, which has `width` columns, in us. */
static double most_us(const uint32_t *table, size_t width, size_t i)
{
	uint64_t most = d.clock;

	for (int r = 0; r < d.ranks; r++)
		most = table[(size_t)r * width + i] > most ? table[(size_t)r * width + i] : most;
	return us_of(most - d.clock);
}

/* Appends the times of a RUN: from the common start until the last rank has ended. */
static void take_times(struct entrant *e, unsigned n)
{
	const struct board_group *g = e->g->on;

	for (unsigned i = 0; i < n; i++) {
		uint64_t end = 0;

		for (int r = 0; r < d.ranks; r++)
			end = g->end[r][i] > end ? g->end[r][i] : end;
		e->us[e->n++] = us_of(end - g->start[i]);
	}
}

/* One turn of a side. One that fails has no times, however fast it was before. */
static void take_turn(struct entrant *e, enum what what, size_t bytes)
{
	struct board_group *g = e->g->on;
	const unsigned n = iterations_for(bytes);

	g->iterations = n;
	if (!give(e, what, bytes, RUN)) {
		e->n = 0;
		return;
	}
	take_times(e, n);
	g->iterations = g->starts[e->side] ? n / 4 + (e->nstarts == 0) : 0;
	if (!g->iterations)
		return;
	if (!give(e, what, bytes, STARTS))
		e->n = 0;
	for (unsigned i = 0; i < g->iterations && e->n; i++)
		e->starts[e->nstarts++] = most_us(g->started[0], ITERATIONS_MAX, i);
}

static void bind_entrant(struct entrant *e, enum what what, size_t bytes)
{
	const struct board_group *g = e->g->on;

	e->bound = give(e, what, bytes, BIND);
	if (!e->bound || !g->persistent[e->side])
		return;
	for (unsigned i = 0; i < INITS; i++)
		e->inits[i] = most_us(g->init[0], INITS, i);
}

/* Returns the statistics of the iterations in which the same ranks were the first of their cores, averaged over these ranks. */
static struct bench_stats stats_of(const struct entrant *e)
{
	static double us[FINAL * TURNS_MAX * ITERATIONS_MAX];
	struct bench_stats mean = { 0 };

	for (unsigned first = 0; first < d.sharing; first++) {
		struct bench_stats s;
		size_t n = 0;

		for (unsigned i = first; i < e->n; i += d.sharing)
			us[n++] = e->us[i];
		s = bench_stats(us, n);
		mean.low += s.low / d.sharing;
		mean.median += s.median / d.sharing;
		mean.high += s.high / d.sharing;
	}
	return mean;
}

static void print_entrant(const char *line, struct entrant *e, enum what what, size_t bytes)
{
	struct bench_stats s;

	if (!e->n)
		return;
	s = stats_of(e);
	printf("%s %d %s %zu %s %s %s %.4g %.4g %.4g", line, d.ranks, what_names[what], bytes, e->g->role, e->g->label, name_of(e),
	       s.median, s.low, s.high);
	if (e->nstarts)
		printf(" %.4g", bench_stats(e->starts, e->nstarts).median);
	else
		printf(" -");
	if (e->nstarts && e->g->on->persistent[e->side]) {
		const double first = e->inits[0];

		printf(" %.4g %.4g\n", bench_stats(e->inits + 1, INITS - 1).median, first);
	} else {
		printf(" - -\n");
	}
}

/* Bytes of the buffers of all ranks of one side. */
static uint64_t memory_of(enum what what, size_t bytes)
{
	const struct cell c = { .what = what, .count = bytes / sizeof(double), .size = d.ranks };

	return (uint64_t)d.ranks * (cell_in_bytes(&c) + cell_out_bytes(&c));
}

/* True if the side is to be measured: its group is for all, or names the collective and the side. */
static bool takes_part(const struct entrant *e, enum what what)
{
	char word[64], list[sizeof e->g->only + 2];

	if (!e->g->pid)
		return false;
	snprintf(word, sizeof word, " %s.%s ", what_names[what], name_of(e));
	snprintf(list, sizeof list, " %s ", e->g->only);
	return !strcmp(e->g->only, "all") || strstr(list, word);
}

/* Lets n sides take turns in a cell, and prints their times. line: the first word of the lines */
static void run_together(const char *line, struct entrant *const *some, unsigned n, unsigned turns, enum what what, size_t bytes)
{
	for (unsigned i = 0; i < n; i++) {
		struct entrant *e = some[(i + d.cells) % n];

		e->out = false;
		e->n = e->nstarts = 0;
		bind_entrant(e, what, bytes);
	}
	for (unsigned t = 0; t < turns; t++)
		for (unsigned i = 0; i < n; i++)
			take_turn(some[i], what, bytes);
	for (unsigned i = 0; i < n; i++) {
		print_entrant(line, some[i], what, bytes);
		some[i]->out = !some[i]->bound;
		give(some[i], what, bytes, RELEASE);
	}
}

/* Does the same. If the buffers of all sides do not fit into memory together, each side takes all its turns at once. */
static void run(const char *line, struct entrant *const *some, unsigned n, unsigned turns, enum what what, size_t bytes)
{
	if (n * memory_of(what, bytes) <= d.memory)
		run_together(line, some, n, turns, what, bytes);
	else
		for (unsigned i = 0; i < n; i++)
			run_together(line, some + i, 1, turns, what, bytes);
}

static double median_of(const struct entrant *e)
{
	return e->n ? stats_of(e).median : HUGE_VAL;
}

/* Puts those of n sides into `final` that have a role, or if they run heats, the fastest of them. Returns their number. */
static unsigned qualify(struct entrant *const *from, unsigned n, const char *role, bool heats, struct entrant **final, enum what what,
			size_t bytes)
{
	struct entrant *some[GROUPS_MAX * SIDES_MAX];
	unsigned k = 0, first = 0;

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(from[i]->g->role, role))
			some[k++] = from[i];
	if (heats && k > 1) {
		run("heat", some, k, d.turns, what, bytes);
		for (unsigned i = 1; i < k; i++)
			first = median_of(some[i]) < median_of(some[first]) ? i : first;
		k = 1;
	}
	memcpy(final, some + first, k * sizeof *final);
	return k;
}

/* Measures a cell. */
static void measure(struct entrant *all, unsigned nall, enum what what, size_t bytes)
{
	static const struct {
		const char *name;
		bool heats;
	} roles[] = { { "limit", true }, { "private", true }, { "peer", true }, { "ours", false }, { "served", false } };
	struct entrant *some[GROUPS_MAX * SIDES_MAX], *final[GROUPS_MAX * SIDES_MAX];
	unsigned n = 0, k = 0;

	for (unsigned i = 0; i < nall; i++)
		if (takes_part(&all[i], what))
			some[n++] = &all[i];
	for (unsigned r = 0; r < sizeof roles / sizeof *roles; r++)
		k += qualify(some, n, roles[r].name, roles[r].heats, final + k, what, bytes);
	run("cell", final, k, FINAL * d.turns, what, bytes);
	fflush(stdout);
	d.cells++;
}

/* ---- the command line ---- */

static size_t sizes[16];
static enum what whats[COLLECTIVES];
static unsigned nsizes, nwhats;

static const char usage[] = "usage: drive [OPTION ...] BOARD <GROUPS\n"
			    "  -n RANKS        ranks of a group (2)\n"
			    "  -c NAME,...     collectives (all)\n"
			    "  -s BYTES,...    bytes of a block (8,1024,65536,1048576,16777216)\n"
			    "  -i ITERATIONS   of a turn, for short collectives; long ones have fewer (300)\n"
			    "  -t TURNS        of each side in a heat; twice as many in the final (5)\n"
			    "  -m MIB          memory that all groups together may use (4096)\n"
			    "  -l SECONDS      after which no cell begins (3600)\n";

static _Noreturn void misuse(const char *what)
{
	if (d.board)
		unlink(d.path);
	fprintf(stderr, "drive: %s\n%s", what, usage);
	exit(2);
}

static unsigned number_from(const char *text, unsigned most)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (end == text || *end || !v || v > most)
		misuse("a number is out of range");
	return (unsigned)v;
}

static _Noreturn void misuse_collective(void)
{
	char text[512] = "a collective is ";

	for (unsigned w = 0; w < COLLECTIVES; w++) {
		strcat(text, w ? ", " : "");
		strcat(text, what_names[w]);
	}
	misuse(text);
}

static void take_collectives(char *list)
{
	nwhats = 0;
	for (char *one = strtok(list, ","); one; one = strtok(NULL, ",")) {
		const enum what w = what_named(one);

		if (w == COLLECTIVES || nwhats == COLLECTIVES)
			misuse_collective();
		whats[nwhats++] = w;
	}
}

static void take_sizes(char *list)
{
	nsizes = 0;
	for (char *one = strtok(list, ","); one; one = strtok(NULL, ",")) {
		if (nsizes == sizeof sizes / sizeof *sizes)
			misuse("too many sizes");
		sizes[nsizes] = number_from(one, 1u << 30);
		if (sizes[nsizes++] % sizeof(double))
			misuse("a size is a multiple of 8");
	}
}

static void parse(int argc, char **argv)
{
	int c;

	take_sizes((char[]){ "8,1024,65536,1048576,16777216" });
	for (nwhats = 0; nwhats < COLLECTIVES; nwhats++)
		whats[nwhats] = nwhats;
	while ((c = getopt(argc, argv, "hn:c:s:i:t:m:l:")) != -1)
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		} else if (c == 'n') {
			d.ranks = (int)number_from(optarg, RANKS_MAX);
		} else if (c == 'c') {
			take_collectives(optarg);
		} else if (c == 's') {
			take_sizes(optarg);
		} else if (c == 'i') {
			d.iterations = number_from(optarg, ITERATIONS_MAX);
		} else if (c == 't') {
			d.turns = number_from(optarg, TURNS_MAX);
		} else if (c == 'm') {
			d.memory = (uint64_t)number_from(optarg, 1u << 30) << 20;
		} else if (c == 'l') {
			d.seconds = number_from(optarg, 1u << 30);
		} else {
			misuse("wrong option");
		}
	if (optind != argc - 1)
		misuse("one board is needed");
	d.path = argv[optind];
}

static void read_groups(void)
{
	char line[1200];

	while (fgets(line, sizeof line, stdin)) {
		struct group *g = &d.groups[d.ngroups];
		const char *role = strtok(line, "\t"), *label = strtok(NULL, "\t");
		const char *only = strtok(NULL, "\t"), *start = strtok(NULL, "\n");

		if (!start)
			misuse("a group is a role, a label, what it is for, and a command, with tabs between them");
		if (d.ngroups == GROUPS_MAX)
			misuse("too many groups");
		g->on = &d.board->groups[d.ngroups++];
		snprintf(g->role, sizeof g->role, "%s", role);
		snprintf(g->label, sizeof g->label, "%s", label);
		snprintf(g->only, sizeof g->only, "%s", only);
		snprintf(g->command, sizeof g->command, "%s", start);
	}
}

/* Finds out how many ticks a microsecond has, and how many it takes to read the clock. */
static void calibrate(void)
{
	const uint64_t ns = clock_now_ns(), t = board_ticks();
	uint64_t passed;

	nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	passed = board_ticks() - t;
	d.ticks_per_us = (double)passed * 1e3 / (double)(clock_now_ns() - ns);
	d.clock = UINT64_MAX;
	for (int i = 0; i < 1000; i++) {
		const uint64_t before = board_ticks(), took = board_ticks() - before;

		d.clock = took < d.clock ? took : d.clock;
	}
	d.board->lead = (uint64_t)(d.ticks_per_us * (LEAD_NS + (d.sharing - 1) * LEAD_CHANGE_NS) / 1e3);
}

static struct entrant *enter(unsigned *n)
{
	struct entrant *all = calloc((size_t)GROUPS_MAX * SIDES_MAX, sizeof *all);
	const size_t most = (size_t)FINAL * d.turns * ITERATIONS_MAX;

	*n = 0;
	for (unsigned i = 0; all && i < d.ngroups; i++)
		for (unsigned s = 0; s < d.groups[i].nsides; s++) {
			struct entrant *e = &all[(*n)++];

			e->g = &d.groups[i];
			e->side = s;
			e->us = malloc(most * sizeof *e->us);
			e->starts = malloc(most * sizeof *e->starts);
			if (!e->us || !e->starts)
				return NULL;
		}
	return all;
}

static void leave(struct entrant *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(all[i].us);
		free(all[i].starts);
	}
	free(all);
}

/* Lets the ranks of a group end by themselves, as an MPI library wants it. */
static void end_group(struct group *g)
{
	const uint64_t limit = clock_now_ns() + LIMIT_NS / 20;

	if (!command(g, QUIT))
		return;
	while (!has_ended(g) && clock_now_ns() < limit)
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
}

/* Measures the cells, the small ones first. */
static void measure_all(struct entrant *all, unsigned n)
{
	const uint64_t end = clock_now_ns() + d.seconds * 1000000000u;

	for (unsigned s = 0; s < nsizes; s++)
		for (unsigned w = 0; w < nwhats; w++) {
			const size_t bytes = whats[w] == BARRIER ? 0 : sizes[s];

			if (whats[w] == BARRIER && s)
				continue;
			if (clock_now_ns() < end)
				measure(all, n, whats[w], bytes);
			else
				printf("none %d %s %zu - - - no time was left\n", d.ranks, what_names[whats[w]], bytes);
		}
}

int main(int argc, char **argv)
{
	struct entrant *all;
	unsigned n;

	parse(argc, argv);
	d.board = board_map(d.path, true);
	if (!d.board) {
		fprintf(stderr, "drive: %s: %s\n", d.path, strerror(errno));
		return 1;
	}
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	d.board->driver = getpid();
	read_groups();
	d.sharing = ((unsigned)d.ranks + bench_cores() - 1) / bench_cores();
	for (unsigned i = 0; i < d.ngroups; i++)
		start_group(&d.groups[i]);
	calibrate();
	all = enter(&n);
	if (!all) {
		fputs("drive: out of memory\n", stderr);
		clean_up();
		return 1;
	}
	measure_all(all, n);
	for (unsigned i = 0; i < d.ngroups; i++)
		end_group(&d.groups[i]);
	leave(all, n);
	clean_up();
	return d.failed;
}
