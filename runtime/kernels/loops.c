/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of basic types: plain loops that the compiler vectorises. This file is compiled once for each row of
 * variants.def, with VARIANT_NAME and the options of that row. All variants give the same bits, because they go element by
 * element, without contraction to fused operations. Where C leaves a result open, or CPUs differ, this file defines it, so
 * that the operations also commute to the bit:
 *
 *   integers wrap;
 *   a floating-point result that is not a number is the quiet NaN without sign and payload;
 *   min and max are minimum and maximum of IEEE 754-2019: with a NaN as operand the result is a NaN, and -0 is less
 *   than +0;
 *   a complex product is (ac - bd, ad + bc), also of infinities. */
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Precedes a loop whose iterations do not depend on each other: arrays that overlap are the same. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define LOOP(op, NAME, T, expr)                                                         \
	static void op##_##NAME(const void *left, const void *right, void *out, size_t n) \
	{                                                                               \
		const T *x = left, *y = right;                                          \
		T *z = out;                                                             \
                                                                                        \
		INDEPENDENT                                                             \
		for (size_t i = 0; i < n; i++) {                                        \
			const T a = x[i], b = y[i];                                     \
                                                                                        \
			z[i] = (T)(expr);                                               \
		}                                                                       \
	}

/* ---- scalars ---- */

/* In min_T and max_T, v and w are the results for the two orders of the operands. If neither operand is a NaN, they
 * have different bits only if one is +0 and the other -0. A bitwise or then gives -0, the minimum, and a bitwise and
 * gives +0, the maximum. */
#define FLOATING_POINT(T, U, suffix)                                       \
	static inline T number_##T(T a)                                    \
	{                                                                  \
		return a == a ? a : __builtin_nan##suffix("");             \
	}                                                                  \
	static inline T min_##T(T a, T b)                                  \
	{                                                                  \
		T v = b < a ? b : a, w = a < b ? a : b;                    \
		U x, y;                                                    \
                                                                           \
		memcpy(&x, &v, sizeof x);                                  \
		memcpy(&y, &w, sizeof y);                                  \
		x |= y;                                                    \
		memcpy(&v, &x, sizeof v);                                  \
		return isunordered(a, b) ? __builtin_nan##suffix("") : v;  \
	}                                                                  \
	static inline T max_##T(T a, T b)                                  \
	{                                                                  \
		T v = a < b ? b : a, w = b < a ? a : b;                    \
		U x, y;                                                    \
                                                                           \
		memcpy(&x, &v, sizeof x);                                  \
		memcpy(&y, &w, sizeof y);                                  \
		x &= y;                                                    \
		memcpy(&v, &x, sizeof v);                                  \
		return isunordered(a, b) ? __builtin_nan##suffix("") : v;  \
	}
FLOATING_POINT(float, uint32_t, f)
FLOATING_POINT(double, uint64_t, )

typedef long double extended;

static inline extended number_extended(extended a)
{
	return a == a ? a : __builtin_nanl("");
}

static inline extended min_extended(extended a, extended b)
{
	return a < b ? a : b < a ? b : a == b ? (signbit(a) ? a : b) : __builtin_nanl("");
}

static inline extended max_extended(extended a, extended b)
{
	return a < b ? b : b < a ? a : a == b ? (signbit(a) ? b : a) : __builtin_nanl("");
}

static inline long number_long(long a)
{
	return a;
}

static inline long min_long(long a, long b)
{
	return a < b ? a : b;
}

static inline long max_long(long a, long b)
{
	return a < b ? b : a;
}

