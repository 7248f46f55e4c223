/* SPDX-License-Identifier: BSD-3-Clause
 * Counts what is left behind. */
#ifndef TESTS_RT_COUNT_H
#define TESTS_RT_COUNT_H

#include <dirent.h>
#include <stdio.h>

/* Number of entries of a directory, such as /proc/self/fd; 0 if it cannot be read. */
static inline int count_entries(const char *directory)
{
	DIR *d = opendir(directory);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* The number that a command prints, or -1. */
static inline int count_printed(const char *command)
{
	FILE *f = popen(command, "r");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

#endif
