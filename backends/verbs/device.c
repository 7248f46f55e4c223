/* SPDX-License-Identifier: BSD-3-Clause
 * The devices of a context: finds and opens them, and makes the queues that all requests share. */
#include "backends/services.h"
#include "backends/verbs/vb.h"
#include "util/env.h"
#include "util/err.h"
#include "util/library.h"
#include "util/mem.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIBRARY "libibverbs.so.1"
#define FIRST_DEPTH 256u /* length of the queues at first */

/* ---- the library ---- */

static int load_verbs(struct be_group *g, struct vb_lib *lib)
{
	static const struct library_fn fns[] = {
#define FN(name) { "ibv_" #name, offsetof(struct vb_lib, name) },
		VB_FUNCTIONS
#undef FN
		{ "_ibv_query_gid_table", offsetof(struct vb_lib, query_gid_table) },
	};
	const char *missing = library_load(LIBRARY, fns, sizeof fns / sizeof *fns, lib);

	return missing ? group_error(g, -ERR_SYS, "RDMA devices need libibverbs: %s cannot be loaded: %s", missing, dlerror()) : 0;
}

/* ---- choice of devices ---- */

static int query_port(const struct vb_dev *d, uint8_t port, struct ibv_port_attr *out)
{
	memset(out, 0, sizeof *out);
	return d->lib->query_port(d->ctx, port, (struct _compat_ibv_port_attr *)out);
}

bool vb_dev_works(struct vb_dev *d)
{
	struct ibv_port_attr port;

	return !query_port(d, d->port_num, &port) && port.state == IBV_PORT_ACTIVE;
}

static void close_dev(struct vb_dev *d)
{
	if (d->srq)
		d->lib->destroy_srq(d->srq);
	if (d->cq)
		d->lib->destroy_cq(d->cq);
	if (d->channel)
		d->lib->destroy_comp_channel(d->channel);
	if (d->pd)
		d->lib->dealloc_pd(d->pd);
	if (d->ctx)
		d->lib->close_device(d->ctx);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* Returns the errno of a device that could not be opened. That of libibverbs is the one of another way that it has tried since. */
static int why_refused(const struct ibv_device *device, int err)
{
	char path[sizeof "/dev/infiniband/" + sizeof device->dev_name];

	snprintf(path, sizeof path, "/dev/infiniband/%s", device->dev_name);
	return access(path, R_OK | W_OK) ? errno : err;
}

/* Opens a device with one of its ports, which may be inactive. Returns NULL if it cannot be opened. */
static struct vb_dev *open_dev(struct vb_nics *nics, struct ibv_device *device, unsigned port)
{
	struct vb_dev *d = mem_calloc(1, sizeof *d);

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	d->lib = &nics->lib;
	d->port_num = (uint8_t)port;
	d->ctx = nics->lib.open_device(device);
	if (!d->ctx)
		nics->refused = why_refused(device, errno);
	if (d->ctx && !nics->lib.query_device(d->ctx, &d->attr) && !query_port(d, d->port_num, &d->port))
		return d;
	close_dev(d);
	return NULL;
}

/* True if two ports may belong to the same network. */
static bool are_alike(const struct ibv_port_attr *a, const struct ibv_port_attr *b)
{
	return a->link_layer == b->link_layer && a->active_speed == b->active_speed && a->active_width == b->active_width;
}

/* Adds the active ports of a device that are like the first port added. If `port` is not 0, only the port with this number
 * is considered. */
static void take_ports(struct vb_nics *nics, struct ibv_device *device, unsigned port)
{
	for (unsigned p = port ? port : 1, last = p; p <= last && nics->n < VB_NICS; p++) {
		struct vb_dev *d = open_dev(nics, device, p);

		if (d && !port)
			last = d->attr.phys_port_cnt;
		if (d && d->port.state == IBV_PORT_ACTIVE && (!nics->n || are_alike(&d->port, &nics->dev[0]->port)))
			nics->dev[nics->n++] = d;
		else if (d)
			close_dev(d);
	}
}

/* Adds the ports of the device whose name is the `len` bytes at `name`. Returns false if there is no such device. */
static bool take_device(struct vb_nics *nics, struct ibv_device **list, const char *name, size_t len, unsigned port)
{
	for (; list && *list; list++) {
		const char *has = nics->lib.get_device_name(*list);

		if (strlen(has) == len && !memcmp(has, name, len)) {
			take_ports(nics, *list, port);
			return true;
		}
	}
	return false;
}

/* True if this process is out of file descriptors, so that libibverbs does not see the devices. */
static bool lacks_files(void)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return errno == EMFILE || errno == ENFILE;
	close(fd[0]);
	close(fd[1]);
	return false;
}

