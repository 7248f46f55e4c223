/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun with ranks on several hosts: starts an agent on each host by a remote shell, and forwards the messages
 * between agents. */
#include "goalrun/hosts.h"

#include "runtime/board/mirror.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SILENCE_NS 5000000000u /* ns of silence after which an agent that has answered before is given up */
#define ANSWER_NS 60000000000u /* ns to wait for the first answer, since somebody may have to type a password */
/* ns for agents to end once a rank has failed, and after the last launch; agents give their ranks less */
#define GRACE_NS 5000000000u
#define TICK_MS 20
#define TYPED (256u << 10) /* most bytes of input under way to rank 0 */

struct host {
	const char *name;
	uint32_t count; /* number of ranks that --hosts gives for the host; 0 if it gives none */
	uint32_t first, n; /* range of the host's ranks */
	pid_t pid; /* process of the remote shell; 0 if it has ended */
	struct wire wire;
	bool greeted, done;
};

struct run_hosts {
	char *text;
	VEC(struct host) v;
	bool counted;
	uint32_t typed; /* bytes of input under way to rank 0 */
	bool typed_end;
};

/* ---- the list of hosts ---- */

static void free_hosts(struct run_hosts *h)
{
	VEC_FREE(&h->v);
	free(h->text);
	free(h);
}

/* Sets *count to the number of ranks after the last colon, and cuts the number off the name. Sets *count to 0 if there is no
 * colon, or if the colon is part of an address. Returns false if the number is not allowed. */
static bool find_count(char *name, int64_t *count)
{
	char *colon = strrchr(name, ':');

	*count = 0;
	if (!colon || (strchr(name, ':') != colon && (!strchr(name, ']') || colon < strchr(name, ']'))))
		return true;
	*colon = '\0';
	return option_number(colon + 1, 1, 4096, count);
}

struct run_hosts *hosts_parse(const char *list, const char **why)
{
	struct run_hosts *h = mem_calloc(1, sizeof *h);
	size_t len = strlen(list) + 1;
	char *rest, *p;

	*why = NULL;
	if (!h)
		return NULL;
	h->text = mem_alloc(len);
	if (!h->text)
		goto fail;
	memcpy(h->text, list, len);
	for (rest = h->text; (p = strsep(&rest, ",")) != NULL;) {
		struct host one = { .name = p };
		int64_t count;

		if (!find_count(p, &count))
			*why = "a host's number of ranks is from 1 to 4096";
		else if (!*p)
			*why = "a name is missing";
		else if (*p == '-' || strpbrk(p, " \t\n\"'\\$`;&|<>()"))
			/* such names could be options of the remote shell, or commands for it */
			*why = "that is no name of a host";
		else if (h->v.n && h->counted != (count > 0))
			*why = "either all hosts have a number of ranks, or none has";
		if (*why)
			goto fail;
		h->counted = count > 0;
		one.count = (uint32_t)count;
		wire_open(&one.wire, -1, -1);
		if (VEC_PUSH(&h->v, one))
			goto fail;
	}
	return h;
fail:
	free_hosts(h);
	return NULL;
}

