/* SPDX-License-Identifier: BSD-3-Clause
 * Whole files in and out. */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <stddef.h>

/* Reads a file, pipe or device to its end into owned, 16-aligned memory with a NUL behind it.
 * 0, -ERR_NOMEM, or -ERR_SYS with errno. */
int file_read(const char *path, char **data, size_t *len);

/* Writes a whole file. A regular file appears, or is replaced, only when all of it has been written;
 * anything else that path names (a device, a pipe) is written to and left in place. 0 or -ERR_SYS with
 * errno. */
int file_write(const char *path, const void *data, size_t len);

#endif
