/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the libfabric provider that carries out deferred work; ofi.c builds on it. */
#include "backends/smcq/ofi_fabric.h"

#include "backends/services.h"
#include "util/err.h"
#include "util/library.h"
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

/* libfabric's functions and fabrics. A context keeps them, because finding a provider takes long. */
struct kept {
	struct smcq_state state;
	struct functions fn;
	struct ofi_fabric fabrics[OFI_REACHES];
};

static int load_libfabric(struct be_group *g, struct functions *f)
{
	static const struct library_fn fns[] = {
#define FN(name) { "fi_" #name, offsetof(struct functions, name) },
		FABRIC_FUNCTIONS
#undef FN
	};
	struct library_handlers handlers;
	const char *missing;
	int err;

	/* libfabric loads libraries of devices that install signal handlers, which call exit. */
	library_keep_handlers(&handlers);
	missing = library_load(FABRIC_LIBRARY, fns, sizeof fns / sizeof *fns, f);
	err = missing ? group_error(g, -ERR_UNSUPPORTED, "the engine ofi: %s cannot be loaded: %s", missing, dlerror()) : 0;
	library_restore_handlers(&handlers, FABRIC_LIBRARY);
	return err;
}

/* Sets the features that the provider must offer: ordered puts and reads, counters of what arrives in a region, and a thread
 * that makes progress. Regions have keys that we choose, and offsets in them begin at 0. So a region can be registered anew
 * without informing the peers. */
static int set_hints(struct fi_info *hints)
{
	hints->caps = FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->mr_key_size = sizeof(uint64_t); /* long enough that nobody can guess a key */
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->tx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_RAR;
	hints->rx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_RAR;
	/* the only provider in Debian's libfabric that has deferred work */
	hints->fabric_attr->prov_name = strdup("sockets");
	return hints->fabric_attr->prov_name ? 0 : -FI_ENOMEM;
}

static int find_fabric(struct be_group *g, const struct functions *fn, enum ofi_reach reach, struct ofi_fabric *f)
{
	const char *from = reach == OFI_NODE ? "127.0.0.1" : NULL;
	struct library_handlers handlers;
	struct fi_info *hints = fn->dupinfo(NULL);
	int rc = hints ? set_hints(hints) : -FI_ENOMEM;

	library_keep_handlers(&handlers);
	rc = rc ? rc : fn->getinfo(FABRIC_VERSION, from, NULL, from ? FI_SOURCE : 0, hints, &f->info);
	library_restore_handlers(&handlers, FABRIC_LIBRARY);
	rc = rc ? rc : fn->fabric(f->info->fabric_attr, &f->fabric, NULL);
	f->text = fn->strerror;
	if (hints)
		fn->freeinfo(hints);
	return rc ? group_error(g, -ERR_SYS, "the engine ofi: the provider sockets of libfabric: %s", fn->strerror(-rc)) : 0;
}

static void close_fabric(const struct functions *fn, struct ofi_fabric *f)
{
	if (f->fabric)
		fi_close(&f->fabric->fid);
	if (f->info)
		fn->freeinfo(f->info);
	*f = (struct ofi_fabric){ 0 };
}

/* Returns what *at keeps, which it makes the first time. */
static struct kept *keep(struct be_group *g, void **at, const struct smcq_engine *engine, int *err)
{
	struct kept *k = *at;

	if (k)
		return k;
	k = mem_calloc(1, sizeof *k);
	*err = k ? load_libfabric(g, &k->fn) : group_error(g, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	if (*err) {
		free(k);
		return NULL;
	}
	k->state.engine = engine;
	*at = k;
	return k;
}

const struct ofi_fabric *ofi_fabric_of(struct be_group *g, const struct smcq_engine *engine, enum ofi_reach reach, int *err)
{
	struct ofi_fabric *f = NULL;
	struct kept *k;

	*err = 0;
	k = keep(g, group_state(g), engine, err);
	if (k)
		f = &k->fabrics[reach];
	if (f && !f->fabric)
		*err = find_fabric(g, &k->fn, reach, f);
	if (f && *err)
		close_fabric(&k->fn, f);
	group_state_done(g);
	return *err ? NULL : f;
}

void ofi_fabric_close(void *kept)
{
	struct kept *k = kept;

	for (unsigned i = 0; i < OFI_REACHES; i++)
		close_fabric(&k->fn, &k->fabrics[i]);
	free(k);
}
