/* SPDX-License-Identifier: BSD-3-Clause
 * Data for reductions, and the results of the operations. They are computed independently of the library: one element
 * at a time in wide types, in which sums and products of the generated values are exact. */
#include "goalrun/run.h"
#include "runtime/sched.h"

#include <float.h>
#include <string.h>

/* ---- patterns ---- */

uint64_t values_hash(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t values_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return values_hash(values_hash(values_hash(values_hash(a + 1) + b) + c) + d);
}

/* Fills memory with a part of the pattern, from its byte `first` on. */
static void values_pattern_at(char *p, uint64_t first, uint64_t bytes, uint64_t key)
{
	for (uint64_t i = 0, n; i < bytes; i += n) {
		uint64_t at = first + i, v = values_hash(key + at / 8 * 8), skip = at % 8;

		n = bytes - i < 8 - skip ? bytes - i : 8 - skip;
		memcpy(p + i, (char *)&v + skip, n);
	}
}

void values_pattern(char *p, uint64_t bytes, uint64_t key)
{
	values_pattern_at(p, 0, bytes, key);
}

int64_t values_differ(const char *p, uint64_t bytes, uint64_t key)
{
	for (uint64_t i = 0; i < bytes; i += 8) {
		uint64_t v = values_hash(key + i), n = bytes - i < 8 ? bytes - i : 8;

		if (memcmp(p + i, &v, n) == 0)
			continue;
		for (uint64_t k = 0; k < n; k++)
			if (p[i + k] != ((const char *)&v)[k])
				return (int64_t)(i + k);
	}
	return -1;
}

/* ---- goalrun's operation ---- */

/* goalrun's own operation. Each byte is a map x -> a x + b modulo 16, with a in the low bits; a is odd, so that no
 * information is lost. The operation composes the maps, which is associative and not commutative. */
void values_user(const void *in, void *inout, size_t count, void *arg)
{
	const unsigned char *x = in;
	unsigned char *y = inout;
	size_t bytes = count * *(const size_t *)arg;

	for (size_t i = 0; i < bytes; i++) {
		unsigned a = x[i] & 15u, b = x[i] >> 4, c = y[i] & 15u, d = y[i] >> 4;

		y[i] = (unsigned char)(((a * d + b) & 15u) << 4 | ((a * c) & 15u));
	}
}

/* ---- generated values ---- */

static uint64_t integer_of(unsigned op, uint64_t h)
{
	bool logical = op == MPIX_SCHED_LAND || op == MPIX_SCHED_LOR || op == MPIX_SCHED_LXOR;

	return logical && h % 4 == 0 ? 0 : h;
}

/* Returns a small integer. For products it returns 1 or -1, and on the first 64 ranks also 2, -2, 0.5 and -0.5. */
static double floating_of(unsigned op, uint64_t h, uint32_t rank)
{
	static const double powers[] = { 0.5, 1, 2, -0.5, -1, -2 };

	if (op != MPIX_SCHED_PROD)
		return (int)(h % 255) - 127;
	return rank < 64 ? powers[h % 6] : h % 2 ? 1 : -1;
}

#define MAKE_BITS(T) p[i] = (T)h
#define MAKE_INTEGER(T) p[i] = (T)integer_of(op, h)
#define MAKE_LOGICAL(T) p[i] = h % 4 != 0
#define MAKE_FLOATING(T) p[i] = (T)floating_of(op, h, rank)
/* For products one component of each number is 0, so that the same holds for the product. */
#define MAKE_COMPLEX(T)                                                                      \
	__real__ p[i] = (__typeof__(__real__ p[i]))(op == MPIX_SCHED_PROD && h >> 63 ?       \
							    0 :                              \
							    floating_of(op, h % 1024, rank)); \
	__imag__ p[i] = (__typeof__(__real__ p[i]))(op == MPIX_SCHED_PROD && !(h >> 63) ?    \
							    0 :                              \
							    floating_of(op, h / 1024 % 1024, rank))
/* There are few different values, so that many are equal. */
#define MAKE_PAIR(T)                                         \
	p[i].value = (__typeof__(p[i].value))(h % 8);        \
	p[i].index = (__typeof__(p[i].index))(h / 8 % 1000)

#define X(NAME, name, kind, T)                                                                          \
	static void make_##NAME(unsigned op, uint64_t key, uint32_t rank, uint64_t count, void *out)    \
	{                                                                                               \
		T *p = out;                                                                             \
                                                                                                        \
		for (uint64_t i = 0; i < count; i++) {                                                  \
			uint64_t h = values_hash(key + i);                                              \
                                                                                                        \
			(void)op;                                                                       \
			(void)rank;                                                                     \
			MAKE_##kind(T);                                                                 \
		}                                                                                       \
	}
MPIX_SCHED_BASIC_LIST(X)
#undef X

