/* SPDX-License-Identifier: BSD-3-Clause
 * What goalc --verify says of a schedule that it has proved. */
#include "compiler/verify_cases.h"

#include "util/text.h"

#include <inttypes.h>
#include <string.h>

/* "1-17, 31-33, 64 ranks". */
static void add_sizes(struct text *t, const uint32_t *v, size_t n)
{
	for (size_t i = 0, last; i < n; i = last + 1) {
		for (last = i; last + 1 < n && v[last + 1] == v[last] + 1;)
			last++;
		text_add(t, last == i ? "%s%u" : "%s%u-%u", i ? ", " : "", v[i], v[last]);
	}
	text_add(t, " rank%s", n == 1 && v[0] == 1 ? "" : "s");
}

static void add_claim(struct text *t, const struct bin *b, const struct verify_result *r)
{
	const char *name = bin_str(b, b->meta->implements);

	if (b->meta->flags & BIN_F_PLAIN)
		text_add(t, "messages and deadlocks");
	else if (!r->claims && *name)
		text_add(t, "messages, deadlocks and races; there is no definition of %s", name);
	else if (!r->claims)
		text_add(t, "messages, deadlocks and races; it does not say what it does");
	else if (*name)
		text_add(t, "it does what %s does", name);
	else
		text_add(t, "it does what its result says");
}

int verify_text(const struct bin *b, const char *file, const struct verify_result *r, char **out)
{
	const char *name = bin_str(b, b->meta->name);
	struct text t = { 0 };

	text_add(&t, "%s: proved for ", *name ? name : file);
	add_sizes(&t, r->sizes.at, r->sizes.n);
	text_add(&t, " (%" PRIu64 " case%s): ", r->cases, r->cases == 1 ? "" : "s");
	add_claim(&t, b, r);
	text_add(&t, "\n");
	if (r->ruled_out.n) {
		text_add(&t, "  not for ");
		add_sizes(&t, r->ruled_out.at, r->ruled_out.n);
		text_add(&t, ", by its own assertions\n");
	}
	if (!(b->meta->flags & BIN_F_PLAIN))
		text_add(&t,
			 "  messages of %u ranks: %" PRIu64 "; safe by data flow: %" PRIu64
			 "; need a ready signal: %" PRIu64 "\n",
			 r->sizes.at[r->sizes.n - 1], r->report.messages, r->report.safe, r->report.ready);
	if (r->report.lowered)
		text_add(&t, "  command queues of a rank: at most %u, with at most %u entries; ops for CPUs: %" PRIu64 "\n",
			 r->report.queues, r->report.entries, r->report.cpu);
	if (r->differ[2])
		text_add(&t, "  of %u ranks, %u and %u reduce in different brackets: floating point may differ\n",
			 r->differ[2], r->differ[0], r->differ[1]);
	return text_take(&t, out);
}
