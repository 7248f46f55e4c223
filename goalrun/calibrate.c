/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --calibrate: measures two ranks, and prints the parameters with which goalsim(1) simulates them.
 *
 * Each schedule below is run as any other one. In the LogGOPS model a message of s bytes between idle ranks takes
 * 2o + L + (s - 1)G, which is half a round trip. A rank that sends k messages at its start needs k times o for it, and the last of
 * them comes k - 1 times g after the first. If both ranks send at once, each copies what it sends and what it receives, which O
 * stands for. */
#include "goalrun/goalrun.h"
#include "util/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 3 /* measurements of each time, of which the median counts */
#define STARTS 300
#define SMALL 3 /* sizes whose bytes take no time yet */
#define MANY 9 /* messages of a start */

enum what { EMPTY, ROUND_TRIP, EXCHANGE, COPY, REDUCE, ONE, SEVERAL, WHATS };

static const struct {
	const char *name, *k, *text; /* k: a value of -D, or NULL */
} schedules[WHATS] = {
	[EMPTY] = { "a start without ops", NULL, "schedule empty\nbuffer in x[count]\nrank r of p { }\n" },
	[ROUND_TRIP] = { "round trips", NULL,
			 "schedule round_trip\nbuffer in x[count]\nbuffer out y[count]\nrank r of p {\n if p == 2 {\n"
			 "  out: send x to 1 - r\n  got: recv y from 1 - r\n  if r == 1 { out requires got }\n }\n}\n" },
	[EXCHANGE] = { "exchanges", NULL,
		       "schedule exchange\nbuffer in x[count]\nbuffer out y[count]\nrank r of p {\n if p == 2 {\n"
		       "  send x to 1 - r\n  recv y from 1 - r\n }\n}\n" },
	[COPY] = { "copies", NULL, "schedule copying\nbuffer in x[count]\nbuffer out y[count]\nrank r of p { copy x into y }\n" },
	[REDUCE] = { "reductions", NULL,
		     "schedule reducing\nbuffer in x[count]\nbuffer inout y[count]\nrank r of p { reduce x into y }\n" },
#define ONE_WAY                                                                                                                       \
	"schedule one_way(k = 1)\nbuffer in x[k * count]\nbuffer out y[k * count]\nrank r of p {\n for i = 0 to p == 2 ? k - 1 : -1 {\n" \
	"  if r == 0 { send x[i * count +: count] to 1 } else { recv y[i * count +: count] from 0 }\n }\n}\n"
	[ONE] = { "a message", "k=1", ONE_WAY },
	[SEVERAL] = { "several messages", "k=9", ONE_WAY },
};
_Static_assert(MANY == 9, "the value of k");

static const int64_t sizes[] = { 8, 64, 512, 4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576 }; /* bytes */
#define SIZES (sizeof sizes / sizeof *sizes)
_Static_assert(SIZES <= SIM_MOST_POINTS, "goalsim reads them");

/* Times in ns. */
struct calibration {
	const struct goalrun *g; /* the command line */
	double total[WHATS][SIZES], start[WHATS][SIZES]; /* of start and wait, and of start alone */
	struct progress progress;
};

/* ---- measurements ---- */

/* Prepares the run of a schedule for the first n sizes, with a file in memory. */
static int prepare_run(struct calibration *c, enum what what, size_t n, const char *path, struct goalrun **out)
{
	struct goalrun *g;
	int rc = run_open_again(c->g, out);

	if (rc)
		return rc;
	g = *out;
	g->input = path;
	g->o.nranks = g->o.here = 2;
	g->o.iters = STARTS;
	for (size_t i = 0; i < n && !rc; i++)
		rc = VEC_PUSH(&g->counts, sizes[i] / (int64_t)sizeof(double)) ? no_memory() : EXIT_OK;
	if (!rc && schedules[what].k && option_define(&g->o.defines, schedules[what].k, false))
		rc = no_memory();
	rc = rc ? rc : run_prepare_schedule(g);
	return rc ? rc : run_prepared(g);
}

