/* SPDX-License-Identifier: BSD-3-Clause
 * Where installed files are. */
#ifndef UTIL_SHARE_H
#define UTIL_SHARE_H

/* The path of a file among the installed schedules, owned by the caller, in *path; NULL there when it is not
 * found. Looked for in share/goalsched/schedules and in schedules of the directories above the one of the library
 * or program that has this code, so that a tree may be moved, and may be a build; then where it was to be
 * installed when it was built. 0 or -ERR_NOMEM. */
int share_find(const char *name, char **path);

#endif
