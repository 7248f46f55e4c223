/* SPDX-License-Identifier: BSD-3-Clause
 * unload LIBRARY: a program that is not linked with the library, and unloads it with a context and a bound request left
 * whose communication has a thread. A signal that comes then, and the thread, must not find their code gone. */
#include <mpix_sched.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "schedule s\nbuffer inout data[count]\nrank r of p { calc 8 }\n";

/* A function of the library. */
static void *find(void *library, const char *name)
{
	void *p = dlsym(library, name);

	if (!p)
		exit(3);
	return p;
}

static int alone(const void *in, void *out, size_t size, void *arg)
{
	(void)arg;
	memcpy(out, in, size);
	return 0;
}

#define CALL(name, ...) \
	if ((__extension__(__typeof__(&name))find(library, #name))(__VA_ARGS__)) { \
		puts(#name " failed");                                              \
		return 1;                                                           \
	}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char data[8] = { 0 };
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = buffers, .nbuffers = 1, .count = 8 };
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched s;
	MPIX_Sched_request req;

	setenv("GOAL_PROGRESS", "thread", 1);
	if (!library)
		return 2;
	CALL(MPIX_Sched_ctx_create, &ctx)
	CALL(MPIX_Sched_group_create, ctx, 0, 1, alone, NULL, &group)
	CALL(MPIX_Sched_load_mem, ctx, "s", text, sizeof text - 1, &s)
	CALL(MPIX_Sched_init, s, group, &b, &req)
	dlclose(library);
	raise(SIGUSR1);
	usleep(20000); /* the thread's */
	return 0;
}
