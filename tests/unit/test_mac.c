/* SPDX-License-Identifier: BSD-3-Clause
 * SipHash-2-4, with the vectors of its authors' reference implementation. */
#include "tests/unit/unit.h"

#include "util/mac.h"

static void vectors(void)
{
	char key[MAC_KEY], data[16];

	for (int i = 0; i < 16; i++)
		key[i] = data[i] = (char)i;
	CU_ASSERT_EQUAL(mac(key, data, 0), 0x726fdb47dd0e0e31u);
	CU_ASSERT_EQUAL(mac(key, data, 1), 0x74f839c593dc67fdu);
	CU_ASSERT_EQUAL(mac(key, data, 8), 0x93f5f5799a932462u);
	CU_ASSERT_EQUAL(mac(key, data, 15), 0xa129ca6149be45e5u);
}

const struct unit_suite suite_mac = {
	"mac",
	(const struct unit_test[]){
		{ "vectors", vectors },
		{ NULL, NULL },
	},
};
