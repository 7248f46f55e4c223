/* SPDX-License-Identifier: BSD-3-Clause
 * Runs an SMT solver as a child: the text goes through a pipe to its input, and the answer comes through another one. */
#include "compiler/allranks/proof.h"

#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ANSWER 8192u

struct talk {
	pid_t pid;
	int in, out; /* ends of this process: to its input, from its output */
	const char *text;
	size_t left;
	char answer[ANSWER];
	size_t n;
};

/* Starts the solver with the two pipes. It ends by itself after the time, even if this process is killed. Returns 0 or an
 * errno. */
static int start_solver(struct talk *k, const char *program, unsigned seconds)
{
	char z3_time[32], cvc5_time[32];
	char *const z3[] = { (char *)program, "-in", "-smt2", z3_time, NULL };
	char *const cvc5[] = { (char *)program, "--lang=smt2", cvc5_time, NULL };
	posix_spawn_file_actions_t a;
	int in[2], out[2], err;

	snprintf(z3_time, sizeof z3_time, "-T:%u", seconds);
	snprintf(cvc5_time, sizeof cvc5_time, "--tlimit=%u", seconds * 1000);
	if (pipe2(in, O_CLOEXEC))
		return errno;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return EMFILE;
	}
	posix_spawn_file_actions_init(&a);
	posix_spawn_file_actions_adddup2(&a, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&a, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&a, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(&k->pid, program, &a, NULL, strstr(program, "z3") ? z3 : cvc5, environ);
	posix_spawn_file_actions_destroy(&a);
	close(in[0]);
	close(out[1]);
	k->in = in[1];
	k->out = out[0];
	if (err) {
		close(k->in);
		close(k->out);
	}
	return err;
}

/* Sends what the pipe takes. At the end, or after an error, the input is closed. */
static void send_text(struct talk *k)
{
	const ssize_t n = write(k->in, k->text, k->left);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	k->text += n > 0 ? n : 0;
	k->left -= n > 0 ? (size_t)n : k->left;
	if (!k->left) {
		close(k->in);
		k->in = -1;
	}
}

/* Sends the text and reads the answer, until the solver ends or the time is over. Returns false if the time is over. */
static bool talk_to(struct talk *k, int64_t until)
{
	fcntl(k->in, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd f[] = { { .fd = k->out, .events = POLLIN }, { .fd = k->in, .events = POLLOUT } };
		const int64_t left = (until - (int64_t)clock_now_ns()) / 1000000;
		char spare[256];
		ssize_t n;

		if (left <= 0 || (poll(f, 2, (int)left) < 0 && errno != EINTR))
			return false;
		if (k->in >= 0 && f[1].revents)
			send_text(k);
		if (!f[0].revents)
			continue;
		n = k->n < ANSWER - 1 ? read(k->out, k->answer + k->n, ANSWER - 1 - k->n) : read(k->out, spare, sizeof spare);
		if (n == 0 || (n < 0 && errno != EINTR))
			return true;
		k->n += n > 0 && k->n < ANSWER - 1 ? (size_t)n : 0;
	}
}

/* Reads the values of an answer "((t1 #b01) (t2 #x0f))". */
static void read_values(const char *s, int64_t *value, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char *end;

		value[i] = 0;
		s = s ? strchr(s, '#') : NULL;
		if (!s || !s[1])
			return;
		value[i] = (int64_t)strtoull(s + 2, &end, s[1] == 'b' ? 2 : 16);
		s = end;
	}
}

enum solver_answer solver_ask(const char *program, const char *text, unsigned seconds, int64_t *value, unsigned nvars)
{
	struct talk k = { .text = text, .left = strlen(text) };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	enum solver_answer answer = SOLVER_UNKNOWN;

	if (start_solver(&k, program, seconds))
		return SOLVER_MISSING;
	sigaction(SIGPIPE, &ignore, &old);
	if (!talk_to(&k, (int64_t)clock_now_ns() + (int64_t)seconds * 1000000000))
		kill(k.pid, SIGKILL);
	sigaction(SIGPIPE, &old, NULL);
	if (k.in >= 0)
		close(k.in);
	close(k.out);
	while (waitpid(k.pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!strncmp(k.answer, "unsat", 5))
		answer = SOLVER_UNSAT;
	else if (!strncmp(k.answer, "sat", 3))
		answer = SOLVER_SAT;
	if (answer == SOLVER_SAT)
		read_values(k.answer, value, nvars);
	return answer;
}
