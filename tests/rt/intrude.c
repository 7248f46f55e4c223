/* SPDX-License-Identifier: BSD-3-Clause
 * intrude RANKS COUNT BINARY: another user connects to ranks of one node on the engine ofi. While they bind that must be an
 * error, as he may say that he is a peer. While they move data he writes where keys that can be guessed would be: all of that
 * must be refused, the data must be right, and only processes of the node may reach the ranks' ports. Prints a line. */
#include "tests/rt/team.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534, KEYS = 16, OFFSETS = 8, PORTS = 64, SECONDS = 20, ROUNDS = 1000 };

static struct shared {
	_Atomic int bound, pids[TEAM_MAX];
	_Atomic bool knocking; /* until a bind has failed for it */
	_Atomic bool away; /* the connections of who knocked are closed */
	_Atomic bool over;
} *shared;

static int ranks, count;
static const char *path;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the ranks ---- */

static int move(struct member *m, MPIX_Sched_request req, int64_t *data, int epoch)
{
	for (int i = 0; i < count; i++)
		data[i] = m->rank ? -1 : (int64_t)epoch * count + i;
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	for (int i = 0; i < count; i++)
		NEED(data[i] == (int64_t)epoch * count + i);
	return 0;
}

/* Binds until it fails because somebody has knocked. */
static int await_knock(struct member *m, MPIX_Sched s, const struct MPIX_Sched_bind *bind)
{
	MPIX_Sched_request req;
	char text[512];
	const double end = now() + SECONDS;
	int rc = 0;

	for (int i = 0; i < ROUNDS && !rc; i++) {
		rc = MPIX_Sched_init(s, m->group, bind, &req);
		if (!rc)
			CALL(MPIX_Sched_free(&req));
	}
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	NEED(rc && strstr(text, "user 65534 has connected to this rank"));
	atomic_store(&shared->knocking, false);
	while (!atomic_load(&shared->away) && now() < end) /* the next bind would fail, too */
		usleep(1000);
	return 0;
}

static int rank(struct member *m)
{
	int64_t *data = calloc((size_t)count, sizeof *data);
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = (void *[]){ data },
					.nbuffers = 1,
					.count = (size_t)count,
					.basic = MPIX_SCHED_INT64 };
	MPIX_Sched_request req;
	MPIX_Sched s;
	int epoch = 0;
	bool over, all[TEAM_MAX] = { false };

	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group));
	CALL(MPIX_Sched_load(m->ctx, path, &s));
	atomic_store(&shared->pids[m->rank], getpid());
	if (getuid() == 0)
		NEED(!await_knock(m, s, &bind));
	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	atomic_fetch_add(&shared->bound, 1);
	do {
		NEED(!move(m, req, data, epoch++));
		over = atomic_load(&shared->over);
		NEED(!team_allgather(&over, all, sizeof over, m));
	} while (!all[0]);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	free(data);
	return 0;
}

/* ---- who intrudes ---- */

/* Whether a process has a socket, by its inode. */
static bool has(int pid, unsigned long inode)
{
	char at[300];
	struct dirent *e;
	struct stat st;
	bool found = false;
	DIR *d;

	snprintf(at, sizeof at, "/proc/%d/fd", pid);
	d = opendir(at);
	while (d && !found && (e = readdir(d))) {
		snprintf(at, sizeof at, "/proc/%d/fd/%s", pid, e->d_name);
		found = !stat(at, &st) && S_ISSOCK(st.st_mode) && st.st_ino == inode;
	}
	if (d)
		closedir(d);
	return found;
}

/* Where the ranks listen: how many ports, or -1 if one can be reached from elsewhere. */
static int find_ports(struct sockaddr_in *at)
{
	char line[300];
	unsigned addr, port, state;
	unsigned long inode;
	int n = 0;
	FILE *f = fopen("/proc/net/tcp6", "r");

	for (int v6 = 1; v6 >= 0 && f; v6--) {
		while (n >= 0 && n < PORTS && fgets(line, sizeof line, f)) {
			if (sscanf(line, v6 ? "%*d: %*24[0-9A-F]%x:%x %*s %x %*s %*s %*s %*d %*d %lu" :
					      "%*d: %x:%x %*s %x %*s %*s %*s %*d %*d %lu",
				   &addr, &port, &state, &inode) != 4 ||
			    state != 10)
				continue;
			for (int r = 0; r < ranks; r++)
				if (has(atomic_load(&shared->pids[r]), inode)) {
					at[n] = (struct sockaddr_in){ .sin_family = AF_INET,
								      .sin_port = htons((uint16_t)port),
								      .sin_addr.s_addr = addr };
					n = v6 || addr != htonl(INADDR_LOOPBACK) ? -1 : n + 1;
					break;
				}
		}
		fclose(f);
		f = v6 ? fopen("/proc/net/tcp", "r") : NULL;
	}
	return n;
}

