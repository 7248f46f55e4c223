/* SPDX-License-Identifier: BSD-3-Clause
 * Finds installed files relative to the library or program that contains this code. */
#include "util/install.h"

#include "util/err.h"
#include "util/text.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns true if the search ends: the file exists and *path is its path, or memory is out and *err is set. */
static bool try_path(const char *dir, const char *below, const char *name, char **path, int *err)
{
	struct text t = { 0 };

	text_add(&t, "%s%s/%s", dir, below, name);
	*err = text_take(&t, path);
	if (*err || !access(*path, R_OK))
		return true;
	free(*path);
	*path = NULL;
	return false;
}

/* Stores the path of the shared library that contains this code, or else of the program. */
static bool own_path(char out[PATH_MAX])
{
	static const int here;
	Dl_info info;
	ssize_t n;

	/* For code in a program itself, dli_fname is argv[0], which need not be its path. */
	if (dladdr(&here, &info) && strstr(info.dli_fname, ".so") && realpath(info.dli_fname, out))
		return true;
	n = readlink("/proc/self/exe", out, PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int install_find(const char *name, char **path)
{
	static const char *const below[] = { "/share/goalsched/schedules", "/schedules" };
	char dir[PATH_MAX], *slash;
	int err = 0;

	*path = NULL;
	if (!own_path(dir))
		dir[0] = '\0';
	/* The code is in PREFIX/bin, PREFIX/lib or PREFIX/lib/TRIPLET, or in a build folder. */
	for (unsigned up = 0; up < 4 && (slash = strrchr(dir, '/')); up++) {
		*slash = '\0';
		for (unsigned i = 0; i < sizeof below / sizeof *below && up; i++)
			if (try_path(dir, below[i], name, path, &err))
				return err;
	}
	try_path(GOAL_SCHEDDIR, "", name, path, &err);
	return err;
}

int install_path(const char *dir, const char *name, char **path)
{
	struct text t = { 0 };
	char *installed;
	int err;

	text_add(&t, "%s%s", dir, name);
	err = text_take(&t, path);
	if (err || !*name || strchr(name, '/') || !access(*path, F_OK))
		return err;
	err = install_find(name, &installed);
	if (err || installed) {
		free(*path);
		*path = installed;
	}
	return err;
}
