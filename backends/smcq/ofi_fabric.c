/* SPDX-License-Identifier: BSD-3-Clause
 * The provider that carries deferred work out, and on whose work ofi.c is built. */
#include "backends/smcq/ofi_fabric.h"

#include "util/err.h"
#include "util/load.h"
#include "util/mem.h"

#include <dlfcn.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#define FABRIC_LIBRARY "libfabric.so.1"
#define FABRIC_VERSION FI_VERSION(1, 17)
#define FABRIC_FUNCTIONS FN(getinfo) FN(dupinfo) FN(freeinfo) FN(fabric) FN(strerror)

struct functions {
#define FN(name) __typeof__(&fi_##name) name;
	FABRIC_FUNCTIONS
#undef FN
};

static int load(struct be_group *g, struct functions *f)
{
	static const struct load_fn fns[] = {
#define FN(name) { "fi_" #name, offsetof(struct functions, name) },
		FABRIC_FUNCTIONS
#undef FN
	};
	struct load_handlers handlers;
	const char *missing;
	int err;

	/* It comes with libraries of devices that catch signals, and call exit there. */
	load_keep_handlers(&handlers);
	missing = load_library(FABRIC_LIBRARY, fns, sizeof fns / sizeof *fns, f);
	err = missing ? host_error(g, -ERR_UNSUPPORTED, "the engine ofi: %s cannot be loaded: %s", missing, dlerror()) : 0;
	load_put_back_handlers(&handlers, FABRIC_LIBRARY);
	return err;
}

/* What is asked of a provider: puts in order, and reads, counters of what arrives in a region, and a thread that makes progress.
 * Regions have the keys that we choose and begin at 0, so they can be registered anew without telling anyone. */
static int ask(struct fi_info *hints)
{
	hints->caps = FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->tx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_RAR;
	hints->rx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_RAR;
	hints->fabric_attr->prov_name = strdup("sockets"); /* of those that Debian has the only one with deferred work */
	return hints->fabric_attr->prov_name ? 0 : -FI_ENOMEM;
}

static int find(struct be_group *g, struct ofi_fabric *f)
{
	struct load_handlers handlers;
	struct functions fn;
	struct fi_info *hints;
	int err = load(g, &fn), rc;

	if (err)
		return err;
	f->text = fn.strerror;
	f->free_info = fn.freeinfo;
	hints = fn.dupinfo(NULL);
	rc = hints ? ask(hints) : -FI_ENOMEM;
	load_keep_handlers(&handlers);
	rc = rc ? rc : fn.getinfo(FABRIC_VERSION, NULL, NULL, 0, hints, &f->info);
	load_put_back_handlers(&handlers, FABRIC_LIBRARY);
	rc = rc ? rc : fn.fabric(f->info->fabric_attr, &f->fabric, NULL);
	if (hints)
		fn.freeinfo(hints);
	return rc ? host_error(g, -ERR_SYS, "the engine ofi: the provider sockets of libfabric: %s", fn.strerror(-rc)) : 0;
}

const struct ofi_fabric *ofi_fabric_of(struct be_group *g, const struct smcq_engine *engine, int *err)
{
	struct ofi_fabric *f = *host_state(g);

	*err = 0;
	if (f)
		return f;
	f = mem_calloc(1, sizeof *f);
	*err = f ? find(g, f) : host_error(g, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	if (*err) {
		ofi_fabric_close(f);
		return NULL;
	}
	f->state.engine = engine;
	*host_state(g) = f;
	return f;
}

void ofi_fabric_close(void *fabric)
{
	struct ofi_fabric *f = fabric;

	if (f && f->fabric)
		fi_close(&f->fabric->fid);
	if (f && f->info)
		f->free_info(f->info);
	free(f);
}
