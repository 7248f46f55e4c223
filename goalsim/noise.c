/* SPDX-License-Identifier: BSD-3-Clause
 * The options --start and --noise of goalsim(1): random times, and start times from a file. */
#include "goalsim/goalsim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NS ((int64_t)1 << 40)
#define START_KEY UINT64_MAX /* start times have keys from here downwards; ops count from 0 */

/* ---- options ---- */

/* Parses "uniform:NS" or "exponential:NS". Returns false for other texts. */
static bool parse_random(const char *arg, struct sim_random *out)
{
	static const struct {
		const char *name;
		int kind;
	} kinds[] = { { "uniform:", RANDOM_UNIFORM }, { "exponential:", RANDOM_EXPONENTIAL } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const size_t n = strlen(kinds[i].name);
		int64_t ns;

		if (strncmp(arg, kinds[i].name, n))
			continue;
		if (!option_number(arg + n, 0, MOST_NS, &ns))
			return false;
		*out = (struct sim_random){ .kind = (unsigned)kinds[i].kind, .ns = (uint64_t)ns };
		return true;
	}
	return false;
}

int noise_take(const struct option_use *u)
{
	return parse_random(u->arg, u->field) ? EXIT_OK :
		       usage("%s takes uniform:NS or exponential:NS with 0 to 2^40 ns, not %s", u->name, u->arg);
}

int noise_take_start(const struct option_use *u)
{
	struct start_times *s = u->field;

	if (parse_random(u->arg, &s->random))
		return EXIT_OK;
	if (!strncmp(u->arg, "uniform:", 8) || !strncmp(u->arg, "exponential:", 12))
		return noise_take(u);
	s->file = u->arg;
	return EXIT_OK;
}

/* ---- start times ---- */

static int refuse_file(const struct goalsim *s, const char *why)
{
	progress_end(s->progress);
	fprintf(stderr, "%s: error: %s\n", option_source(s->start.file), why);
	return -ERR_SYNTAX;
}

/* Takes a number for each rank from a text. */
static int parse_times(struct goalsim *s, char *text)
{
	char *at = text;

	for (uint32_t i = 0; i < s->binary.source.nranks; i++) {
		char why[160], *end;
		long long ns;

		at += strspn(at, " \t\r\n");
		errno = 0;
		ns = strtoll(at, &end, 10);
		if (end != at && !errno && ns >= 0 && ns <= MOST_NS && strchr(" \t\r\n", *end)) {
			s->start.ns[i] = (uint64_t)ns;
			at = end;
			continue;
		}
		if (*at)
			snprintf(why, sizeof why, "the start time of rank %" PRIu32 " is no number from 0 to 2^40: %.*s", i,
				 (int)(strcspn(at, " \t\r\n") < 40 ? strcspn(at, " \t\r\n") : 40), at);
		else
			snprintf(why, sizeof why, "it has the start times of %" PRIu32 " ranks, and the schedule has %" PRIu32, i,
				 s->binary.source.nranks);
		return refuse_file(s, why);
	}
	at += strspn(at, " \t\r\n");
	return *at ? refuse_file(s, "it has start times of more ranks than the schedule has") : 0;
}

static int read_times(struct goalsim *s)
{
	struct file f;
	int err = option_open(s->start.file, &f);

	err = err ? err : file_load(&f);
	if (err == -ERR_SYS)
		refuse_file(s, file_why(errno));
	err = err ? err : parse_times(s, f.data);
	file_close(&f);
	return err;
}

int noise_start(struct goalsim *s)
{
	struct start_times *t = &s->start;
	const uint32_t n = s->binary.source.nranks;
	int err;

	if (!t->file && t->random.kind == RANDOM_NONE && !s->machine.start)
		return 0;
	t->ns = mem_alloc(n * sizeof *t->ns);
	if (!t->ns) {
		no_memory();
		return -ERR_NOMEM;
	}
	s->params.start = t->ns;
	for (uint32_t i = 0; i < n && !t->file; i++)
		t->ns[i] = random_time(&t->random, s->params.seed, START_KEY - i);
	err = t->file ? read_times(s) : 0;
	for (uint32_t i = 0; i < n && !err; i++)
		t->ns[i] += (uint64_t)s->machine.start;
	return err;
}

void noise_end(struct goalsim *s)
{
	free(s->start.ns);
	s->start.ns = NULL;
	s->params.start = NULL;
}
