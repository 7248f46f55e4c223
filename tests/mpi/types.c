/* SPDX-License-Identifier: BSD-3-Clause
 * Datatypes for diff. Each derived type is made by a constructor of MPI, and beside it the list of the places of its elements, so
 * that the test fills and checks buffers without MPI. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct basic basics[64];
int basic_count;

static void add(MPI_Datatype type, const char *name, enum kind kind, int size)
{
	if (type != MPI_DATATYPE_NULL)
		basics[basic_count++] = (struct basic){ type, name, kind, size, false, 0, 0, size, 0 };
}

static void add_two(MPI_Datatype type, const char *name, enum kind kind, int size, int second, int second_size, int extent)
{
	if (type == MPI_DATATYPE_NULL)
		return;
	add(type, name, kind, size);
	basics[basic_count - 1].second = second;
	basics[basic_count - 1].second_size = second_size;
	basics[basic_count - 1].extent = extent;
}

#define ADD(type, kind, c) add(type, #type, kind, (int)sizeof(c))
#define ADD_COMPLEX(type, c) add_two(type, #type, COMPLEX, (int)sizeof(c), (int)sizeof(c), (int)sizeof(c), 2 * (int)sizeof(c))
#define ADD_PAIR(type, c)                                                                                                     \
	do {                                                                                                                  \
		struct pair {                                                                                                 \
			c a;                                                                                                  \
			int b;                                                                                                \
		};                                                                                                            \
		add_two(type, #type, PAIR, (int)sizeof(c), (int)offsetof(struct pair, b), 4, (int)sizeof(struct pair));       \
	} while (0)

static void add_fortran(void)
{
	ADD(MPI_INTEGER, INTEGER, int);
	ADD(MPI_INTEGER1, INTEGER, int8_t);
	ADD(MPI_INTEGER2, INTEGER, int16_t);
	ADD(MPI_INTEGER4, INTEGER, int32_t);
	ADD(MPI_INTEGER8, INTEGER, int64_t);
	ADD(MPI_REAL, FLOATING, float);
	ADD(MPI_DOUBLE_PRECISION, FLOATING, double);
	ADD(MPI_REAL4, FLOATING, float);
	ADD(MPI_REAL8, FLOATING, double);
	ADD(MPI_LOGICAL, TRUTH, int);
	ADD(MPI_CHARACTER, BYTES, char);
	ADD_COMPLEX(MPI_COMPLEX, float);
	ADD_COMPLEX(MPI_DOUBLE_COMPLEX, double);
	add_two(MPI_2INTEGER, "MPI_2INTEGER", PAIR, 4, 4, 4, 8);
	add_two(MPI_2REAL, "MPI_2REAL", PAIR, 4, 4, 4, 8);
	basics[basic_count - 1].second_floats = true;
	add_two(MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", PAIR, 8, 8, 8, 16);
	basics[basic_count - 1].second_floats = true;
}

void basics_begin(void)
{
	ADD(MPI_INT, INTEGER, int);
	ADD(MPI_DOUBLE, FLOATING, double);
	ADD(MPI_CHAR, BYTES, char);
	ADD(MPI_SIGNED_CHAR, INTEGER, char);
	ADD(MPI_UNSIGNED_CHAR, UNSIGNED, char);
	ADD(MPI_SHORT, INTEGER, short);
	ADD(MPI_UNSIGNED_SHORT, UNSIGNED, short);
	ADD(MPI_UNSIGNED, UNSIGNED, int);
	ADD(MPI_LONG, INTEGER, long);
	ADD(MPI_UNSIGNED_LONG, UNSIGNED, long);
	ADD(MPI_LONG_LONG, INTEGER, long long);
	ADD(MPI_UNSIGNED_LONG_LONG, UNSIGNED, long long);
	ADD(MPI_INT8_T, INTEGER, int8_t);
	ADD(MPI_INT16_T, INTEGER, int16_t);
	ADD(MPI_INT32_T, INTEGER, int32_t);
	ADD(MPI_INT64_T, INTEGER, int64_t);
	ADD(MPI_UINT8_T, UNSIGNED, int8_t);
	ADD(MPI_UINT16_T, UNSIGNED, int16_t);
	ADD(MPI_UINT32_T, UNSIGNED, int32_t);
	ADD(MPI_UINT64_T, UNSIGNED, int64_t);
	ADD(MPI_AINT, INTEGER, MPI_Aint);
	ADD(MPI_OFFSET, INTEGER, MPI_Offset);
	ADD(MPI_COUNT, INTEGER, MPI_Count);
	ADD(MPI_WCHAR, BYTES, wchar_t);
	ADD(MPI_BYTE, BYTES, char);
	ADD(MPI_FLOAT, FLOATING, float);
	ADD(MPI_LONG_DOUBLE, FLOATING, long double);
	ADD(MPI_C_BOOL, TRUTH, _Bool);
	ADD_COMPLEX(MPI_C_FLOAT_COMPLEX, float);
	ADD_COMPLEX(MPI_C_DOUBLE_COMPLEX, double);
	ADD_COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long double);
	ADD_PAIR(MPI_FLOAT_INT, float);
	ADD_PAIR(MPI_DOUBLE_INT, double);
	ADD_PAIR(MPI_LONG_INT, long);
	ADD_PAIR(MPI_2INT, int);
	ADD_PAIR(MPI_SHORT_INT, short);
	ADD_PAIR(MPI_LONG_DOUBLE_INT, long double);
	add_fortran();
}

/* ---- values ---- */

