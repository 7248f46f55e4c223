/* SPDX-License-Identifier: BSD-3-Clause
 * The list of backends. backends/backend.h declares it, so that only this file includes them. */
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

static bool is_near(const struct be_ops *ops)
{
	return ops->near;
}

static bool has_network(const struct be_ops *ops)
{
	return ops->network;
}

static bool has_transport(const struct be_ops *ops)
{
	return ops->transports;
}

/* Returns the first backend of a kind that is in the list. */
static const struct be_row *find_kind(bool (*is)(const struct be_ops *ops))
{
	unsigned i = 0;

	while (!be_backends[i].ops || !is(be_backends[i].ops))
		i++;
	return &be_backends[i];
}

const struct be_row *be_near(void)
{
	return find_kind(is_near);
}

const struct be_row *be_networked(void)
{
	return find_kind(has_network);
}

const struct be_row *be_transporter(void)
{
	return find_kind(has_transport);
}

struct nearest be_nearest(const char *name)
{
	struct nearest n = { .word = name };

	for (unsigned i = 0; i < be_nbackends; i++)
		if (be_backends[i].ops)
			nearest_name(&n, be_backends[i].name);
	return n;
}
