/* SPDX-License-Identifier: BSD-3-Clause
 * The nearest name to a misspelt word: the one with the fewest typing errors between them. */
#include "util/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONGEST 63u /* longer names are not near to anything */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static char lower(char c)
{
	return (char)tolower((unsigned char)c);
}

/* Returns the number of letters to insert, delete, replace, or swap with their neighbour to get from a to b. Case does not
 * count. (The distance of optimal string alignment.) */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][LONGEST + 1];

	for (size_t k = 0; k <= nb; k++)
		rows[0][k] = (unsigned)k;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= nb; k++) {
			const unsigned other = lower(a[i - 1]) != lower(b[k - 1]);

			row[k] = least(above[k - 1] + other, least(above[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) && lower(a[i - 2]) == lower(b[k - 1]))
				row[k] = least(row[k], before[k - 2] + 1);
		}
	}
	return rows[na % 3][nb];
}

/* True if the word is the name behind its last underscore or so, as in Bcast for MPI_Bcast. */
static int ends_with(const char *name, size_t len, const char *word, size_t n)
{
	return n >= 3 && n < len && name[len - n - 1] == '_' && !strncasecmp(name + len - n, word, n);
}

void nearest_try(struct nearest *n, const char *name, size_t len)
{
	const size_t word = strlen(n->word);
	unsigned errors;

	if (n->len < sizeof n->all)
		n->len += (size_t)snprintf(n->all + n->len, sizeof n->all - n->len, "%s%.*s", n->len ? ", " : "", (int)len, name);
	if (len > LONGEST || word > LONGEST || !word)
		return;
	errors = ends_with(name, len, n->word, word) ? 0 : distance(n->word, word, name, len);
	if (errors > (word < 6 ? 1 + (word > 3) : word / 3) || errors >= len || (*n->best && errors >= n->distance))
		return;
	n->distance = errors;
	memcpy(n->best, name, len);
	n->best[len] = '\0';
}

void nearest_name(struct nearest *n, const char *name)
{
	nearest_try(n, name, strlen(name));
}

const char *nearest_hint(struct nearest *n)
{
	n->hint[0] = '\0';
	if (*n->best)
		snprintf(n->hint, sizeof n->hint, "; did you mean %s?", n->best);
	return n->hint;
}

const char *nearest_choices(struct nearest *n)
{
	if (*n->best || n->len >= sizeof n->all)
		return nearest_hint(n);
	snprintf(n->hint, sizeof n->hint, "; it is one of %s", n->all);
	return n->hint;
}
