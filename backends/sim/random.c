/* SPDX-License-Identifier: BSD-3-Clause
 * Random times, see random.h. */
#include "backends/sim/random.h"

#include "util/hash64.h"

/* Returns the next of the numbers that follow from a state: a counter that is hashed. */
static uint64_t draw_number(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15;
	return hash64(*state ^ *state >> 32);
}

/* Returns `most` times a number between 0 and 1. */
static uint64_t part_of(uint64_t number, uint64_t most)
{
	return (uint64_t)((unsigned __int128)number * most >> 64);
}

/* Draws by the method of von Neumann (Various techniques used in connection with random digits, 1951), which only compares. */
static uint64_t draw_exponential(uint64_t mean, uint64_t *state)
{
	for (uint64_t whole = 0;; whole += mean) {
		const uint64_t first = draw_number(state);
		uint64_t last = first, next = draw_number(state);
		unsigned n = 1; /* numbers that descend */

		for (; next < last; n++) {
			last = next;
			next = draw_number(state);
		}
		if (n % 2)
			return whole + part_of(first, mean);
	}
}

uint64_t random_time(const struct sim_random *r, uint64_t seed, uint64_t key)
{
	uint64_t state = hash64(hash64(seed + 1) + key);

	switch (r->kind) {
	case RANDOM_UNIFORM:
		return part_of(draw_number(&state), r->ns + 1);
	case RANDOM_EXPONENTIAL:
		return draw_exponential(r->ns, &state);
	default:
		return 0;
	}
}
