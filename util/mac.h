/* SPDX-License-Identifier: BSD-3-Clause
 * A short proof that its author knows a key: SipHash-2-4 (Aumasson and Bernstein, 2012). */
#ifndef UTIL_MAC_H
#define UTIL_MAC_H

#include <stddef.h>
#include <stdint.h>

#define MAC_KEY 16 /* bytes */

uint64_t mac(const char key[MAC_KEY], const void *data, size_t len);

#endif
