/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the energy that the machine has used: the counters of its packages in Linux's powercap (RAPL). */
#include "goalrun/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool read_number(const char *dir, unsigned package, const char *file, uint64_t *out)
{
	char path[256];
	bool ok;
	FILE *f;

	snprintf(path, sizeof path, "%s/intel-rapl:%u/%s", dir, package, file);
	f = fopen(path, "re");
	ok = f && fscanf(f, "%" SCNu64, out) == 1;
	if (f)
		fclose(f);
	return ok;
}

/* True if a powercap zone is a package. Other zones are parts of one, or the whole machine, and would be counted twice. */
static bool is_package(const char *dir, unsigned package)
{
	char path[256], name[16] = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/intel-rapl:%u/name", dir, package);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(name, sizeof name, f))
			name[0] = '\0';
		fclose(f);
	}
	return !strncmp(name, "package", 7);
}

void energy_read(const char *dir, struct energy *e)
{
	*e = (struct energy){ 0 };
	for (unsigned p = 0; p < ENERGY_PACKAGES; p++)
		e->known[p] = is_package(dir, p) && read_number(dir, p, "energy_uj", &e->uj[p]) &&
			      read_number(dir, p, "max_energy_range_uj", &e->most[p]);
}

double energy_between(const struct energy *from, const struct energy *to)
{
	double joules = NAN;

	for (unsigned p = 0; p < ENERGY_PACKAGES; p++) {
		uint64_t uj = to->uj[p] - from->uj[p];

		if (!from->known[p] || !to->known[p])
			continue;
		if (to->uj[p] < from->uj[p]) /* the counter has wrapped around */
			uj += to->most[p] + 1;
		joules = (isnan(joules) ? 0 : joules) + (double)uj / 1e6;
	}
	return joules;
}
