/* SPDX-License-Identifier: BSD-3-Clause
 * Libraries that are loaded when they are needed, and not before. */
#include "util/load.h"

#include <dlfcn.h>
#include <string.h>

const char *load_library(const char *library, const struct load_fn *fns, size_t n, void *to)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_NODELETE);

	if (!lib)
		return library;
	for (size_t i = 0; i < n; i++) {
		void *fn = dlsym(lib, fns[i].name);

		if (!fn)
			return fns[i].name;
		memcpy((char *)to + fns[i].at, &fn, sizeof fn);
	}
	return NULL;
}
