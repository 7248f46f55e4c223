/* SPDX-License-Identifier: BSD-3-Clause
 * Whole files in and out. */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What comes from a pipe, or from a file that has no size as those of /proc, ends here. */
#define FILE_MOST ((size_t)1 << 30)

/* Something to be read piece by piece. A regular file stays on disk, at fd; what comes from a pipe is kept in data, and
 * fd is -1. Nothing else is opened: a device may have no end. len may be wrong when somebody changes the file meanwhile. */
struct file {
	int fd;
	char *data;
	size_t len;
};

/* 0, -ERR_NOMEM, or -ERR_SYS with errno, for file_why. */
int file_open(const char *path, struct file *f);
/* The sentence for an errno of these functions: some have a meaning of their own here. */
const char *file_why(int errnum);
void file_close(struct file *f);
/* Copies up to max bytes from offset off on; how many, 0 at the end, or -ERR_SYS with errno. */
ssize_t file_at(const struct file *f, uint64_t off, void *buf, size_t max);
/* Brings all of it into data: owned, 16-aligned memory with a NUL behind it. 0, -ERR_NOMEM or -ERR_SYS. */
int file_load(struct file *f);

/* Reads a file or pipe to its end into owned, 16-aligned memory with a NUL behind it.
 * 0, -ERR_NOMEM, or -ERR_SYS with errno. */
int file_read(const char *path, char **data, size_t *len);

/* Writes a whole file. A regular file appears, or is replaced, only when all of it has been written, and nothing is left
 * beside it when a signal ends the process, or files may not be as large. Anything else that path names (a device, a
 * pipe) is written to and left in place. 0 or -ERR_SYS with errno. */
int file_write(const char *path, const void *data, size_t len);

#endif
