/* SPDX-License-Identifier: BSD-3-Clause
 * What the command lines of the tools share. */
#include "util/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool option_number(const char *s, int64_t min, int64_t max, int64_t *out)
{
	char *end;
	long long v;

	if (*s != '-' && (*s < '0' || *s > '9'))
		return false;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno || end == s || *end || v < min || v > max)
		return false;
	*out = v;
	return true;
}

static bool parse_values(struct define *def, char *list)
{
	VEC(int64_t) v = { 0 };
	bool ok = true;
	int64_t x;

	for (char *p = list; p && ok;) {
		char *comma = strchr(p, ',');

		if (comma)
			*comma++ = '\0';
		ok = option_number(p, INT64_MIN, INT64_MAX, &x) && !VEC_PUSH(&v, x);
		p = comma;
	}
	if (!ok) {
		VEC_FREE(&v);
		return false;
	}
	def->value = v.at;
	def->n = v.n;
	return true;
}

bool option_define(struct defines *d, const char *arg)
{
	const char *eq = strchr(arg, '=');
	struct define def = { 0 };
	size_t len = eq ? (size_t)(eq - arg) : 0;
	char *values;
	bool ok;

	if (!len)
		return false;
	def.name = mem_calloc(len + 1, 1);
	values = mem_alloc(strlen(eq + 1) + 1);
	if (!def.name || !values) {
		free(def.name);
		free(values);
		return false;
	}
	memcpy(def.name, arg, len);
	strcpy(values, eq + 1);
	ok = parse_values(&def, values);
	free(values);
	for (size_t i = 0; ok && i < d->v.n; i++)
		if (!strcmp(d->v.at[i].name, def.name)) {
			free(d->v.at[i].name);
			free(d->v.at[i].value);
			d->v.at[i] = def;
			return true;
		}
	if (ok && VEC_PUSH(&d->v, def) == 0)
		return true;
	free(def.name);
	free(def.value);
	return false;
}

void defines_free(struct defines *d)
{
	for (size_t i = 0; i < d->v.n; i++) {
		free(d->v.at[i].name);
		free(d->v.at[i].value);
	}
	VEC_FREE(&d->v);
}
