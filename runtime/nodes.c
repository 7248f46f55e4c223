/* SPDX-License-Identifier: BSD-3-Clause
 * Identity of this node, and the addresses at which other nodes reach it. */
#include "runtime/nodes.h"

#include "util/env.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- identity of this node ---- */

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* A node is a booted kernel, with the namespaces in which its processes find each other's sockets (net) and in which
 * process numbers mean the same (pid). GOAL_NODE can divide it further. */
uint64_t rt_node_id(void)
{
	const char *name = env_get(ENV_GOAL_NODE);
	const char key[MAC_KEY] = { 0 };
	struct {
		char boot[40];
		uint64_t net, pid, name;
	} is = { .net = inode_of("/proc/self/ns/net"), .pid = inode_of("/proc/self/ns/pid") };
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, is.boot, sizeof is.boot) < 0)
		is.boot[0] = 0;
	if (fd >= 0)
		close(fd);
	is.name = mac(key, name, strlen(name));
	return mac(key, &is, sizeof is);
}

int64_t rt_autogroup(void)
{
	FILE *f = fopen("/proc/self/autogroup", "re");
	int64_t id;

	if (!f || fscanf(f, "/autogroup-%" SCNd64, &id) != 1)
		id = -1;
	if (f)
		fclose(f);
	return id;
}

/* ---- addresses of this node ---- */

/* Converts an address to IPv6. Returns false if the address is of no use beyond its network link. */
static bool as_in6(int family, const void *address, struct in6_addr *out)
{
	if (family == AF_INET6) {
		memcpy(out, address, sizeof *out);
		return !IN6_IS_ADDR_LINKLOCAL(out);
	}
	*out = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(out->s6_addr + 12, address, 4);
	return true;
}

bool rt_node_in6(const struct sockaddr *a, struct in6_addr *out)
{
	if (a && a->sa_family == AF_INET)
		return as_in6(AF_INET, (const char *)a + offsetof(struct sockaddr_in, sin_addr), out);
	return a && a->sa_family == AF_INET6 &&
	       as_in6(AF_INET6, (const char *)a + offsetof(struct sockaddr_in6, sin6_addr), out);
}

/* The value of GOAL_ADDRESS: an interface, or a network, which is the first bits of an address. */
struct wanted {
	const char *interface;
	struct in6_addr address;
	int bits; /* number of bits of the network; -1 if an interface is given */
};

static int parse_wanted(const char *s, struct wanted *w)
{
	char text[INET6_ADDRSTRLEN];
	const char *slash = strchr(s, '/');
	size_t len = slash ? (size_t)(slash - s) : strlen(s);
	struct in6_addr a;
	char *end = NULL;
	long bits;

	*w = (struct wanted){ .interface = s, .bits = -1 };
	if (len >= sizeof text)
		return slash ? -ERR_ARG : 0;
	memcpy(text, s, len);
	text[len] = '\0';
	if (inet_pton(AF_INET, text, &a) == 1 && as_in6(AF_INET, &a, &w->address))
		w->bits = 96;
	else if (inet_pton(AF_INET6, text, &a) == 1 && as_in6(AF_INET6, &a, &w->address))
		w->bits = 0;
	else
		return slash ? -ERR_ARG : 0;
	bits = slash ? strtol(slash + 1, &end, 10) : 128 - w->bits;
	if (slash && (end == slash + 1 || *end || bits < 0 || bits > 128 - w->bits))
		return -ERR_ARG;
	w->bits += (int)bits;
	return 0;
}

static bool matches_wanted(const struct wanted *w, const char *interface, const struct in6_addr *a)
{
	if (w->bits < 0)
		return !strcmp(w->interface, interface);
	for (int i = 0; i < w->bits; i++)
		if ((a->s6_addr[i / 8] ^ w->address.s6_addr[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

int rt_node_addresses(struct mpix_sched_ctx *ctx, struct rt_card *card)
{
	const char *asked = env_get(ENV_GOAL_ADDRESS);
	struct ifaddrs *all;
	struct wanted want;
	struct in6_addr a;

	if (parse_wanted(asked, &want))
		return rt_bad_env(ctx, ENV_GOAL_ADDRESS);
	if (getifaddrs(&all))
		return rt_sys_error(ctx, "getifaddrs");
	/* The loopback comes last: nodes that are namespaces of one system may reach each other there. */
	for (int loop = 0; loop < 2; loop++)
		for (const struct ifaddrs *i = all; i; i = i->ifa_next)
			if (card->naddresses < RT_ADDRESSES && i->ifa_flags & IFF_UP && !(i->ifa_flags & IFF_LOOPBACK) == !loop && rt_node_in6(i->ifa_addr, &a) &&
			    (!*asked || matches_wanted(&want, i->ifa_name, &a)))
				card->address[card->naddresses++] = a;
	freeifaddrs(all);
	if (card->naddresses)
		return 0;
	return *asked ? rt_error(ctx, -ERR_SYS, "this node has no interface or address %s, which GOAL_ADDRESS asks for", asked) :
			rt_error(ctx, -ERR_SYS, "this node has no network to reach the others by");
}
