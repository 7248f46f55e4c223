/* SPDX-License-Identifier: BSD-3-Clause
 * The list of backends. */
#include "backends/mpi/mpi.h"
#include "backends/shm/shm.h"
#include "backends/smcq/smcq.h"
#include "backends/verbs/verbs.h"

#include <string.h>

const struct be_row be_backends[] = {
	{ "shm", &sm_ops, false },
	{ "verbs", &vb_ops, false },
	{ "mpi", &mp_ops, false },
	{ "smcq", &smcq_ops, false },
	{ "sim", NULL, true },
};

const unsigned be_nbackends = sizeof be_backends / sizeof *be_backends;

const struct be_row *be_find(const char *name)
{
	for (unsigned i = 0; i < be_nbackends; i++)
		if (!strcmp(be_backends[i].name, name))
			return &be_backends[i];
	return NULL;
}

const struct be_row *be_transporter(void)
{
	unsigned i = 0;

	while (!be_backends[i].ops || !be_backends[i].ops->transports)
		i++;
	return &be_backends[i];
}

struct nearest be_nearest(const char *name)
{
	struct nearest n = { .word = name };

	for (unsigned i = 0; i < be_nbackends; i++)
		if (be_backends[i].ops)
			nearest_name(&n, be_backends[i].name);
	return n;
}