/* CALL(min, a, (a, b)) calls min_T(a, b) for the type T of a. */
#define CALL(f, a, arguments) \
	_Generic(a, float: f##_float, double: f##_double, extended: f##_extended, default: f##_long) arguments

/* ---- classes of types: their loops, and their row in the table ---- */

#define BITS(NAME, T)                   \
	LOOP(BAND, NAME, T, a & b)      \
	LOOP(BOR, NAME, T, a | b)       \
	LOOP(BXOR, NAME, T, a ^ b)
#define ROW_BITS(NAME) ENTRY(BAND, NAME) ENTRY(BOR, NAME) ENTRY(BXOR, NAME)

#define LOGICAL(NAME, T)                                \
	LOOP(LAND, NAME, T, (a != 0) & (b != 0))        \
	LOOP(LOR, NAME, T, (a != 0) | (b != 0))         \
	LOOP(LXOR, NAME, T, (a != 0) ^ (b != 0))
#define ROW_LOGICAL(NAME) ENTRY(LAND, NAME) ENTRY(LOR, NAME) ENTRY(LXOR, NAME)

#define INTEGER(NAME, T)                                    \
	LOOP(SUM, NAME, T, (uint64_t)a + (uint64_t)b)       \
	LOOP(PROD, NAME, T, (uint64_t)a *(uint64_t)b)       \
	LOOP(MIN, NAME, T, a < b ? a : b)                   \
	LOOP(MAX, NAME, T, a < b ? b : a)                   \
	LOGICAL(NAME, T)                                    \
	BITS(NAME, T)
#define ROW_ARITHMETIC(NAME) ENTRY(SUM, NAME) ENTRY(PROD, NAME) ENTRY(MIN, NAME) ENTRY(MAX, NAME)
#define ROW_INTEGER(NAME) ROW_ARITHMETIC(NAME) ROW_LOGICAL(NAME) ROW_BITS(NAME)

#define FLOATING(NAME, T)                                   \
	LOOP(SUM, NAME, T, CALL(number, a, (a + b)))        \
	LOOP(PROD, NAME, T, CALL(number, a, (a * b)))       \
	LOOP(MIN, NAME, T, CALL(min, a, (a, b)))            \
	LOOP(MAX, NAME, T, CALL(max, a, (a, b)))
#define ROW_FLOATING(NAME) ROW_ARITHMETIC(NAME)

/* A complex number is an array of its two parts. For AVX-512 gcc 12 fuses a product with the difference, whatever
 * -ffp-contract says, unless something is between them. */
#if __has_builtin(__builtin_assoc_barrier)
#define ROUNDED(product) __builtin_assoc_barrier(product)
#else
#define ROUNDED(product) (product)
#endif
#define COMPLEX(NAME, T)                                                                      \
	typedef __typeof__(__real__(T)0) NAME##_part;                                         \
	LOOP(PARTS, NAME, NAME##_part, CALL(number, a, (a + b)))                              \
	static void SUM_##NAME(const void *left, const void *right, void *out, size_t n)      \
	{                                                                                     \
		PARTS_##NAME(left, right, out, 2 * n);                                        \
	}                                                                                     \
	static void PROD_##NAME(const void *left, const void *right, void *out, size_t n)     \
	{                                                                                     \
		const NAME##_part *x = left, *y = right;                                      \
		NAME##_part *z = out;                                                         \
                                                                                              \
		INDEPENDENT                                                                   \
		for (size_t i = 0; i < 2 * n; i += 2) {                                       \
			const NAME##_part a = x[i], b = x[i + 1], c = y[i], d = y[i + 1];     \
			const NAME##_part ac = ROUNDED(a * c), bd = ROUNDED(b * d); \
			const NAME##_part ad = ROUNDED(a * d), bc = ROUNDED(b * c); \
                                                                                              \
			z[i] = CALL(number, a, (ac - bd));                                    \
			z[i + 1] = CALL(number, a, (ad + bc));                                \
		}                                                                             \
	}
#define ROW_COMPLEX(NAME) ENTRY(SUM, NAME) ENTRY(PROD, NAME)

/* The value that is taken brings its index. Of equal values, the smaller index is taken. A NaN comes before all other
 * values. */
#define LOCATE(op, NAME, T, before, value_of)                                                 \
	static void op##_##NAME(const void *left_in, const void *right_in, void *out, size_t n) \
	{                                                                                     \
		const T *x = left_in, *y = right_in;                                          \
		T *z = out;                                                                   \
                                                                                              \
		INDEPENDENT                                                                   \
		for (size_t i = 0; i < n; i++) {                                              \
			const __typeof__(x->value) a = x[i].value, b = y[i].value;            \
			const __typeof__(x->index) j = x[i].index, k = y[i].index;            \
			const int left = a before b || (a != a && b == b);                    \
			const int right = b before a || (b != b && a == a);                   \
                                                                                              \
			z[i].value = (__typeof__(x->value))CALL(value_of, a, (a, b));         \
			z[i].index = (__typeof__(x->index))(left  ? j :                       \
							    right ? k :                       \
								    CALL(min, j, (j, k)));    \
		}                                                                             \
	}
#define PAIR(NAME, T)                         \
	LOCATE(MINLOC, NAME, T, <, min)       \
	LOCATE(MAXLOC, NAME, T, >, max)
#define ROW_PAIR(NAME) ENTRY(MINLOC, NAME) ENTRY(MAXLOC, NAME)

#define X(NAME, name, kind, T) kind(NAME, T)
MPIX_SCHED_BASIC_LIST(X)
#undef X

#define PASTE(a, b) a##b
#define TABLE(variant) PASTE(rt_kernels_, variant)
#define ENTRY(op, NAME) [MPIX_SCHED_##op] = op##_##NAME,
#define X(NAME, name, kind, T) [MPIX_SCHED_##NAME] = { ROW_##kind(NAME) },
const struct rt_kernels TABLE(VARIANT_NAME) = { .of = { MPIX_SCHED_BASIC_LIST(X) } };
