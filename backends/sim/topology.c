/* SPDX-License-Identifier: BSD-3-Clause
 * Networks of switches, see topology.h. */
#include "backends/sim/topology.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HOSTS ((uint64_t)1 << 28)

/* Returns the product of the numbers of a shape. */
static uint64_t all_numbers(const struct sim_topology *t)
{
	uint64_t all = 1;

	for (uint32_t i = 0; i < t->count; i++)
		all *= t->n[i];
	return all;
}

/* ---- torus: link 2 d, or 2 d + 1 for the way back, of a switch goes on in dimension d ---- */

static uint64_t torus_links(const struct sim_topology *t)
{
	return all_numbers(t) * 2 * t->count;
}

static int64_t torus_link(const struct sim_topology *t, uint32_t from, uint32_t to, uint64_t k)
{
	uint32_t at = from, stride = 1; /* `at`: where the message is when it has crossed the dimensions before d */

	for (uint32_t d = 0; d < t->count; d++) {
		const uint32_t n = t->n[d], x = at / stride % n, forth = (to / stride % n + n - x) % n;
		const bool back = forth > n - forth;
		const uint32_t steps = back ? n - forth : forth;

		if (k < steps) {
			const uint32_t now = (uint32_t)((x + (back ? n - k : k)) % n);

			return (int64_t)(((uint64_t)(at + (now - x) * stride) * t->count + d) * 2 + back);
		}
		k -= steps;
		at += (to / stride % n - x) * stride;
		stride *= n;
	}
	return -1;
}

/* ---- fat tree: each group has as many links up as down, which have numbers after those of the levels below ---- */

/* The links between the groups of a level and the level above. */
struct level {
	uint64_t hosts, ports, first; /* hosts of a group, its links up, and the first link of all groups */
};

/* Sets level k + 1 from level k; at first `l` is {1, 1, 0} and k is 0. */
static void next_level(const struct sim_topology *t, uint32_t k, struct level *l)
{
	const uint64_t groups = all_numbers(t) / l->hosts;

	l->first += k ? 2 * groups * l->ports : 0;
	l->hosts *= t->n[k];
	l->ports = (l->ports * t->n[k] + t->taper - 1) / t->taper;
}

static uint64_t fat_tree_links(const struct sim_topology *t)
{
	struct level l = { 1, 1, 0 };

	for (uint32_t k = 0; k < t->count; k++)
		next_level(t, k, &l);
	return l.first;
}

static int64_t fat_tree_link(const struct sim_topology *t, uint32_t from, uint32_t to, uint64_t k)
{
	struct level l[TOPOLOGY_MOST + 1] = { { 1, 1, 0 } };
	const struct level *up, *down;
	uint32_t top = 0; /* the lowest level with a group of both hosts */

	do {
		l[top + 1] = l[top];
		next_level(t, top, &l[top + 1]);
		top++;
	} while (from / l[top].hosts != to / l[top].hosts);
	if (k >= 2 * (top - 1))
		return -1;
	up = &l[k + 1];
	down = &l[2 * top - 2 - k];
	if (k < top - 1)
		return (int64_t)(up->first + from / up->hosts * 2 * up->ports + to % up->ports);
	return (int64_t)(down->first + (to / down->hosts * 2 + 1) * down->ports + to % down->ports);
}

/* ---- dragonfly: link j of switch s in its group goes to switch j; after those of all groups come the links to other groups ---- */

static uint64_t dragonfly_links(const struct sim_topology *t)
{
	const uint64_t a = t->n[1], groups = a * t->n[2] + 1;

	return groups * a * a + groups * a * t->n[2];
}

static uint64_t dragonfly_hosts(const struct sim_topology *t)
{
	return (uint64_t)t->n[0] * t->n[1] * ((uint64_t)t->n[1] * t->n[2] + 1);
}

