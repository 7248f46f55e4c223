/* SPDX-License-Identifier: BSD-3-Clause
 * Counts that assertions may ask for: multiples of the number of ranks, of powers of two, and of the numbers that the
 * schedule has, which are those of its assertions as well; then all small ones. */
#include "compiler/verify/counts.h"

#include "util/err.h"

#include <stdlib.h>

#define LARGEST ((int64_t)1 << 52) /* counts beyond overflow where they are multiplied */
#define MULTIPLE ((int64_t)1 << 16) /* multiples beyond come last */
#define FEW 256 /* small ones that come first */
#define MANY 1024u /* numbers of a program that are looked at */
#define PRODUCTS 16u /* of them that are multiplied with each other */

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Ascending, each once. */
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

/* The product, or 0 when it is too large. */
static int64_t times(int64_t a, int64_t b)
{
	return a > LARGEST / b ? 0 : a * b;
}

/* The numbers of the program, of the arguments, and of ranks. */
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
		else if (p->has_default)
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

	if (i < n) /* in place of 2p + 1 they make blocks as uneven as that does */
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