/* Reports why there is no device, or, with `listed`, why none of them can be used. */
static int report_none(struct be_group *g, const struct vb_nics *nics, bool listed, bool port)
{
	if (!listed && lacks_files())
		return group_error(g, -ERR_FILES, "%s", err_text(ERR_FILES));
	if (!listed)
		return group_error(g, -ERR_SYS, "there is no RDMA device on this node: the backend verbs needs one");
	if (nics->refused)
		return group_error(g, -ERR_SYS, "no RDMA device can be opened: %s", strerror(nics->refused));
	return group_error(g, -ERR_SYS, "no RDMA device has %s that is active", port ? "the port of GOAL_VERBS_PORT" : "a port");
}

static int find_devices(struct be_group *g, struct vb_nics *nics)
{
	const char *wanted = env_get(ENV_GOAL_VERBS_DEVICE);
	int n = 0, err = 0;
	struct ibv_device **list;
	long port;

	if (env_number(ENV_GOAL_VERBS_PORT, &port) || !port)
		return group_error(g, -ERR_ARG, "the environment variable GOAL_VERBS_PORT cannot be \"%s\"",
				   env_get(ENV_GOAL_VERBS_PORT));
	port = port > 0 ? port : 0;
	list = nics->lib.get_device_list(&n);
	for (int i = 0; i < n && !*wanted; i++)
		take_ports(nics, list[i], (unsigned)port);
	for (size_t len; *wanted && !err; wanted += len + (wanted[len] == ',')) {
		const uint32_t had = nics->n;

		len = strcspn(wanted, ",");
		nics->refused = 0;
		if (!take_device(nics, list, wanted, len, (unsigned)port))
			err = group_error(g, -ERR_SYS, "there is no RDMA device %.*s (GOAL_VERBS_DEVICE)", (int)len, wanted);
		else if (had == VB_NICS)
			err = group_error(g, -ERR_ARG, "GOAL_VERBS_DEVICE names more than %u RDMA devices", VB_NICS);
		else if (nics->n == had && nics->refused)
			err = group_error(g, -ERR_SYS, "the RDMA device %.*s cannot be opened: %s", (int)len, wanted,
					  strerror(nics->refused));
		else if (nics->n == had)
			err = group_error(g, -ERR_SYS, "the RDMA device %.*s has no active port%s%s", (int)len, wanted,
					  port ? " of the number in GOAL_VERBS_PORT" : "",
					  had ? " that is like the first device's" : "");
	}
	if (list)
		nics->lib.free_device_list(list);
	return err || nics->n ? err : report_none(g, nics, n > 0, port > 0);
}

/* Rates a GID for RoCE: routed packets are better than unrouted ones, and any other address is better than a link-local
 * one. */
static int rate_gid(const struct ibv_gid_entry *e)
{
	const uint8_t *raw = e->gid.raw;
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	int rate = e->gid_type == IBV_GID_TYPE_ROCE_V2 ? 8 : 0;

	if (!memcmp(raw, mapped, sizeof mapped)) /* an IPv4 address */
		return rate + 4;
	return rate + (raw[0] == 0xfe ? 1 : 2);
}

