/* SPDX-License-Identifier: BSD-3-Clause
 * Shared libraries that are loaded on first use. */
#ifndef UTIL_LIBRARY_H
#define UTIL_LIBRARY_H

#include <signal.h>
#include <stddef.h>

/* A function of a library, and the offset at which its address is stored. */
struct library_fn {
	const char *name;
	size_t at;
};

/* Loads a library and stores the address of each function fns[i] at offset fns[i].at from `to`. The library is never
 * unloaded, because some libraries start threads or register handlers. Returns NULL, or the name of the library or function
 * that is missing; then dlerror() has the reason. */
const char *library_load(const char *library, const struct library_fn *fns, size_t n, void *to);

/* Signal handlers of the process, by signal number, and the calling thread's signal mask. Some libraries install handlers
 * when they are loaded, although handlers are the application's business. */
struct library_handlers {
	struct sigaction at[NSIG];
	sigset_t mask;
};

/* Saves all signal handlers and blocks all signals for the calling thread, until library_restore_handlers. */
void library_keep_handlers(struct library_handlers *h);
/* Restores each handler that has been replaced since by a handler in `library`, or in a library loaded after it. Then
 * restores the signal mask. */
void library_restore_handlers(const struct library_handlers *h, const char *library);

#endif
