/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the arguments of options: numbers, ranges, and values of parameters. */
#include "util/options.h"

#include <errno.h>
#include <stdio.h>
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

bool option_scaled(const char **s, const char *end, uint64_t *out)
{
	static const char units[] = "KMG";
	const char *p = *s, *unit;

	for (*out = 0; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, (uint64_t)(*p - '0'), out))
			return false;
	if (p == *s)
		return false;
	unit = p < end && *p ? strchr(units, *p == 'k' ? 'K' : *p) : NULL;
	if (unit) {
		if (__builtin_mul_overflow(*out, (uint64_t)1024 << 10 * (unit - units), out))
			return false;
		p++;
		p += p < end && *p == 'i';
	}
	*s = p;
	return true;
}

bool option_amount(const char *s, size_t len, int64_t min, int64_t max, int64_t *out)
{
	const char *const end = s + len;
	const bool negative = len && *s == '-';
	uint64_t v;

	s += negative;
	if (!option_scaled(&s, end, &v) || s != end || v > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)-v : (int64_t)v;
	return *out >= min && *out <= max;
}

bool option_decimal(const char *s, double min, double max, double *out)
{
	char *end;
	double v;

	if (*s < '0' || *s > '9' || s[strspn(s, "0123456789.eE+-")]) /* no hexadecimal numbers, nan or inf */
		return false;
	v = strtod(s, &end);
	if (*end || !(v >= min && v <= max))
		return false;
	*out = v;
	return true;
}

int option_name_index(const char *const *names, size_t n, const char *s, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(names[i], s, len) && !names[i][len])
			return (int)i;
	return -1;
}

int option_word(const char *words, const char *s, size_t len)
{
	int i = 0;

	for (const char *p = words; *p; p += *p == '|', i++) {
		if (strcspn(p, "|") == len && !strncmp(p, s, len))
			return i;
		p += strcspn(p, "|");
	}
	return -1;
}

bool option_range(const char *s, int64_t min, int64_t max, int64_t *first, int64_t *last)
{
	const char *dash = strchr(s, '-');
	char from[32];

	if (!dash || dash == s) {
		*last = 0;
		if (!option_number(s, min, max, first))
			return false;
		*last = *first;
		return true;
	}
	if (snprintf(from, sizeof from, "%.*s", (int)(dash - s), s) >= (int)sizeof from)
		return false;
	return option_number(from, min, max, first) && option_number(dash + 1, *first, max, last);
}

/* Parses the values of a define. The letters of a range A-B are those of two numbers, and a number has no dash inside. */
static int parse_values(struct define *def, char *list, bool ranges)
{
	VEC(int64_t) v = { 0 };
	int err = VEC_RESERVE(&v, 2); /* an empty vector has an address, too */
	int64_t x;

	def->range = ranges && !err && *list && strchr(list + 1, '-') && option_range(list, 0, INT64_MAX, &v.at[0], &v.at[1]);
	if (def->range) {
		v.n = 2;
		list += strlen(list);
	}
	for (char *p = *list ? list : NULL; p && !err;) {
		char *comma = strchr(p, ',');

		if (comma)
			*comma++ = '\0';
		err = option_amount(p, strlen(p), INT64_MIN, INT64_MAX, &x) ? VEC_PUSH(&v, x) : -ERR_SYNTAX;
		p = comma;
	}
	def->value = v.at;
	def->n = v.n;
	return err;
}

/* Adds a define; it replaces an earlier one of the same name and rank. */
static int keep_define(struct defines *d, const struct define *def)
{
	for (size_t i = 0; i < d->v.n; i++)
		if (!strcmp(d->v.at[i].name, def->name) && d->v.at[i].rank == def->rank) {
			define_drop(&d->v.at[i]);
			d->v.at[i] = *def;
			return 0;
		}
	return VEC_PUSH(&d->v, *def);
}

int option_define(struct defines *d, const char *arg, bool ranges)
{
	const char *eq = strchr(arg, '='), *at = strchr(arg, '@');
	struct define def = { .rank = -1 };
	size_t len = !eq ? 0 : at && at < eq ? (size_t)(at - arg) : (size_t)(eq - arg);
	char *values, *name;
	int err;

	if (!len)
		return -ERR_SYNTAX;
	def.name = name = mem_calloc(len + 1, 1);
	values = mem_alloc(strlen(arg) + 1);
	if (!name || !values) {
		free(name);
		free(values);
		return -ERR_NOMEM;
	}
	memcpy(name, arg, len);
	strcpy(values, eq + 1);
	err = parse_values(&def, values, ranges);
	if (!err && arg[len] == '@') {
		memcpy(values, arg + len + 1, (size_t)(eq - arg) - len - 1);
		values[eq - arg - (ptrdiff_t)len - 1] = '\0';
		err = !def.range && option_number(values, 0, UINT32_MAX, &def.rank) ? 0 : -ERR_SYNTAX;
	}
	free(values);
	err = err ? err : keep_define(d, &def);
	if (err)
		define_drop(&def);
	return err;
}

void define_drop(struct define *d)
{
	free((void *)(uintptr_t)d->name);
	free((void *)(uintptr_t)d->value);
}

void defines_free(struct defines *d)
{
	for (size_t i = 0; i < d->v.n; i++)
		define_drop(&d->v.at[i]);
	VEC_FREE(&d->v);
}
