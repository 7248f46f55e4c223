/* SPDX-License-Identifier: BSD-3-Clause
 * libfabric, which is loaded by who uses it. */
#ifndef BACKENDS_SMCQ_OFI_FABRIC_H
#define BACKENDS_SMCQ_OFI_FABRIC_H

#include "backends/smcq/engine.h"

#include <rdma/fabric.h>

/* Who can connect to endpoints: processes of the node, or all that the network reaches. */
enum ofi_reach { OFI_NODE, OFI_NETWORK, OFI_REACHES };

struct ofi_fabric {
	struct fid_fabric *fabric;
	struct fi_info *info;
	const char *(*text)(int err); /* of an error that is not negative */
};

/* That of the rank's context, for an engine; NULL after an error, which has been told. */
const struct ofi_fabric *ofi_fabric_of(struct be_group *g, const struct smcq_engine *engine, enum ofi_reach reach, int *err);
void ofi_fabric_close(void *kept);

#endif