uint32_t hosts_room(const struct run_hosts *h)
{
	uint64_t n = 0;

	for (size_t k = 0; k < h->v.n; k++)
		n += h->v.at[k].count;
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Gives each host a block of successive ranks. The blocks have the sizes that --hosts gives or, without them, equal sizes. */
static void divide_ranks(struct run_hosts *h, uint32_t nranks)
{
	uint32_t first = 0;

	for (size_t k = 0; k < h->v.n; k++) {
		struct host *at = &h->v.at[k];
		const uint32_t left = nranks - first, hosts = (uint32_t)(h->v.n - k);

		at->first = first;
		at->n = h->counted ? at->count : (left + hosts - 1) / hosts;
		if (at->n > left)
			at->n = left;
		first += at->n;
	}
}

void hosts_nodes(struct run_hosts *h, uint32_t nranks, uint32_t *node)
{
	divide_ranks(h, nranks);
	for (uint32_t k = 0, r = 0; k < h->v.n; k++)
		for (uint32_t i = 0; i < h->v.at[k].n; i++)
			node[r++] = k;
}

/* ---- starting agents ---- */

struct orders {
	VEC(char) v;
	bool bad;
};

static void append_order(struct orders *o, const void *p, size_t n)
{
	o->bad = o->bad || VEC_APPEND(&o->v, p, n);
}

static void add_number(struct orders *o, uint32_t n)
{
	append_order(o, &n, sizeof n);
}

/* True for variables that are not sent to agents: they belong to a host or a login, or differ for each rank. */
static bool stays_here(const char *var)
{
	static const char *const names[] = { "SSH_", "DISPLAY=", "XAUTHORITY=", "XDG_", "HOSTNAME=", "HOME=", "USER=", "LOGNAME=",
					     "SHELL=", "PWD=", "OLDPWD=", "SHLVL=", "_=", "TMPDIR=", "GOAL_NODE=", "GOAL_RSH=",
					     "GOAL_BOOT_FD=", "GOAL_JOB=", "GOAL_RANK=", "GOAL_SIZE=", "GOAL_TRACE_FD=", "PMIX_", "PMI_" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(var, names[i], strlen(names[i])))
			return true;
	return !strchr(var, '=');
}

static void add_environment(struct orders *o)
{
	uint32_t n = 0;

	for (char **e = environ; *e; e++)
		n += !stays_here(*e);
	add_number(o, n);
	for (char **e = environ; *e; e++) {
		const char *value = strchr(*e, '=');

		if (stays_here(*e))
			continue;
		append_order(o, *e, (size_t)(value - *e));
		append_order(o, "", 1);
		append_order(o, value + 1, strlen(value));
	}
}

static int send_orders(const struct run_hosts *h, struct host *to, const struct run_options *o, int argc, char **argv)
{
	struct orders all = { 0 };
	char *directory = getcwd(NULL, 0);
	const size_t size = o->program ? 0 : o->size;

	if (!directory || size > UINT32_MAX) {
		fprintf(stderr, "goalrun: %s\n", directory ? "the schedule is too large to be sent" : run_errno_text());
		free(directory);
		return EXIT_FAULT;
	}
	add_number(&all, (uint32_t)(to - h->v.at));
	add_number(&all, (uint32_t)h->v.n);
	for (size_t k = 0; k < h->v.n; k++)
		add_number(&all, h->v.at[k].first);
	add_number(&all, o->nranks);
	append_order(&all, directory, strlen(directory) + 1);
	add_number(&all, (uint32_t)argc);
	for (int i = 0; i < argc; i++)
		append_order(&all, argv[i], strlen(argv[i]) + 1);
	add_environment(&all);
	add_number(&all, (uint32_t)size);
	append_order(&all, o->image, size);
	wire_put(&to->wire, WIRE_SETUP, all.v.at, all.bad ? 0 : all.v.n, NULL, 0);
	VEC_FREE(&all.v);
	free(directory);
	return all.bad ? option_no_memory("goalrun") : EXIT_OK;
}

static bool is_here(const char *name)
{
	char own[256] = "";

	return !strcmp(name, "localhost") || (!gethostname(own, sizeof own - 1) && !strcmp(name, own));
}

/* Executes the remote shell, or for this host the agent itself. hosts_begin has refused paths with quotes. */
static void become_shell(const char *name, const char *path)
{
	const char *asked = env_get(ENV_GOAL_RSH);
	char command[4200], **words = NULL, *save = NULL;
	struct text shell = { 0 };
	size_t n = 0;

	asked += strspn(asked, " ");
	if (is_here(name) && !*asked) {
		execl(path, path, "--agent", (char *)NULL);
	} else {
		text_add(&shell, "%s", *asked ? asked : "ssh");
		words = shell.err ? NULL : calloc(shell.n / 2 + 4, sizeof *words); /* a word and a blank are two characters */
		if (!words)
			_exit(option_no_memory("goalrun"));
		for (char *p = strtok_r(shell.at, " ", &save); p; p = strtok_r(NULL, " ", &save))
			words[n++] = p;
		snprintf(command, sizeof command, "'%s' --agent", path);
		words[n++] = (char *)(uintptr_t)name;
		words[n++] = command;
		words[n] = NULL;
		execvp(words[0], words);
	}
	fprintf(stderr, "goalrun: %s: %s\n", n ? words[0] : path, run_errno_text());
	_exit(127);
}

static int start_agent(struct host *h, const char *path)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	const pid_t parent = getpid();

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || (h->pid = fork()) < 0) {
		fprintf(stderr, "goalrun: host %s: %s\n", h->name, run_errno_text());
		h->pid = 0;
		for (int i = 0; i < 2; i++) {
			if (in[i] >= 0)
				close(in[i]);
			if (out[i] >= 0)
				close(out[i]);
		}
		return EXIT_FAULT;
	}
	if (h->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent || dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
			_exit(127);
		become_shell(h->name, path);
	}
	close(in[0]);
	close(out[1]);
	wire_open(&h->wire, out[0], in[1]);
	return EXIT_OK;
}

