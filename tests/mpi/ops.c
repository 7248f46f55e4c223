/* SPDX-License-Identifier: BSD-3-Clause
 * Operations for diff: the predefined ones with the types that MPI allows for each, and functions of the user. All are associative,
 * and exact for the values that the test uses. */
#include "diff.h"

#include <stdatomic.h>
#include <string.h>

enum { PRIME = 10007 };
static _Atomic int wrong;

int ops_wrong(void)
{
	return wrong;
}

/* ---- predefined ---- */

enum { ARITHMETIC = 1 << INTEGER | 1 << UNSIGNED | 1 << FLOATING, WHOLE = 1 << INTEGER | 1 << UNSIGNED };

#define OPS(X)                                                                                                                \
	X(MPI_SUM, SUMMED, ARITHMETIC | 1 << COMPLEX)                                                                         \
	X(MPI_PROD, MULTIPLIED, ARITHMETIC | 1 << COMPLEX)                                                                    \
	X(MPI_MAX, COMPARED, ARITHMETIC)                                                                                      \
	X(MPI_MIN, COMPARED, ARITHMETIC)                                                                                      \
	X(MPI_LAND, DECIDED, WHOLE | 1 << TRUTH)                                                                              \
	X(MPI_LOR, DECIDED, WHOLE | 1 << TRUTH)                                                                               \
	X(MPI_LXOR, DECIDED, WHOLE | 1 << TRUTH)                                                                              \
	X(MPI_BAND, MASKED, WHOLE | 1 << BYTES)                                                                               \
	X(MPI_BOR, MASKED, WHOLE | 1 << BYTES)                                                                                \
	X(MPI_BXOR, MASKED, WHOLE | 1 << BYTES)                                                                               \
	X(MPI_MINLOC, LOCATED, 1 << PAIR)                                                                                     \
	X(MPI_MAXLOC, LOCATED, 1 << PAIR)

MPI_Op predefined_op(int which)
{
#define X(op, use, kinds) op,
	const MPI_Op ops[] = { OPS(X) };
#undef X
	return ops[which];
}

const char *predefined_op_name(int which)
{
#define X(op, use, kinds) #op,
	static const char *const names[] = { OPS(X) };
#undef X
	return names[which];
}

enum use predefined_use(int which)
{
#define X(op, use, kinds) use,
	static const enum use uses[] = { OPS(X) };
#undef X
	return uses[which];
}

void ops_begin(void)
{
#define X(op, use, kinds) kinds,
	static const int allowed[] = { OPS(X) };
#undef X
	_Alignas(16) char a[64] = { 0 }, b[64] = { 0 };
	int i, k;

	for (i = 0; i < basic_count; i++)
		for (k = 0; k < PREDEFINED; k++) {
			if (!(allowed[k] >> basics[i].kind & 1) || (basics[i].kind == BYTES && basics[i].type != MPI_BYTE))
				continue;
			if (MPI_Reduce_local(a, b, 1, basics[i].type, predefined_op(k)) == MPI_SUCCESS)
				basics[i].fits |= 1u << k;
		}
}

/* ---- of the user ---- */

/* Loops over the elements of a type, whose extent must be as it was made. */
static void each(void *in, void *inout, const int *len, MPI_Datatype *type, long extent, void (*one)(const char *a, char *b))
{
	MPI_Aint lb, has;
	int i;

	MPI_Type_get_extent(*type, &lb, &has);
	if (has != extent)
		atomic_fetch_add(&wrong, 1);
	for (i = 0; i < *len; i++)
		one((const char *)in + i * extent, (char *)inout + i * extent);
}

static unsigned at(const void *p)
{
	unsigned v;

	memcpy(&v, p, sizeof(v));
	return v % PRIME;
}

static void set(void *p, unsigned v)
{
	v %= PRIME;
	memcpy(p, &v, sizeof(v));
}

static void one_add(const char *a, char *b)
{
	set(b, at(a) + at(b));
}

static void one_left(const char *a, char *b)
{
	memcpy(b, a, sizeof(double));
}

/* x -> a0 x + a1, then x -> b0 x + b1 */
static void affine(const char *a0, const char *a1, char *b0, char *b1)
{
	unsigned f = at(a0) * at(b0) % PRIME, s = at(a1) * at(b0) % PRIME + at(b1);

	set(b0, f);
	set(b1, s);
}

static void one_affine(const char *a, char *b)
{
	affine(a, a + 4, b, b + 4);
}

static void one_spread(const char *a, char *b)
{
	affine(a, a + 12, b, b + 12);
}

static void one_before(const char *a, char *b)
{
	affine(a - 8, a - 4, b - 8, b - 4);
}

static void one_matrix(const char *a, char *b)
{
	static const int place[4] = { 0, 4, 12, 16 };
	unsigned x[4], y[4];
	int i;

	for (i = 0; i < 4; i++) {
		x[i] = at(a + place[i]);
		y[i] = at(b + place[i]);
	}
	for (i = 0; i < 4; i++)
		set(b + place[i], x[i / 2 * 2] * y[i % 2] % PRIME + x[i / 2 * 2 + 1] * y[2 + i % 2] % PRIME);
}

/* An int and a double, which is added; its values are small. */
static void one_mixed(const char *a, char *b)
{
	double x, y;

	set(b + 16, at(a + 16) + at(b + 16));
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	y += x;
	memcpy(b, &y, sizeof(y));
}

#define FUNCTION(name, extent)                                                                                                \
	static void op_##name(void *in, void *inout, int *len, MPI_Datatype *type)                                            \
	{                                                                                                                     \
		each(in, inout, len, type, extent, one_##name);                                                               \
	}
FUNCTION(add, 4)
FUNCTION(left, 8)
FUNCTION(affine, 8)
FUNCTION(spread, 16)
FUNCTION(before, 16)
FUNCTION(matrix, 32)
FUNCTION(mixed, 48)

const struct user_op user_ops[] = {
	{ "add", true, 1, { "MPI_UNSIGNED" }, { 0 }, 0, 4, op_add },
	{ "left", false, 1, { "MPI_DOUBLE" }, { 0 }, 0, 8, op_left },
	{ "affine", false, 2, { "MPI_UNSIGNED", "MPI_UNSIGNED" }, { 0, 4 }, 0, 8, op_affine },
	{ "spread", false, 2, { "MPI_UNSIGNED", "MPI_UNSIGNED" }, { 0, 12 }, 0, 16, op_spread },
	{ "before", false, 2, { "MPI_UNSIGNED", "MPI_UNSIGNED" }, { -8, -4 }, -8, 16, op_before },
	{ "matrix", false, 4, { "MPI_UNSIGNED", "MPI_UNSIGNED", "MPI_UNSIGNED", "MPI_UNSIGNED" }, { 0, 4, 12, 16 }, 0, 32,
		op_matrix },
	{ "mixed", true, 2, { "MPI_UNSIGNED", "MPI_DOUBLE" }, { 16, 0 }, -16, 48, op_mixed },
};
const int user_op_count = (int)(sizeof(user_ops) / sizeof(user_ops[0]));
