/* SPDX-License-Identifier: BSD-3-Clause
 * A hash table of label names. Most names are a word and a number that counts up. The hash counts up with the number, so
 * names that follow each other in the text follow each other in the table. The table of a rank with millions of ops thus stays
 * in the caches. */
#include "lang/labels.h"

#include <stdlib.h>
#include <string.h>

#define FEW 64u

void goal_labels_clear(struct goal_labels *l)
{
	l->names.n = 0;
	l->end.n = 0;
	if (l->slots.n > FEW)
		l->slots.n = FEW;
	if (l->slots.n)
		memset(l->slots.at, 0, l->slots.n * sizeof *l->slots.at);
}

void goal_labels_fini(struct goal_labels *l)
{
	VEC_FREE(&l->names);
	VEC_FREE(&l->end);
	VEC_FREE(&l->slots);
}

const char *goal_label_text(const struct goal_labels *l, uint32_t label, size_t *len)
{
	uint32_t from = label ? l->end.at[label - 1] + 1 : 0;

	*len = l->end.at[label] - from;
	return l->names.at + from;
}

struct key {
	const char *s;
	size_t len;
	uint32_t word, number; /* the two parts of the hash: of the word, and the number at the end */
};

/* Measures and hashes the name at s. */
static struct key key_of(const char *s)
{
	struct key k = { s, 0, 2166136261u, 0 };

	for (;; k.len++) {
		uint32_t digit = (uint32_t)(unsigned char)s[k.len] - '0';

		if (digit < 10) {
			k.number = k.number * 10 + digit;
		} else if (goal_is_name(s[k.len])) {
			k.word = (k.word ^ (k.number << 8) ^ digit) * 16777619u;
			k.number = 0;
		} else {
			return k;
		}
	}
}

static bool label_equals(const struct goal_labels *l, uint32_t label, const struct key *k)
{
	size_t n;
	const char *t = goal_label_text(l, label, &n);

	if (n != k->len)
		return false;
	for (size_t i = 0; i < n; i++)
		if (t[i] != k->s[i])
			return false;
	return true;
}

/* Returns the slot of a label, or the free slot for it. The step between probes depends on the word, so that names with
 * different words but equal numbers do not collide again and again. */
static uint32_t *label_slot(const struct goal_labels *l, const struct key *k)
{
	const size_t mask = l->slots.n - 1, step = k->word >> 7 | 1;
	size_t at = (k->word + k->number) & mask;

	while (l->slots.at[at] && !label_equals(l, l->slots.at[at] - 1, k))
		at = (at + step) & mask;
	return &l->slots.at[at];
}

/* Doubles the number of slots, so that at most half of them are used. */
static int grow_slots(struct goal_labels *l)
{
	size_t n = l->slots.n ? l->slots.n * 2 : FEW;

	if (n > UINT32_MAX || VEC_RESERVE(&l->slots, n))
		return -ERR_NOMEM;
	l->slots.n = n;
	memset(l->slots.at, 0, n * sizeof *l->slots.at);
	for (uint32_t i = 0; i < l->end.n; i++) {
		size_t len;
		struct key k = key_of(goal_label_text(l, i, &len));

		*label_slot(l, &k) = i + 1;
	}
	return 0;
}

int64_t goal_label(struct goal_labels *l, const char *s)
{
	const struct key k = key_of(s);
	size_t at = l->names.n;
	uint32_t *p;

	if (l->end.n >= l->slots.n / 2 && grow_slots(l))
		return -ERR_NOMEM;
	p = label_slot(l, &k);
	if (*p)
		return *p - 1;
	if (k.len >= UINT32_MAX - at || VEC_RESERVE(&l->names, at + k.len + 1) ||
	    VEC_PUSH(&l->end, (uint32_t)(at + k.len)))
		return -ERR_NOMEM;
	for (size_t i = 0; i < k.len; i++)
		l->names.at[at + i] = s[i];
	l->names.at[at + k.len] = '\0';
	l->names.n += k.len + 1;
	*p = (uint32_t)l->end.n;
	return *p - 1;
}