static void put_integer(int size, int64_t v, void *at)
{
	memcpy(at, &v, (size_t)size); /* little endian, as all machines that this runs on */
}

static void put_float(int size, double v, void *at)
{
	float f = (float)v;
	long double l = v;

	if (size == sizeof(float))
		memcpy(at, &f, sizeof(f));
	else if (size == sizeof(double))
		memcpy(at, &v, sizeof(v));
	else
		memcpy(at, &l, 10);
}

static int64_t integer_for(enum use use, uint64_t h)
{
	static const int factors[] = { 1, 2, -1, 3, 1, -2, 1, 1 }, truths[] = { 1, 0, 5, -3, 1, 7, 2, 1 };

	switch (use) {
	case SUMMED: /* Open MPI 4.1 adds short integers with saturation: no sum must overflow */
		return (int64_t)(h % 15) - 7;
	case USERS:
		return (int64_t)(h % 20000) - 10000;
	case MULTIPLIED:
		return factors[h % 8];
	case DECIDED:
		return truths[h % 8];
	case LOCATED:
		return (int64_t)(h % 7) - 3;
	default:
		return (int64_t)h;
	}
}

static double float_for(enum use use, uint64_t h)
{
	if (use == SUMMED || use == MULTIPLIED || use == LOCATED || use == USERS)
		return (double)integer_for(use, h);
	return (double)(int64_t)(h >> 40) - 8388608; /* a float has it exactly */
}

void basic_put(int basic, enum use use, uint64_t h, void *at)
{
	const struct basic *b = &basics[basic];
	char *second = (char *)at + b->second;
	bool floats = b->kind == FLOATING || b->kind == COMPLEX || (b->kind == PAIR && strncmp(b->name, "MPI_FLOAT", 9) == 0) ||
		(b->kind == PAIR && strstr(b->name, "DOUBLE")) || b->second_floats;

	if (b->kind == TRUTH)
		put_integer(b->size, (int64_t)(h >> 3 & 1), at);
	else if (floats)
		put_float(b->size, float_for(use, h), at);
	else if (use == COMPARED && (b->kind == UNSIGNED || b->type == MPI_OFFSET))
		put_integer(b->size, (int64_t)(h >> (65 - 8 * b->size)), at); /* with sign bit 0: libraries compare as if signed, or not */
	else if (use == SUMMED && b->kind == UNSIGNED)
		put_integer(b->size, (int64_t)(h % 16), at);
	else
		put_integer(b->size, integer_for(use, h), at);
	if (b->kind == COMPLEX)
		put_float(b->size, float_for(use, mix(h, 1)), second);
	else if (b->second_floats)
		put_float(b->second_size, (double)(mix(h, 1) % 1000), second);
	else if (b->kind == PAIR)
		put_integer(b->second_size, (int64_t)(mix(h, 1) % 1000), second);
}

