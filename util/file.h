/* SPDX-License-Identifier: BSD-3-Clause
 * Reading and writing whole files. */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Most bytes that are read from a pipe, or from a file of unknown size (as under /proc). */
#define FILE_MOST ((size_t)1 << 30)

/* An open file, read at arbitrary offsets. A regular file is read from disk through fd. The contents of a pipe are kept in
 * data, and fd is -1. Other kinds of file are refused, because a device may have no end. len is the size when the file was
 * opened; it is wrong if the file has changed since. */
struct file {
	int fd;
	char *data;
	size_t len;
};

/* Opens a file or pipe. Returns 0, -ERR_NOMEM, or -ERR_SYS with errno set; file_why explains that errno. */
int file_open(const char *path, struct file *f);
/* Returns the sentence for an errno that one of these functions set. Use it instead of strerror: two values have a meaning
 * of their own here. */
const char *file_why(int errnum);
/* Reads what comes from a descriptor, to its end, and closes it. Returns as file_open(). */
int file_take(int fd, struct file *f);
void file_close(struct file *f);
/* Copies up to `max` bytes from offset `off` to `buf`. Returns the number of bytes, 0 at the end of the file, or -ERR_SYS
 * with errno set. */
ssize_t file_at(const struct file *f, uint64_t off, void *buf, size_t max);
/* Reads the whole file into f->data: owned memory, aligned to 16 bytes, with a NUL after the last byte. Returns 0,
 * -ERR_NOMEM or -ERR_SYS. */
int file_load(struct file *f);

/* Reads a file or pipe to its end into owned memory, aligned to 16 bytes, with a NUL after the last byte. Returns 0,
 * -ERR_NOMEM, or -ERR_SYS with errno set. */
int file_read(const char *path, char **data, size_t *len);

/* Writes a whole file. A regular file is created or replaced only once all of the data is written. No temporary file
 * remains when a signal ends the process or a file size limit is exceeded. If path names a device or a pipe, the data is
 * written to it. Returns 0 or -ERR_SYS with errno set. */
int file_write(const char *path, const void *data, size_t len);
/* Writes to a descriptor, all of the data. Returns 0 or -ERR_SYS with errno set. */
int file_give(int fd, const void *data, size_t len);

#endif