static int find_gid(struct be_group *g, struct vb_dev *d)
{
	const size_t most = (size_t)d->port.gid_tbl_len * d->attr.phys_port_cnt;
	struct ibv_gid_entry *all;
	int best = 0;
	ssize_t n;
	long wanted;

	if (env_number(ENV_GOAL_VERBS_GID, &wanted))
		return group_error(g, -ERR_ARG, "the environment variable GOAL_VERBS_GID cannot be \"%s\"",
				   env_get(ENV_GOAL_VERBS_GID));
	d->gid_index = -1;
	if (d->port.link_layer != IBV_LINK_LAYER_ETHERNET && d->port.lid && wanted < 0)
		return 0;
	all = mem_alloc(most * sizeof *all);
	if (!all)
		return group_error(g, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	/* one call for all: a call for each takes seconds */
	n = d->lib->query_gid_table(d->ctx, all, most, 0, sizeof *all);
	for (ssize_t i = 0; i < n; i++) {
		if (all[i].port_num != d->port_num || (wanted >= 0 && all[i].gid_index != wanted) || rate_gid(&all[i]) <= best)
			continue;
		best = rate_gid(&all[i]);
		d->gid = all[i].gid;
		d->gid_index = (int)all[i].gid_index;
		d->gid_rate = best;
	}
	free(all);
	return d->gid_index >= 0 ? 0 :
				   group_error(g, -ERR_SYS,
					       "port %u of the RDMA device %s has no GID%s: has its interface an address?",
					       d->port_num, d->lib->get_device_name(d->ctx->device),
					       wanted >= 0 ? " of the number in GOAL_VERBS_GID" : "");
}

/* ---- shared by all requests ---- */

static uint32_t min_u32(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

static int make_queues(struct be_group *g, struct vb_dev *d)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_sge = 1 } };

	d->cqes = (struct vb_depth){ .most = (uint32_t)d->attr.max_cqe };
	d->recvs = (struct vb_depth){ .most = (uint32_t)d->attr.max_srq_wr };
	d->cqes.have = min_u32(d->cqes.most, FIRST_DEPTH);
	d->recvs.have = srq.attr.max_wr = min_u32(d->recvs.most, FIRST_DEPTH);
	d->pd = d->lib->alloc_pd(d->ctx);
	d->channel = d->pd ? d->lib->create_comp_channel(d->ctx) : NULL;
	d->cq = d->channel ? d->lib->create_cq(d->ctx, (int)d->cqes.have, NULL, d->channel, 0) : NULL;
	d->srq = d->cq ? d->lib->create_srq(d->pd, &srq) : NULL;
	if (!d->srq)
		return group_error(g, -ERR_SYS, "the RDMA device %s gives no %s: %s", d->lib->get_device_name(d->ctx->device),
				   !d->pd      ? "protection domain" :
				   !d->channel ? "completion channel" :
				   !d->cq      ? "completion queue" :
						"shared receive queue",
				   strerror(errno));
	if (fcntl(d->channel->fd, F_SETFL, fcntl(d->channel->fd, F_GETFL) | O_NONBLOCK))
		return group_error(g, -ERR_SYS, "fcntl: %s", strerror(errno));
	return 0;
}

void vb_nics_free(struct vb_nics *nics)
{
	for (uint32_t i = 0; i < nics->n; i++)
		close_dev(nics->dev[i]);
	if (nics->watch >= 0)
		close(nics->watch);
	free(nics);
}

/* Makes the descriptor that sleeping ranks wait for: it becomes readable if any channel does. */
static int watch_channels(struct be_group *g, struct vb_nics *nics)
{
	nics->watch = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; i < nics->n && nics->watch >= 0; i++)
		if (epoll_ctl(nics->watch, EPOLL_CTL_ADD, nics->dev[i]->channel->fd, &(struct epoll_event){ .events = EPOLLIN }))
			return group_error(g, -ERR_SYS, "epoll_ctl: %s", strerror(errno));
	if (nics->watch < 0)
		return group_error(g, -ERR_SYS, "epoll_create1: %s", strerror(errno));
	group_watch(g, nics->watch);
	return 0;
}

static int open_nics(struct be_group *g, void **out)
{
	struct vb_nics *nics = mem_calloc(1, sizeof *nics);
	int err;

	if (!nics)
		return group_error(g, -ERR_NOMEM, "%s", err_text(ERR_NOMEM));
	nics->watch = -1;
	err = load_verbs(g, &nics->lib);
	err = err ? err : find_devices(g, nics);
	for (uint32_t i = 0; i < nics->n && !err; i++) {
		err = find_gid(g, nics->dev[i]);
		err = err ? err : make_queues(g, nics->dev[i]);
	}
	err = err ? err : watch_channels(g, nics);
	if (err)
		vb_nics_free(nics);
	else
		*out = nics;
	return err;
}

int vb_nics_get(struct be_group *g, struct vb_nics **out)
{
	void **state = group_state(g);
	int err = *state ? 0 : open_nics(g, state);

	*out = *state;
	group_state_done(g);
	return err;
}

/* ---- the network that they are on ---- */

bool vb_present(void)
{
	DIR *devices = opendir("/sys/class/infiniband");
	const struct dirent *e = NULL;

	while (devices && (e = readdir(devices)) && *e->d_name == '.')
		;
	if (devices)
		closedir(devices);
	return e;
}

