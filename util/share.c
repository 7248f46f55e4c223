/* SPDX-License-Identifier: BSD-3-Clause
 * Where installed files are: beside the code that asks. */
#include "util/share.h"

#include "util/err.h"
#include "util/text.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the file is there; then its path is taken. */
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

/* The shared library with this code, or the program. */
static bool own_path(char out[PATH_MAX])
{
	static const int here;
	Dl_info info;
	ssize_t n;

	/* Of a program the name is what it was started by, which says nothing. */
	if (dladdr(&here, &info) && strstr(info.dli_fname, ".so") && realpath(info.dli_fname, out))
		return true;
	n = readlink("/proc/self/exe", out, PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int share_find(const char *name, char **path)
{
	static const char *const below[] = { "/share/goalsched/schedules", "/schedules" };
	char dir[PATH_MAX], *slash;
	int err = 0;

	*path = NULL;
	if (!own_path(dir))
		dir[0] = '\0';
	/* PREFIX/bin, PREFIX/lib, PREFIX/lib/TRIPLET */
	for (unsigned up = 0; up < 4 && (slash = strrchr(dir, '/')); up++) {
		*slash = '\0';
		for (unsigned i = 0; i < sizeof below / sizeof *below && up; i++)
			if (try_path(dir, below[i], name, path, &err))
				return err;
	}
	try_path(GOAL_SCHEDDIR, "", name, path, &err);
	return err;
}
