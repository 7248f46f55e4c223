/* SPDX-License-Identifier: BSD-3-Clause
 * referee [-n A-B] [-s SEEDS] FILE...: executes schedules that need not be right, at sizes A to B, some roots and
 * counts, in random orders. Exit status 0: nothing ever failed; 1: something did; 3: a text could not be compiled. */
#include "tests/mutants/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
	uint32_t from, to;
	uint64_t seeds;
};

/* Runs one case; whether it was right. */
static bool right(const struct options *o, const char *file, const struct subject *s, uint32_t ranks, int64_t count,
		  unsigned which, int64_t root)
{
	struct sized z;
	struct exec *x;
	enum exec_end end = EXEC_RIGHT;
	uint32_t rank = 0;
	int err = sized_open(&z, s, ranks, count, which, root);

	if (err == -ERR_ASSERT)
		return true;
	if (err) {
		printf("%s: %u ranks, count %lld, sample %u, root %lld: %s\n", file, ranks, (long long)count, which,
		       (long long)root, err_text(-err));
		return false;
	}
	x = exec_new(z.world, &z.graph);
	if (!x)
		abort();
	for (uint64_t seed = 0; seed < o->seeds && end == EXEC_RIGHT; seed++) {
		end = exec_run(x, seed, &rank);
		if (end != EXEC_RIGHT)
			printf("%s: %u ranks, count %lld, sample %u, root %lld: %s at rank %u with seed %llu\n", file,
			       ranks, (long long)count, which, (long long)root, exec_end_words[end], rank,
			       (unsigned long long)seed);
	}
	exec_free(x);
	sized_close(&z);
	return end == EXEC_RIGHT;
}

static int one_file(const struct options *o, const char *file)
{
	struct subject s;
	int err = subject_open(&s, file, o->from == o->to ? o->from : 0);
	bool ok = true;

	if (err) {
		fputs(s.diags ? goal_diags_text(s.diags) : err_text(-err), stdout);
		subject_close(&s);
		return 3;
	}
	uint32_t from = s.bin.meta->nranks ? s.bin.meta->nranks : o->from;
	uint32_t to = s.bin.meta->nranks ? s.bin.meta->nranks : o->to;
	unsigned samples = collective_samples(&s.bin);

	for (uint32_t p = from; p <= to && ok; p++) {
		static const int64_t counts[] = { 7, 1, 0 };
		int64_t roots[] = { 0, p / 2, p - 1 };
		unsigned nroots = s.bin.meta->root == BIN_NONE ? 1 : p > 2 ? 3 : p;

		for (unsigned i = 0; i < 3 * nroots * samples && ok; i++)
			ok = right(o, file, &s, p, counts[i % 3], i / 3 % samples, roots[i / 3 / samples]);
	}
	subject_close(&s);
	return !ok;
}

int main(int argc, char **argv)
{
	struct options o = { .from = 1, .to = 9, .seeds = 100 };
	int c, worst = 0;

	while ((c = getopt(argc, argv, "n:s:")) != -1)
		switch (c) {
		case 'n':
			if (sscanf(optarg, "%u-%u", &o.from, &o.to) == 1)
				o.to = o.from;
			break;
		case 's':
			o.seeds = strtoul(optarg, NULL, 10);
			break;
		default:
			return 2;
		}
	for (; optind < argc; optind++) {
		int rc = one_file(&o, argv[optind]);

		worst = rc > worst ? rc : worst;
	}
	return worst;
}
