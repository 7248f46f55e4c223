/* SPDX-License-Identifier: BSD-3-Clause
 * SipHash-2-4. */
#include "util/mac.h"

static uint64_t rotate(uint64_t x, int b)
{
	return x << b | x >> (64 - b);
}

static void rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* Little endian, whatever the machine is. */
static uint64_t load(const unsigned char *p, size_t n)
{
	uint64_t x = 0;

	while (n--)
		x = x << 8 | p[n];
	return x;
}

uint64_t mac(const char key[MAC_KEY], const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t k[2], v[4], m;
	size_t left = len;

	for (int i = 0; i < 2; i++)
		k[i] = load((const unsigned char *)key + i * 8, 8);
	v[0] = k[0] ^ 0x736f6d6570736575u;
	v[1] = k[1] ^ 0x646f72616e646f6du;
	v[2] = k[0] ^ 0x6c7967656e657261u;
	v[3] = k[1] ^ 0x7465646279746573u;
	for (; left >= 8; left -= 8, p += 8) {
		m = load(p, 8);
		v[3] ^= m;
		rounds(v, 2);
		v[0] ^= m;
	}
	m = (uint64_t)len << 56 | load(p, left);
	v[3] ^= m;
	rounds(v, 2);
	v[0] ^= m;
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
