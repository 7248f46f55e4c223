/* SPDX-License-Identifier: BSD-3-Clause
 * Lists counts that assertions may ask for: multiples of the number of ranks, of powers of two, and of the numbers in the
 * schedule's program, which include those of its assertions; then all small counts. */
#include "compiler/verify/counts.h"

#include <stdlib.h>

#define LARGEST ((int64_t)1 << 52) /* larger counts overflow when a schedule multiplies them */
#define MULTIPLE ((int64_t)1 << 16) /* larger multiples come last */
#define FEW 256 /* how many small counts come early */
#define MANY 1024u /* how many numbers of a program are used */
#define PRODUCTS 16u /* how many of the numbers are multiplied with each other */

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts the numbers and removes duplicates. */
static void sort(struct counts *c)
{
	size_t n = 0;

	if (c->numbers.n)
		qsort(c->numbers.at, c->numbers.n, sizeof *c->numbers.at, compare);
	for (size_t i = 0; i < c->numbers.n; i++)
		if (!n || c->numbers.at[n - 1] != c->numbers.at[i])
			c->numbers.at[n++] = c->numbers.at[i];
	c->numbers.n = n;
}

static int add(struct counts *c, int64_t v)
{
	return v < 2 || v > LARGEST ? 0 : VEC_PUSH(&c->numbers, v);
}

/* Returns the product, or 0 if it is too large. */
static int64_t times(int64_t a, int64_t b)
{
	return a > LARGEST / b ? 0 : a * b;
}

/* Adds the numbers in the program, the arguments, the number of ranks, and this number plus and minus 1. */
static int add_numbers(struct counts *c, const struct bin *b, uint32_t size, const struct bin_arg *row)
{
	int err = 0;

	for (uint32_t i = 0; i < b->ncode && !err && c->numbers.n < MANY; i++)
		if (b->code[i].op == BIN_IMM)
			err = add(c, b->code[i].imm);
		else if (b->code[i].op == BIN_CONST)
			err = add(c, b->consts[b->code[i].imm]);
	for (uint32_t i = 0; i < b->nparams && !err; i++) {
		const struct bin_param *p = &b->params[i];

		if (row && row[i].known)
			err = add(c, row[i].value);
		else if (p->has_default == BIN_NUMBER)
			err = add(c, p->value);
	}
	for (int64_t k = -1; k <= 1 && !err; k++)
		err = add(c, (int64_t)size + k);
	return err;
}

int counts_init(struct counts *c, const struct bin *b, uint32_t size, const struct bin_arg *row)
{
	size_t n, own;
	int err;

	*c = (struct counts){ .few = 1024 };
	c->few += size < 64 ? 2 * (int64_t)size * size : 8192;
	err = add_numbers(c, b, size, row);
	sort(c);
	own = c->numbers.n;
	n = c->numbers.n < PRODUCTS ? c->numbers.n : PRODUCTS;
	err = err ? err : add(c, (int64_t)size * size);
	for (size_t i = 0; i < n && !err; i++) {
		err = add(c, times(c->numbers.at[i], size));
		for (size_t j = i; j < n && !err; j++) {
			const int64_t two = times(c->numbers.at[i], c->numbers.at[j]);

			err = add(c, two);
			for (size_t k = j; two && k < n && !err; k++)
				err = add(c, times(two, c->numbers.at[k]));
		}
	}
	for (int64_t p = 2; p <= LARGEST && !err; p *= 2)
		err = add(c, p);
	for (size_t i = 0; i < own && !err; i++) {
		err = add(c, c->numbers.at[i] - 1);
		err = err ? err : add(c, c->numbers.at[i] + 1);
	}
	sort(c);
	if (err)
		counts_fini(c);
	return err;
}

void counts_fini(struct counts *c)
{
	VEC_FREE(&c->numbers);
}

int64_t counts_other(const struct counts *c, int64_t base, size_t i)
{
	const size_t n = c->numbers.n;

	if (i < n) /* multiples of base make blocks as uneven as base does: it may be 2p + 1 */
		return c->numbers.at[i] <= MULTIPLE / base ? c->numbers.at[i] * base : 1;
	i -= n;
	if (i < FEW)
		return (int64_t)i + 1;
	i -= FEW;
	if (i < n)
		return c->numbers.at[i];
	i -= n;
	return i < (size_t)c->few - FEW ? (int64_t)(i + FEW + 1) : 0;
}

size_t counts_short(const struct counts *c)
{
	return 2 * c->numbers.n + FEW;
}
