/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun's joules, from counters as Linux shows them. */
#include "goalrun/run.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void put(unsigned domain, const char *file, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/intel-rapl:%u", dir, domain);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/intel-rapl:%u/%s", dir, domain, file);
	f = fopen(path, "we");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void clean(void)
{
	static const char *const files[] = { "name", "energy_uj", "max_energy_range_uj" };
	char path[128];

	for (unsigned d = 0; d < 3; d++) {
		for (unsigned i = 0; i < 3; i++) {
			snprintf(path, sizeof path, "%s/intel-rapl:%u/%s", dir, d, files[i]);
			unlink(path);
		}
		snprintf(path, sizeof path, "%s/intel-rapl:%u", dir, d);
		rmdir(path);
	}
	rmdir(dir);
}

static void packages(void)
{
	struct energy a, b;

	snprintf(dir, sizeof dir, "/tmp/energy.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	energy_read(dir, &a);
	CU_ASSERT_TRUE(isnan(energy_between(&a, &a))); /* there are none */
	put(0, "name", "package-0\n");
	put(0, "energy_uj", "1000000\n");
	put(0, "max_energy_range_uj", "9999999\n");
	put(1, "name", "package-1\n");
	put(1, "energy_uj", "9000000\n");
	put(1, "max_energy_range_uj", "9999999\n");
	put(2, "name", "psys\n"); /* counts the others again */
	put(2, "energy_uj", "5\n");
	put(2, "max_energy_range_uj", "9999999\n");
	energy_read(dir, &a);
	put(0, "energy_uj", "3500000\n");
	put(1, "energy_uj", "500000\n"); /* it has wrapped around */
	put(2, "energy_uj", "9000005\n");
	energy_read(dir, &b);
	CU_ASSERT_DOUBLE_EQUAL(energy_between(&a, &b), 2.5 + 1.5, 1e-9);
	put(1, "energy_uj", "\n"); /* not readable any more */
	energy_read(dir, &b);
	CU_ASSERT_DOUBLE_EQUAL(energy_between(&a, &b), 2.5, 1e-9);
	clean();
}

const struct unit_suite suite_energy = {
	"energy",
	(const struct unit_test[]){
		{ "packages", packages },
		{ NULL, NULL },
	},
};