/* Runs a schedule for the first n sizes, and stores the times of a round. */
static int measure_once(struct calibration *c, enum what what, size_t n, double total[SIZES], double start[SIZES])
{
	const size_t len = strlen(schedules[what].text);
	const int fd = memfd_create("goal-calibrate", MFD_CLOEXEC);
	struct goalrun *g = NULL;
	char path[32];
	int rc = fd < 0 || write(fd, schedules[what].text, len) != (ssize_t)len ? run_fault("%s", run_errno_text()) : EXIT_OK;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	rc = rc ? rc : prepare_run(c, what, n, path, &g);
	for (size_t i = 0; i < n && !rc; i++) {
		total[i] = g->results[i].median_us * 1e3;
		start[i] = g->results[i].start_us * 1e3;
	}
	run_free(g);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int measure_all(struct calibration *c)
{
	int rc = EXIT_OK;

	for (enum what what = 0; what < WHATS && !rc; what++) {
		const size_t n = what == EMPTY || what >= ONE ? 1 : SIZES;
		double total[ROUNDS][SIZES], start[ROUNDS][SIZES];

		for (unsigned k = 0; k < ROUNDS && !rc; k++) {
			progress_tick(&c->progress, "%s: round %u of %u", schedules[what].name, k + 1, ROUNDS);
			rc = measure_once(c, what, n, total[k], start[k]);
		}
		for (size_t i = 0; i < n && !rc; i++) {
			double v[2][ROUNDS];

			for (unsigned k = 0; k < ROUNDS; k++) {
				v[0][k] = total[k][i];
				v[1][k] = start[k][i];
			}
			c->total[what][i] = work_median(v[0], ROUNDS);
			c->start[what][i] = work_median(v[1], ROUNDS);
		}
	}
	return rc;
}

/* ---- parameters ---- */

static double at_least(double least, double x)
{
	return x > least ? x : least;
}

/* Returns the time of half a round trip. */
static double hop_of(const struct calibration *c, size_t i)
{
	return at_least(1, (c->total[ROUND_TRIP][i] - c->total[EMPTY][0]) / 2);
}

static double small_of(const struct calibration *c, enum what what)
{
	double v[SMALL];

	for (size_t i = 0; i < SMALL; i++)
		v[i] = what == ROUND_TRIP ? hop_of(c, i) : c->total[what][i];
	return work_median(v, SMALL);
}

/* Returns what the bytes of half a round trip add to it. */
static double gap_of(const struct calibration *c, size_t i)
{
	return at_least(0, hop_of(c, i) - small_of(c, ROUND_TRIP));
}

/* Returns what the bytes of a message cost its sender. In the model an exchange takes max(L, O) + G more than its two overheads. So O
 * is L plus what the bytes add to an exchange beyond G; at most G, the time of one copy of them; and 0 if it cannot be seen. */
static double overhead_of(const struct calibration *c, double L, size_t i)
{
	const double more = c->total[EXCHANGE][i] - small_of(c, EXCHANGE) - gap_of(c, i);

	if (more <= 0)
		return 0;
	return L + more < gap_of(c, i) ? L + more : gap_of(c, i);
}

static void print_measured(const struct calibration *c)
{
	printf("#   bytes  half a round trip    exchange        copy   reduction, median ns\n");
	for (size_t i = 0; i < SIZES; i++)
		printf("# %7" PRId64 " %18.0f %11.0f %11.0f %11.0f\n", sizes[i], hop_of(c, i), c->total[EXCHANGE][i], c->total[COPY][i],
		       c->total[REDUCE][i]);
}

/* Prints the costs of all sizes. */
static void print_costs(const struct calibration *c, const char *name, enum what what, double L)
{
	printf("%s", name);
	for (size_t i = 0; i < SIZES; i++)
		printf(" %" PRId64 ":%.0f", sizes[i],
		       what == ROUND_TRIP ? gap_of(c, i) :
		       what == EXCHANGE	  ? overhead_of(c, L, i) :
					    at_least(0, c->total[what][i] - c->total[EMPTY][0]));
	printf("\n");
}

static void print_params(const struct calibration *c)
{
	const double o = at_least(0, (c->start[SEVERAL][0] - c->start[ONE][0]) / (MANY - 1));
	const double g = at_least(0, (c->total[SEVERAL][0] - c->total[ONE][0]) / (MANY - 1));
	const double L = at_least(0, small_of(c, ROUND_TRIP) - 2 * o);

	printf("L %.0f\n", L);
	printf("o %.0f\n", o);
	printf("g %.0f\n", g);
	print_costs(c, "G", ROUND_TRIP, L);
	print_costs(c, "O", EXCHANGE, L);
	print_costs(c, "copy", COPY, L);
	print_costs(c, "reduce", REDUCE, L);
	printf("start %.0f\n", c->total[EMPTY][0]);
}

int run_calibrate(struct goalrun *g)
{
	struct calibration *c = mem_calloc(1, sizeof *c);
	int rc = c ? EXIT_OK : no_memory();

	if (c) {
		c->g = g;
		progress_begin(&c->progress, "goalrun");
		rc = measure_all(c);
		progress_end(&c->progress);
	}
	if (!rc) {
		printf("# goalrun --calibrate of goalsched %s: 2 ranks (%s), backend %s, type double\n", GOAL_VERSION,
		       g->o.threads ? "threads" : "processes", run_backend_name(&g->o));
		print_measured(c);
		print_params(c);
	}
	free(c);
	return rc ? rc : option_flush("goalrun");
}
