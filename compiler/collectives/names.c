/* SPDX-License-Identifier: BSD-3-Clause
 * The names of the collectives that have a definition. */
#include "compiler/collectives/names.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
#define NAME(name) #name,
#include "compiler/collectives/names.inc"
#undef NAME
};

/* Pairs of collectives that differ only in the unit of their counts: bytes in the first, elements in the second. The first
 * collective has no definition of its own. */
static const char *const same[][2] = {
	{ "MPI_Alltoallw", "MPI_Alltoallv" },
	{ "MPI_Neighbor_alltoallw", "MPI_Neighbor_alltoallv" },
};

const char *collective_defined_as(const char *name)
{
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (!strcmp(same[i][0], name))
			return same[i][1];
	return name;
}

/* Returns the first place of a name among those that have a definition, or their number. */
static size_t first_of(const char *name)
{
	size_t i = 0;

	while (i < sizeof names / sizeof *names && strcmp(names[i], name) != 0)
		i++;
	return i;
}

const char *collective_name(const char *name)
{
	const size_t at = first_of(name);

	if (at < sizeof names / sizeof *names)
		return names[at];
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (!strcmp(same[i][0], name))
			return same[i][0];
	return NULL;
}

bool collective_known(const char *name)
{
	return collective_name(name) != NULL;
}

bool collective_reduces(const char *name)
{
	return strstr(name, "educe") || strstr(name, "scan") || strstr(name, "Scan");
}

bool collective_near(const char *name)
{
	return strstr(name, "eighbor") != NULL;
}

struct nearest collective_nearest(const char *name)
{
	struct nearest n = { .word = name };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (first_of(names[i]) == i) /* those of neighbours have two definitions */
			nearest_name(&n, names[i]);
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		nearest_name(&n, same[i][0]);
	return n;
}