static void clean_float(int size, void *at)
{
	static const long double zero;
	float f;
	double d;
	long double l = 0;

	if (size == sizeof(float)) {
		memcpy(&f, at, sizeof(f));
		if (f == 0)
			memcpy(at, &zero, sizeof(f));
	} else if (size == sizeof(double)) {
		memcpy(&d, at, sizeof(d));
		if (d == 0)
			memcpy(at, &zero, sizeof(d));
	} else {
		memcpy(&l, at, 10);
		if (l == 0)
			memset(at, 0, 10);
		memset((char *)at + 10, 0, (size_t)size - 10);
	}
}

void basic_clean(int basic, bool gaps, void *at)
{
	const struct basic *b = &basics[basic];
	char *c = at;
	int end = b->second + b->second_size;

	if (b->kind == COMPLEX || b->kind == FLOATING || (b->kind == PAIR && b->size == sizeof(long double)))
		clean_float(b->size, c);
	if (b->kind == COMPLEX)
		clean_float(b->size, c + b->second);
	if (b->kind == PAIR && gaps) {
		memset(c + b->size, 0, (size_t)(b->second - b->size));
		memset(c + end, 0, (size_t)(b->extent - end));
	}
}

/* ---- layouts ---- */

static void *need(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		abort();
	return p;
}

struct layout layout_basic(int basic)
{
	struct layout l = { basics[basic].type, false, 0, basics[basic].extent, 1, need(1, sizeof(*l.e)) };

	l.e[0] = (struct element){ 0, basic };
	return l;
}

void layout_free(struct layout *l)
{
	if (l->owned)
		MPI_Type_free(&l->type);
	free(l->e);
	*l = (struct layout){ 0 };
}

/* Replaces the type. The old one is no longer needed, as types that are made of it do not need it. */
static void retype(struct layout *l, MPI_Datatype type)
{
	if (l->owned)
		MPI_Type_free(&l->type);
	l->type = type;
	l->owned = true;
}

/* The elements of m copies of `base` at the given places. */
static void repeat(struct layout *l, const struct layout *base, const long *at, int m)
{
	int i, k, n = 0;

	l->n = base->n * m;
	l->e = need((size_t)l->n, sizeof(*l->e));
	for (i = 0; i < m; i++)
		for (k = 0; k < base->n; k++)
			l->e[n++] = (struct element){ base->e[k].at + at[i], base->e[k].basic };
}

static int divisor(struct rng *own, int m)
{
	int d = 1 + below(own, m);

	while (m % d)
		d--;
	return d;
}

/* A vector, perhaps with a negative stride. In bytes or not. */
static MPI_Datatype vector(struct rng *own, const struct layout *base, int m, long *at)
{
	int length = divisor(own, m), stride = (length + below(own, 4)) * (one_in(own, 4) ? -1 : 1), i;
	MPI_Datatype t;

	if (stride == -1 && base->extent == 1) /* Open MPI 4.1.4 takes that for 1 */
		stride = -2;
	for (i = 0; i < m; i++)
		at[i] = (i / length * stride + i % length) * base->extent;
	if (one_in(own, 2))
		MPI_Type_vector(m / length, length, stride, base->type, &t);
	else
		MPI_Type_create_hvector(m / length, length, stride * base->extent, base->type, &t);
	return t;
}

/* A column of an array with `copies` columns: elements of the type interleave. */
static MPI_Datatype column(const struct layout *base, int m, int copies, long *at)
{
	MPI_Datatype t, resized;
	int i;

	for (i = 0; i < m; i++)
		at[i] = i * copies * base->extent;
	MPI_Type_vector(m, 1, copies, base->type, &t);
	MPI_Type_create_resized(t, 0, base->extent, &resized);
	MPI_Type_free(&t);
	return resized;
}

