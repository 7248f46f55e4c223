/* SPDX-License-Identifier: BSD-3-Clause
 * Statistics, with GOAL_MPI_STATS=1: which schedule has served which collective, how often, and how long its calls took; and
 * which calls were left to the MPI library, and why. Printed to stderr by each rank when MPI is finalized. */
#include "mpi/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	bool on;
	struct gm_record *first;
	_Atomic unsigned spread[2]; /* communicators on several nodes; [1]: those that send by messages of the MPI library */
} stats = { .lock = PTHREAD_MUTEX_INITIALIZER };

void gm_stats_begin(void)
{
	const char *s = getenv("GOAL_MPI_STATS");

	stats.on = s && *s && strcmp(s, "0") != 0;
}

bool gm_counts(void)
{
	return stats.on;
}

void gm_count_spread(bool by_messages)
{
	atomic_fetch_add(&stats.spread[by_messages], 1);
}

static struct gm_record *find(enum gm_coll coll, bool once, enum gm_outcome outcome, const char *what)
{
	struct gm_record *r = stats.first;

	while (r && !(r->coll == coll && r->once == once && r->outcome == outcome && !strcmp(r->what, what)))
		r = r->next;
	return r;
}

struct gm_record *gm_record_of(enum gm_coll coll, bool once, enum gm_outcome outcome, const char *what)
{
	struct gm_record *r;

	if (!stats.on)
		return NULL;
	pthread_mutex_lock(&stats.lock);
	r = find(coll, once, outcome, what);
	if (!r && (r = calloc(1, sizeof *r))) {
		r->what = strdup(what);
		r->coll = coll;
		r->once = once;
		r->outcome = outcome;
		r->next = stats.first;
		if (r->what) {
			stats.first = r;
		} else {
			free(r);
			r = NULL;
		}
	}
	if (r)
		atomic_fetch_add(&r->inits, 1);
	pthread_mutex_unlock(&stats.lock);
	return r;
}

static double mean_us(uint64_t ns, uint64_t n)
{
	return n ? (double)ns / 1000 / (double)n : 0;
}

/* "MPI_Bcast", or "MPI_Ibcast" */
static const char *name_of(const struct gm_record *r, char *buf, size_t size)
{
	const char *name = gm_specs[r->coll].name;

	if (!r->once)
		return name;
	snprintf(buf, size, "MPI_I%c%s", name[4] - 'A' + 'a', name + 5);
	return buf;
}

static void print_served(int rank, const struct gm_record *r)
{
	char buf[64];

	gm_say("goalmpi: rank %d: %s by %s: %llu inits, %llu starts, mean us: start %.2f, wait %.2f, between them %.2f\n", rank,
		name_of(r, buf, sizeof buf), r->what, (unsigned long long)r->inits, (unsigned long long)r->starts,
		mean_us(r->start_ns, r->starts), mean_us(r->wait_ns, r->starts), mean_us(r->apart_ns, r->starts));
}

static void print_spread(int rank)
{
	const unsigned rdma = atomic_exchange(&stats.spread[0], 0), messages = atomic_exchange(&stats.spread[1], 0);

	if (rdma + messages)
		gm_say("goalmpi: rank %d: communicators on several nodes: %u send by RDMA, %u by messages of the MPI library\n",
			rank, rdma, messages);
}

static void print_moved(int rank)
{
	struct MPIX_Sched_stats s = { .struct_size = sizeof s };

	if (gm_loaded() && gm_lib.stats(gm_ctx(), &s) == MPIX_SCHED_SUCCESS && s.moved_bytes)
		gm_say("goalmpi: rank %d: %llu bytes of the program's memory were moved to the shared heap\n", rank,
			(unsigned long long)s.moved_bytes);
}

void gm_stats_end(void)
{
	int rank = 0;

	if (stats.on && (stats.first || stats.spread[0] || stats.spread[1])) {
		PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
		print_spread(rank);
		print_moved(rank);
	}
	while (stats.first) {
		struct gm_record *r = stats.first;
		char buf[64];

		if (r->outcome == GM_SERVED)
			print_served(rank, r);
		else
			gm_say("goalmpi: rank %d: %s %s: %llu inits: %.*s\n", rank, name_of(r, buf, sizeof buf),
				r->outcome == GM_LEFT ? "by the MPI library" : "refused", (unsigned long long)r->inits,
				(int)strcspn(r->what, "\n"), r->what);
		stats.first = r->next;
		free(r->what);
		free(r);
	}
}