int hosts_begin(struct run_hosts *h, const struct run_options *o, int argc, char **argv)
{
	char path[4096] = "";
	int rc = EXIT_OK;

	if (h->counted && o->nranks > hosts_room(h)) {
		fprintf(stderr, "goalrun: --hosts has room for %u ranks, not for %u\n", hosts_room(h), o->nranks);
		return EXIT_USAGE;
	}
	if (readlink("/proc/self/exe", path, sizeof path - 1) < 0 || strchr(path, '\'')) {
		fprintf(stderr, "goalrun: the path of goalrun cannot be told to other hosts\n");
		return EXIT_FAULT;
	}
	divide_ranks(h, o->nranks);
	signal(SIGPIPE, SIG_IGN);
	for (size_t k = 0; k < h->v.n && !rc; k++) {
		rc = start_agent(&h->v.at[k], path);
		rc = rc ? rc : send_orders(h, &h->v.at[k], o, argc, argv);
	}
	return rc;
}

/* ---- a launch ---- */

struct launch {
	struct run_hosts *h;
	const struct run_options *o;
	struct run_launch *l; /* NULL if a program is launched */
	int *died;
	uint64_t until; /* time at which the other ranks are ended because one has failed; 0 if none has */
	bool mute; /* standard output has failed */
	int rc;
};

static void note_failure(struct launch *a)
{
	a->rc = EXIT_FAULT;
	if (!a->until)
		a->until = clock_now_ns() + GRACE_NS;
}

static void forward_to_others(struct run_hosts *h, const struct host *from, enum wire_what what, const void *data, size_t size)
{
	for (size_t k = 0; k < h->v.n; k++)
		if (&h->v.at[k] != from)
			wire_put(&h->v.at[k].wire, what, data, size, NULL, 0);
}

static void flush_all(struct run_hosts *h)
{
	for (size_t k = 0; k < h->v.n; k++)
		wire_flush(&h->v.at[k].wire);
}

/* Notes that what ranks print can no longer be written. If the reader of a pipe has gone, the job ends without a word, like any
 * command in front of a pipe. */
static void lose_stdout(struct launch *a)
{
	a->mute = true;
	a->rc = EXIT_FAULT;
	if (errno == EPIPE)
		a->until = clock_now_ns();
	else
		fprintf(stderr, "goalrun: standard output: %s\n", run_errno_text());
}

/* Writes what ranks print. The reader may be slow, so this also sends signs of life to the agents. */
static void write_stdout(struct launch *a, const char *p, size_t n)
{
	while (n && !a->mute) {
		struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t done = 0;

		if (poll(&out, 1, 500) > 0)
			done = write(STDOUT_FILENO, p, n < 4096 ? n : 4096);
		if (done < 0 && errno != EAGAIN && errno != EINTR) {
			lose_stdout(a);
			return;
		}
		p += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
		flush_all(a->h);
	}
}