/* Buffers of any size can be registered only if any number of bytes may be locked. */
static bool may_lock_all(void)
{
	struct rlimit lock;

	return !getrlimit(RLIMIT_MEMLOCK, &lock) && lock.rlim_cur == RLIM_INFINITY;
}

/* InfiniBand: the prefix of the subnet. Ethernet: the kind of the GID. The numbers of the latter are small, and prefixes are not. */
uint64_t vb_network(struct be_group *g)
{
	struct vb_nics *nics;
	const struct vb_dev *d;
	union ibv_gid gid;

	if (!may_lock_all() || vb_nics_get(g, &nics))
		return 0;
	d = nics->dev[0];
	if (d->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		return (uint64_t)d->gid_rate;
	return d->lib->query_gid(d->ctx, d->port_num, 0, &gid) ? 0 : gid.global.subnet_prefix;
}

/* ---- the queues of a device ---- */

int vb_dev_post_recvs(struct vb_dev *d)
{
	struct ibv_recv_wr wr = { 0 }, *bad;
	int rc = 0;

	for (; d->posted < d->recvs.need && !rc; d->posted += !rc)
		rc = ibv_post_srq_recv(d->srq, &wr, &bad);
	return rc;
}

/* Grows a queue to the length needed, if the device allows it. */
static int grow_queue(struct be_group *g, struct vb_dev *d, struct vb_depth *q, const char *what, const char *limit,
		      int (*resize)(struct vb_dev *d, uint32_t depth))
{
	uint32_t want = q->have;

	while (want < q->need && want < q->most)
		want = min_u32((uint64_t)want * 2, q->most);
	if (q->need <= q->have)
		return 0;
	if (want < q->need)
		return group_error(g, -ERR_UNSUPPORTED,
				   "%s needs %llu entries, and the RDMA device has at most %u (%s): bind fewer schedules at a time",
				   what, (unsigned long long)q->need, q->most, limit);
	if (resize(d, want))
		return group_error(g, -ERR_UNSUPPORTED, "%s cannot grow to %u entries: %s", what, want, strerror(errno));
	q->have = want;
	return 0;
}

static int resize_cq(struct vb_dev *d, uint32_t depth)
{
	int rc = d->lib->resize_cq(d->cq, (int)depth);

	errno = rc ? rc : errno;
	return rc;
}

static int resize_srq(struct vb_dev *d, uint32_t depth)
{
	int rc = d->lib->modify_srq(d->srq, &(struct ibv_srq_attr){ .max_wr = depth }, IBV_SRQ_MAX_WR);

	errno = rc ? rc : errno;
	return rc;
}

int vb_dev_reserve(struct be_group *g, struct vb_dev *d, uint32_t cqes, uint32_t recvs)
{
	int err;

	d->cqes.need += cqes;
	d->recvs.need += recvs;
	err = grow_queue(g, d, &d->cqes, "the completion queue", "max_cqe", resize_cq);
	err = err ? err : grow_queue(g, d, &d->recvs, "the shared receive queue", "max_srq_wr", resize_srq);
	if (!err && vb_dev_post_recvs(d))
		err = group_error(g, -ERR_SYS, "the shared receive queue takes no more receives");
	if (err) {
		d->cqes.need -= cqes;
		d->recvs.need -= recvs;
	}
	return err;
}

struct ibv_mr *vb_dev_register(struct be_group *g, struct vb_dev *d, void *at, size_t n, int access, const char *what)
{
	struct ibv_mr *mr = (d->lib->reg_mr)(d->pd, at, n, access);
	struct rlimit lock = { 0 };
	int err = errno;

	if (mr)
		return mr;
	getrlimit(RLIMIT_MEMLOCK, &lock);
	if ((err == ENOMEM || err == EPERM || err == EAGAIN) && lock.rlim_cur != RLIM_INFINITY)
		group_error(g, -ERR_NOMEM,
			    "%zu bytes of %s cannot be registered: %s; at most %llu KiB may be locked: raise that (ulimit -l)", n,
			    what, strerror(err), (unsigned long long)lock.rlim_cur / 1024);
	else
		group_error(g, err == ENOMEM ? -ERR_NOMEM : -ERR_SYS,
			    "%zu bytes of %s cannot be registered: %s (the device has max_mr %d, max_mr_size %llu)", n, what,
			    strerror(err), d->attr.max_mr, (unsigned long long)d->attr.max_mr_size);
	return NULL;
}
