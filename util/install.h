/* SPDX-License-Identifier: BSD-3-Clause
 * Finds installed files. */
#ifndef UTIL_INSTALL_H
#define UTIL_INSTALL_H

/* Finds an installed schedule and stores its path in *path, owned by the caller; NULL if there is none. Searches
 * share/goalsched/schedules and schedules/ in the directories above this library or program, so that an installed tree can
 * be moved, and a build tree works. Then searches the directory configured at build time. Returns 0 or -ERR_NOMEM. */
int install_find(const char *name, char **path);
/* Stores the path of the file that `name` stands for in *path, owned by the caller. A name is relative to the folder `dir`, which
 * is empty or ends with a slash. If no file has that name, and the name has no slash, it stands for the installed schedule
 * of this name; if there is none either, *path is that of the missing file. Returns 0 or -ERR_NOMEM. */
int install_path(const char *dir, const char *name, char **path);

#endif
