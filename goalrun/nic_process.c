/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --backend smcq: starts and stops the process that emulates the network interface of this node, for all
 * launches. */
#include "goalrun/run.h"

#include "util/env.h"
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int sys_fault(const char *what)
{
	fprintf(stderr, "goalrun: the network interface: %s: %s\n", what, run_errno_text());
	return EXIT_FAULT;
}

/* Opens a listening socket. The kernel chooses its name, which ranks find in the environment. */
static int listen_for_ranks(int *sock)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof a;
	char name[sizeof a.sun_path] = "";

	*sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*sock < 0 || bind(*sock, (struct sockaddr *)&a, sizeof(sa_family_t)) || listen(*sock, 4096) ||
	    getsockname(*sock, (struct sockaddr *)&a, &len))
		return sys_fault("socket");
	memcpy(name, a.sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
	return setenv(env_table[ENV_GOAL_NIC].name, name, 1) ? sys_fault("setenv") : EXIT_OK;
}

/* Runs the emulator until goalrun ends. */
static int nic_main(const struct nic_options *o)
{
	sigset_t all;

	prctl(PR_SET_NAME, "goalnic");
	sigfillset(&all); /* signals sent to goalrun are not for the emulator */
	sigprocmask(SIG_BLOCK, &all, NULL);
	return nic_serve(o);
}

static int open_trace(const char *path, struct nic_options *o)
{
	long most;

	if (!path)
		return EXIT_OK;
	if (env_number(ENV_GOAL_TRACE_EVENTS, &most)) {
		fprintf(stderr, "goalrun: the environment variable GOAL_TRACE_EVENTS cannot be \"%s\"\n",
			env_get(ENV_GOAL_TRACE_EVENTS));
		return EXIT_FAULT;
	}
	o->most = (uint64_t)most;
	o->trace = memfd_create("goal-trace", MFD_CLOEXEC);
	return o->trace < 0 ? sys_fault(path) : EXIT_OK;
}

int run_nic_start(struct run_nic *n, uint64_t seed, const char *trace)
{
	struct nic_options o = { .listener = -1, .trace = -1, .seed = seed };
	int ends[2] = { -1, -1 }, rc = open_trace(trace, &o);

	n->stats = o.stats = run_shared_memory(sizeof *o.stats);
	if (!rc && !o.stats)
		rc = sys_fault("mmap");
	rc = rc ? rc : listen_for_ranks(&o.listener);
	if (!rc && pipe2(ends, O_CLOEXEC))
		rc = sys_fault("pipe");
	if (!rc) {
		fflush(NULL);
		n->pid = run_fork();
		if (n->pid == 0) {
			signal(SIGINT, SIG_IGN); /* a terminal sends it to all processes, but the emulator ends with goalrun */
			close(ends[1]);
			o.life = ends[0];
			_exit(nic_main(&o));
		}
		rc = n->pid < 0 ? sys_fault("fork") : EXIT_OK;
		n->life = ends[1];
	}
	if (ends[0] >= 0)
		close(ends[0]);
	n->trace = o.trace;
	if (o.listener >= 0)
		close(o.listener);
	return rc;
}

int run_nic_stop(struct run_nic *n)
{
	int status;

	if (n->pid <= 0)
		return EXIT_OK;
	close(n->life);
	/* waitpid fails if the emulator died earlier, because the wait for ranks has then collected its status. */
	if (waitpid(n->pid, &status, 0) == n->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return EXIT_OK;
	fprintf(stderr, "goalrun: the network interface has died\n");
	return EXIT_FAULT;
}

int run_nic_trace(const struct run_nic *n, const char *path)
{
	struct stat st;
	void *data = MAP_FAILED;
	int err = fstat(n->trace, &st) ? -ERR_SYS : 0;

	if (!err && st.st_size)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, n->trace, 0);
	if (!err && st.st_size && data == MAP_FAILED)
		err = -ERR_SYS;
	err = err ? err : file_write(path, data, (size_t)st.st_size);
	if (err)
		fprintf(stderr, "goalrun: %s: %s\n", path, strerror(errno));
	if (data != MAP_FAILED)
		munmap(data, (size_t)st.st_size);
	return err ? EXIT_FAULT : EXIT_OK;
}
