/* SPDX-License-Identifier: BSD-3-Clause
 * Loads libfabric and finds its provider when a rank first needs them. */
#ifndef BACKENDS_SMCQ_OFI_FABRIC_H
#define BACKENDS_SMCQ_OFI_FABRIC_H

#include "backends/smcq/engine.h"

#include <rdma/fabric.h>

/* Processes that can connect to an endpoint: those of the node, or all that the network reaches. */
enum ofi_reach { OFI_NODE, OFI_NETWORK, OFI_REACHES };

struct ofi_fabric {
	struct fid_fabric *fabric;
	struct fi_info *info;
	const char *(*text)(int err); /* returns the text of a positive error code */
};

/* Returns the fabric of the rank's context, for an engine. Returns NULL after an error, which it has reported. */
const struct ofi_fabric *ofi_fabric_of(struct be_group *g, const struct smcq_engine *engine, enum ofi_reach reach, int *err);
void ofi_fabric_close(void *kept);

#endif
