/* SPDX-License-Identifier: BSD-3-Clause
 * Libraries that are loaded when they are needed, and not before. */
#ifndef UTIL_LOAD_H
#define UTIL_LOAD_H

#include <signal.h>
#include <stddef.h>

/* A function of a library, and where its address goes. */
struct load_fn {
	const char *name;
	size_t at;
};

/* Loads a library for good, as some have threads or register handlers, and stores the addresses of n functions at their
 * places behind to. NULL, or what is missing: the library or a function; dlerror() says why. */
const char *load_library(const char *library, const struct load_fn *fns, size_t n, void *to);

/* What the signals of the process do, which are for the application. */
struct load_handlers {
	struct sigaction at[NSIG];
	sigset_t mask;
};

/* Signals wait, as far as that is for the calling thread to say, until what they do has been put back. */
void load_keep_handlers(struct load_handlers *h);
/* Puts back what a signal did whose handler has since come from a library, or from one that was loaded after it. */
void load_put_back_handlers(const struct load_handlers *h, const char *library);

#endif