/* Connects to whatever listens, and stays for a while. */
static int knock(struct member *m)
{
	enum { OPEN = 32 };
	const double end = now() + SECONDS;
	struct sockaddr_in at[PORTS];
	int fds[OPEN], k = 0;

	memset(fds, -1, sizeof fds);
	while (atomic_load(&shared->knocking) && now() < end) {
		const int n = find_ports(at);

		NEED(n >= 0 && !seteuid(NOBODY));
		for (int i = 0; i < n; i++, k++) {
			close(fds[k % OPEN]);
			fds[k % OPEN] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			connect(fds[k % OPEN], (struct sockaddr *)&at[i], sizeof at[i]);
		}
		NEED(!seteuid(0));
	}
	for (k = 0; k < OPEN; k++)
		close(fds[k]);
	atomic_store(&shared->away, true);
	return 0;
}

struct fabric {
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cntr *done;
};

static int open_fabric(struct member *m, struct fabric *f)
{
	void *lib = dlopen("libfabric.so.1", RTLD_NOW);
	__typeof__(&fi_getinfo) getinfo = lib ? (__typeof__(&fi_getinfo))(uintptr_t)dlsym(lib, "fi_getinfo") : NULL;
	__typeof__(&fi_dupinfo) dupinfo = lib ? (__typeof__(&fi_dupinfo))(uintptr_t)dlsym(lib, "fi_dupinfo") : NULL;
	__typeof__(&fi_fabric) fabric = lib ? (__typeof__(&fi_fabric))(uintptr_t)dlsym(lib, "fi_fabric") : NULL;
	struct fi_cntr_attr counts = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_av_attr table = { .type = FI_AV_TABLE };
	struct fi_info *hints = dupinfo ? dupinfo(NULL) : NULL, *info;
	struct fid_fabric *fid;

	NEED(hints && getinfo && fabric);
	hints->caps = FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("sockets");
	NEED(!getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info));
	NEED(!fabric(info->fabric_attr, &fid, NULL));
	NEED(!fi_domain(fid, info, &f->domain, NULL));
	NEED(!fi_cntr_open(f->domain, &counts, &f->done, NULL));
	NEED(!fi_av_open(f->domain, &table, &f->av, NULL));
	NEED(!fi_endpoint(f->domain, info, &f->ep, NULL));
	NEED(!fi_ep_bind(f->ep, &f->av->fid, 0));
	NEED(!fi_ep_bind(f->ep, &f->done->fid, FI_WRITE));
	NEED(!fi_enable(f->ep));
	return 0;
}

/* Each put in its turn: what is refused would end others on their way, too. */
static int put(struct member *m, const struct fabric *f, fi_addr_t to, uint64_t key, uint64_t off, uint64_t *refused)
{
	static uint64_t bad = 0x0bad0bad0bad0bad;
	const double end = now() + SECONDS;
	ssize_t rc;

	do
		rc = fi_write(f->ep, &bad, sizeof bad, NULL, to, off, key, NULL);
	while (rc == -FI_EAGAIN && now() < end);
	NEED(!rc);
	while (fi_cntr_readerr(f->done) == *refused && now() < end)
		NEED(!fi_cntr_read(f->done)); /* it was let in */
	NEED(fi_cntr_readerr(f->done) == *refused + 1);
	++*refused;
	return 0;
}

static int attack(struct member *m)
{
	struct sockaddr_in at[PORTS];
	struct fabric f;
	uint64_t refused = 0;
	const int n = find_ports(at);
	fi_addr_t to;

	NEED(n != -1); /* a port is that of another interface */
	NEED(n >= ranks);
	NEED(getuid() || (!setgid(NOBODY) && !setuid(NOBODY)));
	NEED(!open_fabric(m, &f));
	for (int i = 0; i < n; i++) {
		NEED(fi_av_insert(f.av, &at[i], 1, &to, 0, NULL) == 1);
		for (uint64_t key = 0; key < KEYS; key++)
			for (uint64_t k = 0; k < OFFSETS; k++)
				NEED(!put(m, &f, to, key, k * sizeof(uint64_t), &refused));
	}
	return 0;
}

static int member(struct member *m)
{
	const double end = now() + SECONDS;
	int rc;

	if (m->rank < ranks) {
		m->size = ranks;
		return rank(m);
	}
	rc = getuid() ? 0 : knock(m);
	while (atomic_load(&shared->bound) < ranks && now() < end)
		usleep(1000);
	rc = rc || atomic_load(&shared->bound) < ranks ? 1 : attack(m);
	atomic_store(&shared->over, true);
	return rc;
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 4 || shared == MAP_FAILED)
		return 2;
	atomic_store(&shared->knocking, true);
	ranks = atoi(argv[1]);
	count = atoi(argv[2]);
	path = argv[3];
	if (team_run_bare(ranks + 1, false, member, NULL)) {
		printf("FAIL intrude %d ranks\n", ranks);
		return 1;
	}
	printf("ok intrude %d ranks on the loopback interface, which refuse %d keys at %d offsets\n", ranks, KEYS, OFFSETS);
	return 0;
}
