/* SPDX-License-Identifier: BSD-3-Clause
 * Classes of the simulator's ops: what many ops have in common is stored once. */
#include "backends/sim/sim.h"

#include "util/hash64.h"

#include <stdlib.h>

void sim_classes_fini(struct sim_classes *c)
{
	VEC_FREE(&c->v);
	VEC_FREE(&c->cpus.v);
	VEC_FREE(&c->nics.v);
	VEC_FREE(&c->pairs.v);
	index_free(&c->index);
}

static bool is_same(const void *array, uint32_t i, const void *key)
{
	const struct sim_class *a = (const struct sim_class *)array + i, *b = key;

	return a->kind == b->kind && a->tag == b->tag && a->cpu == b->cpu && a->nic == b->nic && a->high == b->high &&
	       a->before == b->before && a->idle == b->idle && a->shared == b->shared && a->opens == b->opens;
}

/* Stores in *at the position of a number, which is added if it is new. 0 is always the first one. */
static int find_position(struct sim_numbers *list, uint64_t number, uint32_t *at)
{
	if (!list->v.n && VEC_PUSH(&list->v, 0))
		return -ERR_NOMEM;
	for (*at = 0; *at < list->v.n; ++*at)
		if (list->v.at[*at] == number)
			return 0;
	return VEC_PUSH(&list->v, number);
}

static int find_positions(struct sim_classes *c, struct sim_class *k)
{
	int err = find_position(&c->cpus, k->cpu, &k->at_cpu);

	err = err ? err : find_position(&c->nics, k->nic, &k->at_nic);
	return err ? err : find_position(&c->pairs, (uint64_t)k->cpu << 32 | k->nic, &k->at_pair);
}

static int64_t add_class(struct sim_classes *c, struct sim_class *k)
{
	const uint64_t place = ((uint64_t)k->cpu << 34 | (uint64_t)k->nic << 2) + k->kind;
	const uint64_t hash = hash64(((uint64_t)k->tag << 32 | k->high) ^ hash64(place) ^ (k->idle | k->shared << 1 | k->opens << 2 | (uint64_t)k->before << 3));
	int64_t i = index_find(&c->index, hash, is_same, c->v.at, k);

	if (i < 0) {
		i = (int64_t)c->v.n;
		if (i == SIM_MOST_CLASSES)
			return -ERR_SPACE;
		if (find_positions(c, k) || VEC_PUSH(&c->v, *k) || index_add(&c->index, hash, (size_t)i))
			return -ERR_NOMEM;
		c->any_shared |= k->shared;
		c->any_tag |= k->kind == SIM_SEND && k->tag == BIN_ANY;
	}
	c->last[k->kind] = (uint32_t)i + 1;
	return i;
}

/* Most ops have the class of the last one of their kind. */
static inline int64_t find_class(struct sim_classes *c, struct sim_class k)
{
	return c->last[k.kind] && is_same(c->v.at, c->last[k.kind] - 1, &k) ? (int64_t)c->last[k.kind] - 1 : add_class(c, &k);
}

int64_t sim_class(struct sim_classes *c, enum sim_kind kind, uint32_t tag, uint32_t cpu, uint32_t nic, uint32_t high)
{
	return find_class(c, (struct sim_class){ .kind = kind, .tag = tag, .cpu = cpu, .nic = nic, .high = high });
}

int64_t sim_ordered_class(struct sim_classes *c, uint32_t like, uint32_t before)
{
	struct sim_class k = c->v.at[like];

	if (before >= SIM_MOST_CLASSES)
		return -ERR_SPACE;
	k.before = before & (SIM_MOST_CLASSES - 1);
	return find_class(c, k);
}

int64_t sim_idle_class(struct sim_classes *c, uint32_t high)
{
	return find_class(c, (struct sim_class){ .kind = SIM_CALC, .high = high, .idle = true });
}

int64_t sim_shared_class(struct sim_classes *c, uint32_t high)
{
	return find_class(c, (struct sim_class){ .kind = SIM_CALC, .high = high, .shared = true });
}

int64_t sim_opening_class(struct sim_classes *c, uint32_t cpu, uint32_t high)
{
	return find_class(c, (struct sim_class){ .kind = SIM_CALC, .cpu = cpu, .high = high, .opens = true });
}
