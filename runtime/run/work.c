/* SPDX-License-Identifier: BSD-3-Clause
 * Computing without touching memory. */
#include "runtime/run/work.h"

#include <time.h>

#define STEPS 16u /* of a unit */

/* Four chains, so that the multiplier always has something to do: then this is bound by the core itself, and what a
 * hardware thread beside it does shows. */
void work_do(uint64_t units)
{
	uint64_t a = 1, b = 2, c = 3, d = 4;

	for (uint64_t n = units * STEPS; n; n--) {
		a = a * 6364136223846793005u + 1;
		b = b * 6364136223846793005u + 3;
		c = c * 6364136223846793005u + 5;
		d = d * 6364136223846793005u + 7;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d)); /* all of it is needed */
	}
}

static double computed_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double work_rate(void)
{
	enum { TRIES = 9, UNITS = 20000 };
	double best = 0;

	for (int i = 0; i < TRIES; i++) {
		double t = computed_ns(), rate;

		work_do(UNITS);
		rate = UNITS / (computed_ns() - t);
		best = rate > best ? rate : best;
	}
	return best;
}
