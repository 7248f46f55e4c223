/* SPDX-License-Identifier: BSD-3-Clause
 * Shared libraries that are loaded on first use. */
#include "util/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

const char *library_load(const char *library, const struct library_fn *fns, size_t n, void *to)
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

void library_keep_handlers(struct library_handlers *h)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &h->mask);
	for (int s = 1; s < NSIG; s++)
		if (sigaction(s, NULL, &h->at[s]))
			h->at[s].sa_handler = SIG_ERR; /* a signal that the C library reserves */
}

static bool is_in(const void *fn, const struct link_map *first)
{
	struct link_map *lib;
	Dl_info info;

	if (!dladdr1(fn, &info, (void **)&lib, RTLD_DL_LINKMAP))
		return false;
	while (first && first != lib)
		first = first->l_next;
	return first;
}

void library_restore_handlers(const struct library_handlers *h, const char *library)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	struct link_map *first = NULL;
	struct sigaction now;

	if (lib)
		dlinfo(lib, RTLD_DI_LINKMAP, &first);
	for (int s = 1; s < NSIG && first; s++)
		/* sa_handler also reads a handler that was set as sa_sigaction: both are members of one union. */
		if (h->at[s].sa_handler != SIG_ERR && !sigaction(s, NULL, &now) && now.sa_handler != h->at[s].sa_handler &&
		    is_in((const void *)(uintptr_t)now.sa_handler, first))
			sigaction(s, &h->at[s], NULL);
	if (lib)
		dlclose(lib);
	pthread_sigmask(SIG_SETMASK, &h->mask, NULL);
}