static void take_result(struct launch *a, const struct host *from, const char *data, size_t size)
{
	struct run_part parts[RUN_PARTS];
	struct wire_result head;

	if (!a->l || size < sizeof head)
		return;
	memcpy(&head, data, sizeof head);
	run_parts(a->l, parts);
	if (head.part >= RUN_PARTS || head.at >= parts[head.part].n || size - sizeof head != from->n * parts[head.part].each)
		return;
	memcpy(parts[head.part].base + ((size_t)head.at * a->o->nranks + from->first) * parts[head.part].each,
	       data + sizeof head, size - sizeof head);
}

static void check_hello(struct launch *a, struct host *h, const char *version, size_t size)
{
	if (!size || version[size - 1] || strcmp(version, GOAL_VERSION) != 0) {
		fprintf(stderr, "goalrun: host %s: its goalrun is of another version than this one, %s\n", h->name, GOAL_VERSION);
		note_failure(a);
		h->wire.broken = true;
	}
	h->greeted = true;
}

static void handle_agent(struct launch *a, struct host *h, uint32_t what, const char *data, size_t size)
{
	struct wire_exit e;
	uint32_t bytes;
	int32_t status;

	switch (what) {
	case WIRE_HELLO:
		check_hello(a, h, data, size);
		break;
	case WIRE_FRAME:
	case WIRE_BAD:
		forward_to_others(a->h, h, what, data, size);
		if (what == WIRE_BAD && a->l)
			atomic_store(&a->l->shared->bad, 1);
		break;
	case WIRE_OUTPUT:
		write_stdout(a, data, size);
		break;
	case WIRE_TAKEN:
		memcpy(&bytes, data, size == sizeof bytes ? sizeof bytes : 0);
		a->h->typed -= size == sizeof bytes && bytes <= a->h->typed ? bytes : 0;
		break;
	case WIRE_EXIT:
		memcpy(&e, data, size == sizeof e ? sizeof e : 0);
		if (size == sizeof e && e.rank < a->o->nranks)
			a->died[e.rank] = e.sig;
		note_failure(a);
		break;
	case WIRE_RESULT:
		take_result(a, h, data, size);
		break;
	case WIRE_DONE:
		memcpy(&status, data, size == sizeof status ? sizeof status : 0);
		h->done = true;
		if (size != sizeof status || status)
			note_failure(a);
		break;
	default:
		break;
	}
}

static void reap_shell(struct host *h, int *status)
{
	if (h->pid && waitpid(h->pid, status, WNOHANG) == h->pid)
		h->pid = 0;
}

