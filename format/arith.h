/* SPDX-License-Identifier: BSD-3-Clause
 * Checked arithmetic on signed 64-bit numbers, as programs and EXPRS use it. The functions return 0, -ERR_OVERFLOW,
 * -ERR_DIVZERO or -ERR_DOMAIN. They are inlined, so that a call with a constant op compiles to its own case alone.
 * Freestanding. */
#ifndef FORMAT_ARITH_H
#define FORMAT_ARITH_H

#include "format/bin.h"
#include "util/err.h"

#define ARITH_INLINE static inline __attribute__((always_inline))

static inline int floor_div(int64_t x, int64_t y, int64_t *q, int64_t *m)
{
	if (y == 0)
		return -ERR_DIVZERO;
	if (y == -1) { /* INT64_MIN / -1 traps */
		*m = 0;
		return __builtin_sub_overflow((int64_t)0, x, q) ? -ERR_OVERFLOW : 0;
	}
	*q = x / y;
	*m = x % y;
	if (*m != 0 && (*m < 0) != (y < 0)) {
		*m += y;
		*q -= 1;
	}
	return 0;
}

static inline int power(int64_t x, int64_t y, int64_t *out)
{
	int64_t r = 1;

	if (y < 0)
		return -ERR_DOMAIN;
	while (y) {
		if ((y & 1) && __builtin_mul_overflow(r, x, &r))
			return -ERR_OVERFLOW;
		y >>= 1;
		if (y && __builtin_mul_overflow(x, x, &x))
			return -ERR_OVERFLOW;
	}
	*out = r;
	return 0;
}

static inline int shift(int64_t x, int64_t y, bool left, int64_t *out)
{
	if (y < 0 || y > 63)
		return -ERR_DOMAIN;
	if (!left) {
		*out = x >> y;
		return 0;
	}
	int64_t r = (int64_t)((uint64_t)x << y);

	if (r >> y != x)
		return -ERR_OVERFLOW;
	*out = r;
	return 0;
}

static inline int reverse_bits(int64_t x, int64_t n, int64_t *out)
{
	if (n < 0 || n > 62 || x < 0 || x >> n)
		return -ERR_DOMAIN;
	*out = 0;
	for (; n; n--, x >>= 1)
		*out = *out << 1 | (x & 1);
	return 0;
}

ARITH_INLINE int apply_binary(int op, int64_t x, int64_t y, int64_t *out)
{
	int64_t other;

	switch (op) {
	case BIN_ADD:
		return __builtin_add_overflow(x, y, out) ? -ERR_OVERFLOW : 0;
	case BIN_SUB:
		return __builtin_sub_overflow(x, y, out) ? -ERR_OVERFLOW : 0;
	case BIN_MUL:
		return __builtin_mul_overflow(x, y, out) ? -ERR_OVERFLOW : 0;
	case BIN_DIV:
		return floor_div(x, y, out, &other);
	case BIN_MOD:
		if (y > 0 && x < y && x >= -y) { /* the usual case, as in (rank + 1) mod size: no division is needed */
			*out = x < 0 ? x + y : x;
			return 0;
		}
		return y == -1 ? (*out = 0, 0) : floor_div(x, y, &other, out);
	case BIN_POW:
		if (x == 2 && y >= 0 && y < 63) {
			*out = (int64_t)1 << y;
			return 0;
		}
		return power(x, y, out);
	case BIN_SHL:
		return shift(x, y, true, out);
	case BIN_SHR:
		return shift(x, y, false, out);
	case BIN_BAND:
		*out = x & y;
		return 0;
	case BIN_BOR:
		*out = x | y;
		return 0;
	case BIN_XOR:
		*out = x ^ y;
		return 0;
	case BIN_MIN:
		*out = x < y ? x : y;
		return 0;
	case BIN_MAX:
		*out = x > y ? x : y;
		return 0;
	case BIN_REVERSE:
		return reverse_bits(x, y, out);
	case BIN_EQ:
		*out = x == y;
		return 0;
	case BIN_NE:
		*out = x != y;
		return 0;
	case BIN_LT:
		*out = x < y;
		return 0;
	case BIN_LE:
		*out = x <= y;
		return 0;
	}
	return -ERR_CORRUPT;
}

ARITH_INLINE int apply_unary(int op, int64_t x, int64_t *out)
{
	switch (op) {
	case BIN_NEG:
		return __builtin_sub_overflow((int64_t)0, x, out) ? -ERR_OVERFLOW : 0;
	case BIN_NOT:
		*out = !x;
		return 0;
	case BIN_BNOT:
		*out = ~x;
		return 0;
	case BIN_ABS:
		if (x == INT64_MIN)
			return -ERR_OVERFLOW;
		*out = x < 0 ? -x : x;
		return 0;
	case BIN_LOG2:
	case BIN_CEILLOG2:
		if (x < 1)
			return -ERR_DOMAIN;
		*out = 63 - __builtin_clzll((unsigned long long)x);
		if (op == BIN_CEILLOG2 && (x & (x - 1)))
			*out += 1;
		return 0;
	case BIN_LOWBIT:
		if (x == INT64_MIN)
			return -ERR_OVERFLOW;
		*out = x & -x;
		return 0;
	case BIN_POPCOUNT:
		*out = 0;
		for (uint64_t rest = (uint64_t)x; rest; rest &= rest - 1)
			*out += 1;
		return 0;
	}
	return -ERR_CORRUPT;
}

ARITH_INLINE int apply_arith(int op, int64_t x, int64_t y, int64_t *out)
{
	return op < BIN_NEG ? apply_binary(op, x, y, out) : apply_unary(op, x, out);
}

#endif
