/* SPDX-License-Identifier: BSD-3-Clause
 * Looks for what backends need: RDMA devices, and libfabric with its provider. Nothing stays open. */
#include "goalinfo/goalinfo.h"
#include "util/err.h"
#include "util/library.h"
#include "util/mem.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FABRIC_LIBRARY "libfabric.so.1"

#define VERBS_FUNCTIONS \
	FN(get_device_list) FN(free_device_list) FN(get_device_name) FN(open_device) FN(close_device) FN(query_device)

struct verbs {
#define FN(name) __typeof__(&ibv_##name) name;
	VERBS_FUNCTIONS
#undef FN
	/* ibv_query_port is a macro of the header, for ABIs that differ in the length of the result. */
	int (*query_port)(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *out);
};

static const char *link_name(uint8_t layer)
{
	return layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand" : layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "unknown";
}

static int add_ports(const struct verbs *v, struct ibv_device *device, struct info_port **ports, size_t *n, size_t *cap)
{
	struct ibv_context *ctx = v->open_device(device);
	struct ibv_device_attr attr = { 0 };
	int err = 0;

	if (ctx && v->query_device(ctx, &attr))
		attr.phys_port_cnt = 0;
	for (unsigned p = 1; p <= attr.phys_port_cnt && !err; p++) {
		struct ibv_port_attr port = { 0 };
		struct info_port *out;

		err = vec_grow((void **)ports, cap, *n + 1, sizeof **ports);
		if (err || v->query_port(ctx, (uint8_t)p, (struct _compat_ibv_port_attr *)&port))
			continue;
		out = &(*ports)[(*n)++];
		*out = (struct info_port){ .port = p, .active = port.state == IBV_PORT_ACTIVE, .link = link_name(port.link_layer) };
		snprintf(out->device, sizeof out->device, "%s", v->get_device_name(device));
	}
	if (ctx)
		v->close_device(ctx);
	return err;
}

int info_ports(struct info_port **ports, size_t *n, struct text *why)
{
	static const struct library_fn fns[] = {
#define FN(name) { "ibv_" #name, offsetof(struct verbs, name) },
		VERBS_FUNCTIONS
#undef FN
		{ "ibv_query_port", offsetof(struct verbs, query_port) },
	};
	struct verbs v;
	const char *missing = library_load("libibverbs.so.1", fns, sizeof fns / sizeof *fns, &v);
	struct ibv_device **list;
	size_t cap = 0;
	int found = 0, err = 0;

	*ports = NULL;
	*n = 0;
	if (missing) {
		text_add(why, "%s cannot be loaded: %s", missing, dlerror());
		return why->err;
	}
	list = v.get_device_list(&found);
	for (int i = 0; i < found && !err; i++)
		err = add_ports(&v, list[i], ports, n, &cap);
	if (list)
		v.free_device_list(list);
	if (!*n)
		text_add(why, found ? "no RDMA device can be opened" : "there is no RDMA device on this node");
	return err ? err : why->err;
}

#define FABRIC_FUNCTIONS FN(getinfo) FN(freeinfo) FN(dupinfo) FN(strerror)

void info_fabric(struct text *why)
{
	struct fabric {
#define FN(name) __typeof__(&fi_##name) name;
		FABRIC_FUNCTIONS
#undef FN
	} f;
	static const struct library_fn fns[] = {
#define FN(name) { "fi_" #name, offsetof(struct fabric, name) },
		FABRIC_FUNCTIONS
#undef FN
	};
	const char *missing = library_load(FABRIC_LIBRARY, fns, sizeof fns / sizeof *fns, &f);
	struct fi_info *hints = missing ? NULL : f.dupinfo(NULL), *found = NULL;
	int rc;

	if (missing) {
		text_add(why, "%s cannot be loaded: %s", missing, dlerror());
		return;
	}
	if (!hints || !(hints->fabric_attr->prov_name = strdup("sockets"))) {
		why->err = -ERR_NOMEM;
		return;
	}
	rc = f.getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &found);
	if (rc)
		text_add(why, "the provider sockets of libfabric: %s", f.strerror(-rc));
	else
		f.freeinfo(found);
	f.freeinfo(hints);
}
