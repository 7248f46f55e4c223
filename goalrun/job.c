/* SPDX-License-Identifier: BSD-3-Clause
 * Finds and ends the processes that the ranks of a program have started, and their descendants. When a shell between
 * goalrun and a rank dies, its children are no longer goalrun's, and they may have any parent and process group. They
 * are therefore found by the variable GOAL_JOB in their environment, which names the job and the rank. A process that
 * clears its environment is found by the file of the job's board, which it has inherited as an open descriptor. */
#include "goalrun/run.h"
#include "util/clock.h"
#include "util/env.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_NS 2000000000u /* ns for killed processes to be gone */
#define ALL UINT32_MAX

/* The format is /PID-TIME:RANK, appended to the name of the job that this job is part of. `fd` is the file of the board. */
void run_job_name(struct run_job *job, int fd)
{
	struct stat st = { 0 };

	job->fd = fstat(fd, &st) ? -1 : fd;
	job->dev = st.st_dev;
	job->ino = st.st_ino;
	snprintf(job->name, sizeof job->name, "/%d-%llx:", (int)getpid(), (unsigned long long)clock_now_ns());
}

bool run_job_mark(const struct run_job *job, uint32_t rank)
{
	const char *outer = env_get(ENV_GOAL_JOB);
	const size_t size = strlen(outer) + sizeof job->name + 12;
	char *value = mem_alloc(size);
	bool ok = value;

	if (ok) {
		snprintf(value, size, "%s%s%u", outer, job->name, rank);
		ok = !setenv(env_table[ENV_GOAL_JOB].name, value, 1);
	}
	free(value);
	return ok;
}

/* True if a value of GOAL_JOB names the job and the rank. ALL stands for any rank. */
static bool is_of(const char *value, const struct run_job *job, uint32_t rank)
{
	const char *at = strstr(value, job->name);

	return at && (rank == ALL || strtoul(at + strlen(job->name), NULL, 10) == rank);
}

/* True if a process was started with a GOAL_JOB that names the job and the rank. ALL stands for any rank. */
static bool is_marked(const char *pid, const struct run_job *job, uint32_t rank)
{
	const char *name = env_table[ENV_GOAL_JOB].name;
	const size_t len = strlen(name);
	char path[64], *var = NULL;
	size_t size = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&var, &size, '\0', f) > 0)
		found = !strncmp(var, name, len) && var[len] == '=' && is_of(var + len, job, rank);
	free(var);
	if (f)
		fclose(f);
	return found;
}

/* True if a process has inherited the file of the job's board. */
static bool has_file(const char *pid, const struct run_job *job)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%.20s/fd/%d", pid, job->fd);
	return job->fd >= 0 && atoi(pid) != getpid() && !stat(path, &st) && st.st_dev == job->dev && st.st_ino == job->ino;
}

/* True if a process belongs to a rank of the job; with ALL, to any rank. */
static bool belongs_to_rank(const char *pid, const struct run_job *job, uint32_t rank)
{
	return is_marked(pid, job, rank) || (rank == ALL && has_file(pid, job));
}

/* True if a process handles a signal, which would otherwise end it. */
static bool handles(const char *pid, int sig)
{
	char path[64], *line = NULL;
	unsigned long long caught = 0;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%.20s/status", pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0)
		if (!strncmp(line, "SigCgt:", 7))
			caught = strtoull(line + 7, NULL, 16);
	free(line);
	if (f)
		fclose(f);
	return caught >> (sig - 1) & 1;
}

/* Sends a signal to all processes of a rank; with ALL, of all ranks. Returns true if there was such a process. */
static bool signal_marked(const struct run_job *job, uint32_t rank, int sig)
{
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	bool any = false;

	while (proc && (d = readdir(proc)))
		if (isdigit((unsigned char)*d->d_name) && belongs_to_rank(d->d_name, job, rank) &&
		    (sig == SIGKILL || handles(d->d_name, sig)))
			any |= !kill((pid_t)atoi(d->d_name), sig);
	if (proc)
		closedir(proc);
	return any;
}

void run_job_signal(const struct run_job *job, int sig)
{
	signal_marked(job, ALL, sig);
}

void run_job_kill(const struct run_job *job, uint32_t rank)
{
	const struct timespec tick = { 0, 1000000 };
	const uint64_t until = clock_now_ns() + GRACE_NS;

	while (signal_marked(job, rank, SIGKILL) && clock_now_ns() < until)
		nanosleep(&tick, NULL);
}

/* Runs the guard: a process in a session of its own, so that signals meant for goalrun do not reach it. It waits for
 * goalrun's end and then kills the job. */
static void guard(const struct run_job *job, pid_t parent)
{
	sigset_t signals;
	int sig;

	prctl(PR_SET_NAME, "goalrun-guard");
	setsid();
	/* closes all descriptors, so that no reader of a pipe waits for the guard */
	syscall(SYS_close_range, 0u, ~0u, 0u);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while (getppid() == parent)
		sigwait(&signals, &sig);
	run_job_kill(job, ALL);
	_exit(EXIT_OK);
}

void run_job_guard(struct run_job *job)
{
	const pid_t parent = getpid();

	job->guard = fork();
	if (job->guard == 0)
		guard(job, parent);
}

void run_job_finish(struct run_job *job)
{
	run_job_kill(job, ALL);
	if (job->guard > 0) {
		kill(job->guard, SIGKILL);
		while (waitpid(job->guard, NULL, 0) < 0 && errno == EINTR)
			;
	}
}
