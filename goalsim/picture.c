/* SPDX-License-Identifier: BSD-3-Clause
 * What pictures of simulations say about themselves: which machine is simulated, and what runs on it. */
#include "goalsim/goalsim.h"

#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>

static void add_random(struct text *t, const char *what, const struct sim_random *r)
{
	if (r->kind == RANDOM_UNIFORM)
		text_add(t, "; %s 0 to %" PRIu64 " ns later, uniform", what, r->ns);
	else if (r->kind == RANDOM_EXPONENTIAL)
		text_add(t, "; %s %" PRIu64 " ns later on average, exponential", what, r->ns);
}

/* Adds a number of bytes as people read it: 16 KiB. */
static void add_bytes(struct text *t, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
	unsigned k = 0;

	for (; k < 3 && bytes && bytes % 1024 == 0; k++)
		bytes /= 1024;
	text_add(t, "%" PRIu64 " %s", bytes, bytes == 1 && !k ? "byte" : units[k]);
}

/* Adds the size of a block. The schedules of a sweep have none yet, so that their count is known only if the options have it. */
static void add_count(struct text *t, const struct goalsim *s)
{
	const bool open = s->binary.source.nranks > 0;
	const int64_t count = s->count < 0 && open ? s->binary.args.count : s->count;

	if (open && s->binary.b.meta->flags & BIN_F_PLAIN) {
		text_add(t, "messages of the sizes in the schedule");
	} else if (count < 0) {
		text_add(t, "blocks of ");
		add_bytes(t, s->element);
		text_add(t, ", unless the schedule has a count of its own");
	} else {
		text_add(t, "blocks of ");
		add_bytes(t, (uint64_t)count * s->element);
	}
}

static void add_node(struct text *t, const struct goalsim *s)
{
	if (!s->node.cores)
		return;
	text_add(t, "; one node, %" PRId64 " cores", s->node.cores);
	if (s->node.numa > 1)
		text_add(t, " on %" PRId64 " NUMA nodes", s->node.numa);
	if (s->node.asked.comm_cores >= 0)
		text_add(t, ", %" PRId64 " of them for communication", s->node.asked.comm_cores);
	if (s->node.compute > 0)
		text_add(t, "; a computation of %g ms on all cores", (double)s->node.compute * 1e-6);
}

int picture_notes(const struct goalsim *s, struct picture_notes *n)
{
	struct text t = { 0 };

	n->machine = sim_machine_text(&s->machine);
	add_count(&t, s);
	if (s->passes)
		text_add(&t, "; passes %s", s->passes);
	add_node(&t, s);
	add_random(&t, "ranks start", &s->start.random);
	if (s->start.file)
		text_add(&t, "; ranks start as in %s", option_source(s->start.file));
	add_random(&t, "ops and messages end", &s->noise);
	if (s->start.random.kind != RANDOM_NONE || s->noise.kind != RANDOM_NONE)
		text_add(&t, "; seed %" PRId64, s->seed);
	return text_take(&t, &n->what) ? -ERR_NOMEM : 0;
}