void values_fill(enum MPIX_Sched_basic type, unsigned op, uint64_t key, uint32_t rank, uint64_t first,
		 uint64_t count, void *out)
{
	static void (*const make[])(unsigned, uint64_t, uint32_t, uint64_t, void *) = {
#define X(NAME, name, kind, T) make_##NAME,
		MPIX_SCHED_BASIC_LIST(X)
#undef X
	};
	size_t elem = rt_basic_size(type);
	uint64_t bytes = count * elem;

	values_pattern_at(out, first * elem, bytes, key); /* also fills padding bytes between the values */
	if (op == RUN_USER)
		for (uint64_t i = 0; i < bytes; i++)
			((char *)out)[i] |= 1;
	else if (op != MPIX_SCHED_NO_OP)
		make[type](op, key + first, rank, count, out);
}

/* ---- expected results ---- */

static uint64_t fold_integer(unsigned op, uint64_t a, uint64_t b, bool is_signed)
{
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case MPIX_SCHED_SUM:
		return a + b;
	case MPIX_SCHED_PROD:
		return a * b;
	case MPIX_SCHED_MIN:
		return less ? a : b;
	case MPIX_SCHED_MAX:
		return less ? b : a;
	case MPIX_SCHED_LAND:
		return a && b;
	case MPIX_SCHED_LOR:
		return a || b;
	case MPIX_SCHED_LXOR:
		return !a != !b;
	case MPIX_SCHED_BAND:
		return a & b;
	case MPIX_SCHED_BOR:
		return a | b;
	default:
		return a ^ b;
	}
}

static long double fold_floating(unsigned op, long double a, long double b)
{
	switch (op) {
	case MPIX_SCHED_SUM:
		return a + b;
	case MPIX_SCHED_PROD:
		return a * b;
	case MPIX_SCHED_MIN:
		return a < b ? a : b;
	default:
		return a > b ? a : b;
	}
}

#define FOLD_INTEGER(T) b[i] = (T)fold_integer(op, (uint64_t)a[i], (uint64_t)b[i], (T)-1 < 1)
#define FOLD_BITS(T) FOLD_INTEGER(T)
#define FOLD_LOGICAL(T) FOLD_INTEGER(T)
#define FOLD_FLOATING(T) b[i] = (T)fold_floating(op, a[i], b[i])
#define FOLD_COMPLEX(T) b[i] = op == MPIX_SCHED_SUM ? a[i] + b[i] : a[i] * b[i]
#define FOLD_PAIR(T)                                                                         \
	if (a[i].value == b[i].value)                                                        \
		b[i].index = a[i].index < b[i].index ? a[i].index : b[i].index;              \
	else if ((op == MPIX_SCHED_MINLOC) == (a[i].value < b[i].value))                     \
		b[i] = a[i]

#define X(NAME, name, kind, T)                                                                \
	static void fold_##NAME(unsigned op, const void *left, void *right, uint64_t count)   \
	{                                                                                     \
		const T *a = left;                                                            \
		T *b = right;                                                                 \
                                                                                              \
		for (uint64_t i = 0; i < count; i++) {                                        \
			FOLD_##kind(T);                                                       \
		}                                                                             \
	}
MPIX_SCHED_BASIC_LIST(X)
#undef X

void values_fold(enum MPIX_Sched_basic type, unsigned op, const void *left, void *right, uint64_t count)
{
	static void (*const fold[])(unsigned, const void *, void *, uint64_t) = {
#define X(NAME, name, kind, T) fold_##NAME,
		MPIX_SCHED_BASIC_LIST(X)
#undef X
	};
	size_t elem = rt_basic_size(type);

	if (op == RUN_USER)
		values_user(left, right, count, &elem);
	else
		fold[type](op, left, right, count);
}

/* ---- comparison ---- */

/* Bytes of a number that have a value: x87's extended numbers are followed by padding. */
#define DIGITS(x) (sizeof(x) == 16 && LDBL_MANT_DIG == 64 ? 10 : sizeof(x))
#define MARK(T, part) memset(mask + offsetof(T, part), 1, DIGITS(((T *)0)->part))
#define MASK_INTEGER(T) memset(mask, 1, sizeof(T))
#define MASK_BITS(T) MASK_INTEGER(T)
#define MASK_LOGICAL(T) MASK_INTEGER(T)
#define MASK_FLOATING(T) memset(mask, 1, DIGITS(T))
#define MASK_COMPLEX(T)                              \
	memset(mask, 1, DIGITS(__real__(T)0));       \
	memset(mask + sizeof(T) / 2, 1, DIGITS(__real__(T)0))
#define MASK_PAIR(T)        \
	MARK(T, value);     \
	MARK(T, index)

int64_t values_compare(enum MPIX_Sched_basic type, unsigned op, const char *got, const char *want,
		       uint64_t count)
{
	size_t elem = rt_basic_size(type);
	char mask[sizeof(long double _Complex)] = { 0 };

	if (!memcmp(got, want, count * elem))
		return -1;
	switch (type) {
#define X(NAME, name, kind, T)    \
	case MPIX_SCHED_##NAME:   \
		MASK_##kind(T);   \
		break;
		MPIX_SCHED_BASIC_LIST(X)
#undef X
	default:
		break;
	}
	if (op == MPIX_SCHED_NO_OP || op == RUN_USER) /* all bytes count */
		memset(mask, 1, elem);
	for (uint64_t i = 0; i < count * elem; i++)
		if (got[i] != want[i] && mask[i % elem])
			return (int64_t)i;
	return -1;
}