/* Leaves out the links of a group that lead from a switch to itself. */
static int64_t dragonfly_link(const struct sim_topology *t, uint32_t from, uint32_t to, uint64_t k)
{
	const uint64_t a = t->n[1], h = t->n[2], groups = a * h + 1;
	const uint64_t mine = from / t->n[0] / a, its = to / t->n[0] / a, first = from / t->n[0] % a, last = to / t->n[0] % a;
	const uint64_t out = (its + groups - mine - 1) % groups, in = (mine + groups - its - 1) % groups; /* of the links of a group */

	if (mine == its)
		return k || first == last ? -1 : (int64_t)((mine * a + first) * a + last);
	k += first == out / h;
	switch (k) {
	case 0:
		return (int64_t)((mine * a + first) * a + out / h);
	case 1:
		return (int64_t)(groups * a * a + mine * a * h + out);
	case 2:
		return in / h == last ? -1 : (int64_t)((its * a + in / h) * a + last);
	default:
		return -1;
	}
}

/* ---- the kinds ---- */

static const struct kind {
	const char *name, *form;
	uint32_t least, most; /* numbers of a shape */
	uint64_t (*hosts)(const struct sim_topology *t);
	uint64_t (*links)(const struct sim_topology *t);
	int64_t (*link)(const struct sim_topology *t, uint32_t from, uint32_t to, uint64_t k);
} kinds[TOPOLOGY_KINDS] = {
	[TOPOLOGY_TORUS] = { "torus", "torus:N[xN...]", 1, TOPOLOGY_MOST, all_numbers, torus_links, torus_link },
	[TOPOLOGY_FAT_TREE] = { "fat-tree", "fat-tree:N[xN...][/TAPER]", 1, TOPOLOGY_MOST, all_numbers, fat_tree_links, fat_tree_link },
	[TOPOLOGY_DRAGONFLY] = { "dragonfly", "dragonfly:HOSTSxSWITCHESxLINKS", 3, 3, dragonfly_hosts, dragonfly_links, dragonfly_link },
};

uint64_t sim_topology_hosts(const struct sim_topology *t)
{
	return kinds[t->kind].hosts(t);
}

uint64_t sim_topology_links(const struct sim_topology *t)
{
	return kinds[t->kind].links(t);
}

int64_t sim_topology_link(const struct sim_topology *t, uint32_t from, uint32_t to, uint64_t k)
{
	return kinds[t->kind].link(t, from, to, k);
}

/* Takes a number of a shape. The hosts so far are counted, so that products do not overflow. */
static bool take_size(const char **p, uint32_t *out, uint64_t *hosts)
{
	char *end;
	const unsigned long n = **p >= '0' && **p <= '9' ? strtoul(*p, &end, 10) : 0;

	if (!n || n > MOST_HOSTS || *hosts * n > MOST_HOSTS)
		return false;
	*hosts *= n;
	*out = (uint32_t)n;
	*p = end;
	return true;
}

const char *sim_topology_parse(const char *text, struct sim_topology *out)
{
	struct sim_topology t = { .taper = 1, .text = text };
	const size_t len = strcspn(text, ":");
	const char *p = text + len + (text[len] == ':');
	uint64_t hosts = 1, one = 1;
	bool right;

	for (enum topology_kind k = TOPOLOGY_NONE + 1; k < TOPOLOGY_KINDS; k++)
		if (strlen(kinds[k].name) == len && !strncmp(kinds[k].name, text, len))
			t.kind = k;
	if (!t.kind)
		return "torus:SHAPE, fat-tree:SHAPE or dragonfly:SHAPE";
	do {
		right = t.count < kinds[t.kind].most && take_size(&p, &t.n[t.count], &hosts);
		t.count++;
	} while (right && *p == 'x' && p++);
	if (right && t.kind == TOPOLOGY_FAT_TREE && *p == '/' && p++)
		right = take_size(&p, &t.taper, &one);
	if (!right || *p || t.count < kinds[t.kind].least || sim_topology_hosts(&t) > MOST_HOSTS)
		return kinds[t.kind].form;
	*out = t;
	return NULL;
}