static MPI_Datatype subarray(struct rng *own, const struct layout *base, int m, long *at)
{
	bool fortran = one_in(own, 2);
	int columns = divisor(own, m), rows = m / columns, i;
	int part[2] = { rows, columns }, first[2] = { below(own, 3), below(own, 3) };
	int whole[2] = { rows + first[0] + below(own, 2), columns + first[1] + below(own, 2) };
	int order[2] = { fortran ? 1 : 0, fortran ? 0 : 1 };
	MPI_Datatype t;

	for (i = 0; i < m; i++)
		at[i] = ((i / columns + first[0]) * whole[1] + i % columns + first[1]) * base->extent;
	MPI_Type_create_subarray(2, (int[]){ whole[order[0]], whole[order[1]] }, (int[]){ part[order[0]], part[order[1]] },
		(int[]){ first[order[0]], first[order[1]] }, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, base->type, &t);
	return t;
}

/* Blocks of random lengths, in a random order in memory, with gaps, from a displacement that may be negative. */
static MPI_Datatype indexed(struct rng *own, const struct layout *base, int m, long *at)
{
	bool even = one_in(own, 3);
	int length = divisor(own, m), n = even ? m / length : 0, lengths[80], displs[80], order[80], i, k, sum = 0, a;
	MPI_Aint bytes[80];
	MPI_Datatype types[80], t;

	if (!even)
		for (; sum < m && n < 64; sum += lengths[n++])
			lengths[n] = n == 63 ? m - sum : below(own, m - sum + 1);
	if (n > 64 || (!even && sum < m))
		return vector(own, base, m, at);
	for (i = 0; i < n; i++) {
		lengths[i] = even ? length : lengths[i];
		types[i] = base->type;
		order[i] = i;
	}
	shuffle(own, order, n);
	a = below(own, 9) - 4;
	for (i = 0; i < n; i++) {
		displs[order[i]] = a;
		bytes[order[i]] = a * base->extent;
		a += lengths[order[i]] + below(own, 3);
	}
	for (i = k = 0; i < n; i++)
		for (a = 0; a < lengths[i]; a++)
			at[k++] = (displs[i] + a) * base->extent;
	if (even && one_in(own, 2))
		MPI_Type_create_indexed_block(n, length, displs, base->type, &t);
	else if (even)
		MPI_Type_create_hindexed_block(n, length, bytes, base->type, &t);
	else
		switch (below(own, 3)) {
		case 0:
			MPI_Type_indexed(n, lengths, displs, base->type, &t);
			break;
		case 1:
			MPI_Type_create_hindexed(n, lengths, bytes, base->type, &t);
			break;
		default:
			MPI_Type_create_struct(n, lengths, bytes, types, &t);
		}
	return t;
}

/* m copies of `base`, which stays as it is */
static struct layout combine(struct rng *own, const struct layout *base, int m, int copies)
{
	struct layout l = { 0 };
	long *at = need((size_t)m, sizeof(*at));
	int i, form = below(own, 6);

	l.owned = true;
	for (i = 0; i < m; i++)
		at[i] = i * base->extent;
	if (form == 0 || m > 4096)
		MPI_Type_contiguous(m, base->type, &l.type);
	else if (form == 1)
		l.type = vector(own, base, m, at);
	else if (form == 2 && copies > 0 && copies <= 64 && base->lb == 0)
		l.type = column(base, m, copies, at);
	else if (form == 3)
		l.type = subarray(own, base, m, at);
	else
		l.type = indexed(own, base, m, at);
	repeat(&l, base, at, m);
	free(at);
	return l;
}

static long aligned(long at)
{
	return (at + 15) & ~15L;
}

/* A struct of the unit's basics, in a random order in memory. `packed`: without the alignment that a compiler would give. */
static struct layout structure(struct rng *own, const int *unit, int units)
{
	bool packed = one_in(own, 5);
	long at[4], a = one_in(own, 4) ? -32 : 0;
	int order[4] = { 0, 1, 2, 3 }, lengths[4] = { 1, 1, 1, 1 }, i;
	MPI_Aint bytes[4];
	MPI_Datatype types[4];
	struct layout l = { 0 };

