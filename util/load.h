/* SPDX-License-Identifier: BSD-3-Clause
 * Libraries that are loaded when they are needed, and not before. */
#ifndef UTIL_LOAD_H
#define UTIL_LOAD_H

#include <stddef.h>

/* A function of a library, and where its address goes. */
struct load_fn {
	const char *name;
	size_t at;
};

/* Loads a library for good, as some have threads or register handlers, and stores the addresses of n functions at their
 * places behind to. NULL, or what is missing: the library or a function; dlerror() says why. */
const char *load_library(const char *library, const struct load_fn *fns, size_t n, void *to);

#endif
