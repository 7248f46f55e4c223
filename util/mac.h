/* SPDX-License-Identifier: BSD-3-Clause
 * Message authentication codes: a short proof that the author of a message knows a key. The function is SipHash-2-4
 * (Aumasson and Bernstein, 2012) of libsodium. */
#ifndef UTIL_MAC_H
#define UTIL_MAC_H

#include <sodium/crypto_shorthash_siphash24.h>
#include <stddef.h>
#include <stdint.h>

#define MAC_KEY crypto_shorthash_siphash24_KEYBYTES

static inline uint64_t mac(const char key[MAC_KEY], const void *data, size_t len)
{
	uint64_t proof;

	_Static_assert(sizeof proof == crypto_shorthash_siphash24_BYTES, "size of a proof");
	crypto_shorthash_siphash24((unsigned char *)&proof, data, len, (const unsigned char *)key);
	return proof;
}

#endif