	shuffle(own, order, units);
	for (i = 0; i < units; i++) {
		at[order[i]] = a;
		a += basics[unit[order[i]]].extent;
		a = packed ? a : aligned(a + 8 * below(own, 2));
	}
	l.owned = true;
	l.n = units;
	l.e = need((size_t)units, sizeof(*l.e));
	for (i = 0; i < units; i++) {
		l.e[i] = (struct element){ at[i], unit[i] };
		bytes[i] = at[i];
		types[i] = basics[unit[i]].type;
	}
	MPI_Type_create_struct(units, lengths, bytes, types, &l.type);
	return l;
}

/* Takes the bounds as MPI has them, and compares the others with the list. */
static void finish(struct layout *l)
{
	MPI_Aint lb, extent, low, span;
	long first = 0, last = 0, end;
	int k;

	if (l->owned)
		MPI_Type_commit(&l->type);
	MPI_Type_get_extent(l->type, &lb, &extent);
	MPI_Type_get_true_extent(l->type, &low, &span);
	l->lb = lb;
	l->extent = extent;
	for (k = 0; k < l->n; k++) {
		const struct basic *b = &basics[l->e[k].basic];

		end = l->e[k].at + (b->second ? b->second + b->second_size : b->size);
		first = k == 0 || l->e[k].at < first ? l->e[k].at : first;
		last = k == 0 || end > last ? end : last;
	}
	/* Some libraries count the gap at the end of a pair. */
	if (l->n > 0 && (low != first || low + span < last || low + span > last + 16)) {
		fprintf(stderr, "diff: a type has its elements in [%ld, %ld), not in [%ld, %ld)\n", (long)low, (long)(low + span),
			first, last);
		abort();
	}
}

struct layout layout_places(const int *unit, const long *at, int n, long lb, long extent)
{
	int lengths[4] = { 1, 1, 1, 1 }, i;
	MPI_Aint bytes[4];
	MPI_Datatype types[4], resized;
	struct layout l = { 0 };

	l.owned = true;
	l.n = n;
	l.e = need((size_t)n, sizeof(*l.e));
	for (i = 0; i < n; i++) {
		l.e[i] = (struct element){ at[i], unit[i] };
		bytes[i] = at[i];
		types[i] = basics[unit[i]].type;
	}
	MPI_Type_create_struct(n, lengths, bytes, types, &l.type);
	MPI_Type_create_resized(l.type, lb, extent, &resized);
	retype(&l, resized);
	finish(&l);
	return l;
}

/* Bounds of its own: a lower one that may be negative, and an upper one with a gap. */
static void resize(struct rng *own, struct layout *l)
{
	MPI_Aint low, span;
	long lb;
	MPI_Datatype resized;

	MPI_Type_commit(&l->type);
	MPI_Type_get_true_extent(l->type, &low, &span);
	lb = (one_in(own, 2) ? low : low - 16) & ~15L;
	MPI_Type_create_resized(l->type, lb, aligned(low + span - lb + 16 * below(own, 3)), &resized);
	retype(l, resized);
}

struct layout layout_draw(struct rng *own, const int *unit, int units, int m, int copies)
{
	struct layout base, l;
	MPI_Datatype dup;

	if (m == 0) {
		l = (struct layout){ 0 };
		l.e = need(0, sizeof(*l.e));
		l.owned = true;
		MPI_Type_contiguous(0, basics[unit[0]].type, &l.type);
		finish(&l);
		return l;
	}
	if (units == 1)
		base = layout_basic(unit[0]);
	else
		base = structure(own, unit, units);
	finish(&base);
	if (m % 2 == 0 && one_in(own, 5)) { /* nested */
		l = combine(own, &base, 2, 0);
		layout_free(&base);
		base = l;
		m /= 2;
		finish(&base);
	}
	if (m == 1 && one_in(own, 2))
		return base;
	l = combine(own, &base, m, copies);
	finish(&l);
	if ((m == 1 || l.extent != base.extent) && one_in(own, 4)) /* not a column */
		resize(own, &l);
	layout_free(&base);
	if (one_in(own, 8)) {
		MPI_Type_dup(l.type, &dup);
		retype(&l, dup);
	}
	finish(&l);
	return l;
}
