/* SPDX-License-Identifier: BSD-3-Clause
 * Tags. Each rank chooses the tags of the messages that it receives, so that no two messages to it have the same tag, whichever
 * requests and subgroups they belong to. A tag is used again as late as possible, because a failed request may have left
 * messages. */
#include "backends/mpi/mp.h"
#include "backends/transport.h"

#include <string.h>

/* Finds n free tags from `from` on. Returns the first of them, and in *at where they belong in the list. */
static uint32_t find_tags(const struct be_transport *t, uint32_t from, uint32_t n, size_t *at)
{
	for (*at = 0; *at < t->taken.n; ++*at) {
		const struct be_tags *r = &t->taken.at[*at];

		if (r->first >= from && r->first - from >= n)
			break;
		if (r->first + r->n > from)
			from = r->first + r->n;
	}
	return from;
}

/* Tags are at most t->of.tags. */
static bool tags_fit(const struct be_transport *t, uint32_t first, uint32_t n)
{
	return first <= t->of.tags && t->of.tags - first >= n;
}

int mp_take_tags(struct be_group *g, uint32_t n, uint32_t *first)
{
	struct be_transport *t = group_transport(g);
	int err = 0;
	size_t at;

	pthread_mutex_lock(&t->lock);
	*first = find_tags(t, t->next, n, &at);
	if (!tags_fit(t, *first, n))
		*first = find_tags(t, 0, n, &at);
	if (!tags_fit(t, *first, n))
		err = group_error(g, -ERR_RANGE, "the transport has too few tags: %u", t->of.tags);
	else if (VEC_RESERVE(&t->taken, t->taken.n + 1))
		err = group_error(g, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	if (!err) {
		memmove(t->taken.at + at + 1, t->taken.at + at, (t->taken.n++ - at) * sizeof *t->taken.at);
		t->taken.at[at] = (struct be_tags){ *first, n };
		t->next = *first + n;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

void mp_give_tags(struct be_group *g, uint32_t first)
{
	struct be_transport *t = group_transport(g);
	size_t at = 0;

	pthread_mutex_lock(&t->lock);
	while (t->taken.at[at].first != first)
		at++;
	t->taken.n--;
	memmove(t->taken.at + at, t->taken.at + at + 1, (t->taken.n - at) * sizeof *t->taken.at);
	pthread_mutex_unlock(&t->lock);
}
