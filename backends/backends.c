/* SPDX-License-Identifier: BSD-3-Clause
 * The list of backends. */
#include "backends/shm/shm.h"

#include <string.h>

const struct be_row be_backends[] = {
	{ "shm", &sm_ops },
	{ "verbs", NULL },
	{ "smcq", NULL },
	{ "sim", NULL },
};
const unsigned be_nbackends = sizeof be_backends / sizeof *be_backends;

const struct be_ops *be_find(const char *name, bool *known)
{
	*known = false;
	for (unsigned i = 0; i < be_nbackends; i++)
		if (!strcmp(be_backends[i].name, name)) {
			*known = true;
			return be_backends[i].ops;
		}
	return NULL;
}