/* Prints why a host was lost. If the remote shell has ended, its status says most. `why` is another known reason, or NULL. */
static void explain_end(const struct host *h, int status, const char *why)
{
	if (h->pid || h->greeted || why)
		fprintf(stderr, "goalrun: host %s: %s\n", h->name, why ? why : "the connection has ended");
	else
		fprintf(stderr, "goalrun: host %s: the remote shell ended with status %d before goalrun answered there; it has to "
				"be at the same path as here\n",
			h->name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Gives up a host: its ranks count as failed, and the other hosts are notified. */
static void lose_host(struct launch *a, struct host *h, const char *why)
{
	const struct rt_frame f = { .what = RT_FRAME_FAILED, .rank = h->first + 1 };
	int status = 0;

	for (int i = 0; i < 50 && h->pid; i++) {
		const struct timespec t = { 0, 10000000 };

		reap_shell(h, &status);
		if (h->pid)
			nanosleep(&t, NULL);
	}
	if (!a->until)
		explain_end(h, status, why);
	note_failure(a);
	if (h->n)
		forward_to_others(a->h, h, WIRE_FRAME, &f, sizeof f);
	if (h->pid)
		kill(h->pid, SIGTERM);
	wire_close(&h->wire);
	h->done = true;
}

static void listen_to(struct launch *a, struct host *h)
{
	bool strange;
	uint32_t what;
	char *data;
	size_t size;

	if (h->wire.in < 0)
		return;
	wire_fill(&h->wire);
	strange = !h->greeted && h->wire.got.n;
	while (wire_next(&h->wire, &what, &data, &size))
		handle_agent(a, h, what, data, size);
	if (h->wire.broken && !h->done)
		lose_host(a, h, strange ? "its login prints something, which is not what goalrun says there" : NULL);
	else if (!h->done && clock_now_ns() - h->wire.heard > (h->greeted ? SILENCE_NS : ANSWER_NS))
		lose_host(a, h, h->greeted ? "nothing has been heard of it for 5 s" : "it has not answered for 60 s");
}

/* True if input for rank 0 may be read now: standard input belongs to this process, and not too much is under way. */
static bool may_type(const struct launch *a)
{
	return a->o->program && !a->h->typed_end && a->h->typed < TYPED && !a->h->v.at[0].done &&
	       (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp());
}

static void take_typed(struct launch *a)
{
	char text[16384];
	ssize_t n = read(STDIN_FILENO, text, sizeof text);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	a->h->typed_end = n <= 0;
	a->h->typed += n > 0 ? (uint32_t)n : 0;
	wire_put(&a->h->v.at[0].wire, WIRE_INPUT, text, n > 0 ? (size_t)n : 0, NULL, 0);
}

static void serve_hosts(struct launch *a, struct pollfd *p)
{
	const size_t n = a->h->v.n;

	flush_all(a->h);
	for (size_t k = 0; k < n; k++) {
		const struct wire *w = &a->h->v.at[k].wire;

		p[2 * k] = (struct pollfd){ .fd = w->in, .events = POLLIN };
		p[2 * k + 1] = (struct pollfd){ .fd = w->put.n ? w->out : -1, .events = POLLOUT };
	}
	p[2 * n] = (struct pollfd){ .fd = may_type(a) ? STDIN_FILENO : -1, .events = POLLIN };
	poll(p, 2 * n + 1, TICK_MS);
	if (p[2 * n].revents)
		take_typed(a);
	for (size_t k = 0; k < n; k++)
		listen_to(a, &a->h->v.at[k]);
}

static bool all_done(const struct run_hosts *h)
{
	for (size_t k = 0; k < h->v.n; k++)
		if (!h->v.at[k].done)
			return false;
	return true;
}

int hosts_run(struct run_hosts *h, const struct run_options *o, struct run_launch *l, int *died)
{
	struct launch a = { .h = h, .o = o, .l = l, .died = died };
	struct pollfd *p = mem_alloc((2 * h->v.n + 1) * sizeof *p);
	const struct timespec now = { 0, 0 };
	sigset_t asked, old;

	if (!p)
		return option_no_memory("goalrun");
	run_block_signals(&asked, &old);
	for (size_t k = 0; k < h->v.n; k++) {
		h->v.at[k].done = false;
		wire_put(&h->v.at[k].wire, WIRE_GO, NULL, 0, NULL, 0);
	}
	while (!all_done(h) && !(a.until && clock_now_ns() > a.until)) {
		int sig = sigtimedwait(&asked, NULL, &now);

		if (sig == SIGUSR1) {
			forward_to_others(h, NULL, WIRE_SIGNAL, &sig, sizeof sig);
		} else if (sig > 0 && sig != SIGCHLD) {
			a.rc = sig == SIGINT ? option_interrupted() : EXIT_FAULT;
			if (l && sig != SIGINT)
				run_reproduce(o, atomic_load(&l->shared->at_case));
			break;
		}
		serve_hosts(&a, p);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(p);
	return a.rc;
}

void hosts_finish(struct run_hosts *h)
{
	const uint64_t until = clock_now_ns() + GRACE_NS;
	bool left = h != NULL;

	for (size_t k = 0; h && k < h->v.n; k++) {
		flush_all(h);
		wire_close(&h->v.at[k].wire); /* the agent then ends, with its ranks */
	}
	while (left) {
		const struct timespec tick = { 0, 5000000 };
		int status;

		left = false;
		for (size_t k = 0; k < h->v.n; k++) {
			reap_shell(&h->v.at[k], &status);
			left |= h->v.at[k].pid > 0;
			if (h->v.at[k].pid && clock_now_ns() > until)
				kill(h->v.at[k].pid, SIGKILL);
		}
		if (left)
			nanosleep(&tick, NULL);
	}
	if (h)
		free_hosts(h);
}
