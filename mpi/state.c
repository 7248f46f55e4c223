/* SPDX-License-Identifier: BSD-3-Clause
 * What a process has once: the library's context, made at the first use. */
#include "mpi/inner.h"

#include "util/library.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
	pthread_mutex_t lock;
	bool tried;
	MPIX_Sched_ctx ctx;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Iterations of a wait from one turn of the MPI library's progress engine to the next. Where ranks share cores, a turn of Open MPI's
 * yields the core, and so does the iteration: both together hand it over once more than needed. */
#define TURN_EVERY 8u
/* A wait that long may sleep between its iterations, and then turns the engine in each. */
#define LONG_NS 1000000u

/* While a thread waits for a request of ours, native messages move on: a rank that waits for one of those may be what the
 * request waits for. */
static enum MPIX_Sched_way wait_here(const struct MPIX_Sched_energy_info *info, void *arg)
{
	(void)arg;
	if (info->iterations % TURN_EVERY == 0 || info->waited_ns > LONG_NS)
		gm_native_progress();
	return MPIX_SCHED_YIELD;
}

void gm_say(const char *fmt, ...)
{
	char line[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	fputs(line, stderr); /* fprintf may write it in pieces */
}

struct gm_library gm_lib;

/* Loads libgoalsched, which is where this library was installed, or where the system looks. */
static bool load_library(void)
{
	static const struct library_fn fns[] = {
#define X(name) { "MPIX_Sched_" #name, offsetof(struct gm_library, name) },
#include "mpi/library.def"
#undef X
	};
	const char *missing = library_load("libgoalsched.so.0", fns, sizeof fns / sizeof *fns, &gm_lib);

	if (missing)
		gm_say("goalmpi: %s cannot be loaded, so nothing is served: %s\n", missing, dlerror());
	return !missing;
}

MPIX_Sched_ctx gm_ctx(void)
{
	pthread_mutex_lock(&process.lock);
	if (!process.tried) {
		process.tried = true;
		if (load_library() && gm_lib.ctx_create(&process.ctx) == MPIX_SCHED_SUCCESS)
			gm_lib.energy_handler_reg(process.ctx, wait_here, NULL);
		else
			process.ctx = NULL;
	}
	pthread_mutex_unlock(&process.lock);
	return process.ctx;
}

bool gm_loaded(void)
{
	bool loaded;

	pthread_mutex_lock(&process.lock);
	loaded = process.ctx != NULL;
	pthread_mutex_unlock(&process.lock);
	return loaded;
}

void gm_begin(void)
{
	gm_stats_begin();
	gm_comms_begin();
}

/* A program may still read memory that it has not freed, so the context stays for that. */
void gm_end(void)
{
	const bool quiet = gm_nbc_end();

	gm_helper_end();
	if (process.ctx)
		gm_reap();
	gm_stats_end();
	if (process.ctx) {
		gm_own_end();
		gm_comms_end();
		gm_lib.energy_handler_dereg(process.ctx);
		if (!quiet || gm_memory_used())
			return;
		gm_lib.ctx_free(&process.ctx);
	}
	process.tried = false;
}
