/* SPDX-License-Identifier: BSD-3-Clause
 * Processes of goalrun: forks, signals and shared memory; also the texts for errno. */
#include "goalrun/run.h"
#include "runtime/context.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

pid_t run_fork(void)
{
	pid_t parent = getpid(), pid = fork();
	struct sigaction now;

	if (pid == 0) {
		if (!sigaction(SIGINT, NULL, &now) && now.sa_handler != SIG_IGN)
			signal(SIGINT, SIG_DFL); /* only goalrun itself reports an interrupt */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* the parent has died before prctl */
			_exit(EXIT_FAULT);
	}
	return pid;
}

void run_block_signals(sigset_t *set, sigset_t *old)
{
	struct sigaction hup;

	sigemptyset(set);
	sigaddset(set, SIGINT); /* also if it is ignored, as in a script's background: who sends it then means this process */
	sigaddset(set, SIGTERM);
	if (!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler != SIG_IGN) /* else nohup(1) has started this process */
		sigaddset(set, SIGHUP);
	sigaddset(set, SIGUSR1); /* forwarded to the ranks */
	sigaddset(set, SIGCHLD); /* ends sigtimedwait */
	sigprocmask(SIG_BLOCK, set, old);
}

const char *run_errno_text(void)
{
	const int err = rt_errno();

	return err == -ERR_SYS ? strerror(errno) : err_text(err);
}

void *run_shared_memory(size_t size)
{
	void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}
