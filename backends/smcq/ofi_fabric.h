/* SPDX-License-Identifier: BSD-3-Clause
 * libfabric, which is loaded by who uses it. */
#ifndef BACKENDS_SMCQ_OFI_FABRIC_H
#define BACKENDS_SMCQ_OFI_FABRIC_H

#include "backends/smcq/engine.h"

#include <rdma/fabric.h>

/* What a context keeps: to find a provider takes long. */
struct ofi_fabric {
	struct smcq_state state;
	struct fid_fabric *fabric;
	struct fi_info *info;
	const char *(*text)(int err); /* of an error that is not negative */
	void (*free_info)(struct fi_info *info);
};

/* That of the rank's context, for an engine; NULL after an error, which has been told. */
const struct ofi_fabric *ofi_fabric_of(struct be_group *g, const struct smcq_engine *engine, int *err);
void ofi_fabric_close(void *fabric);

#endif
