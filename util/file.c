/* SPDX-License-Identifier: BSD-3-Clause
 * Reading and writing whole files. */
#include "util/file.h"

#include "util/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Values of errno for faults of this file's own. No call for reading or writing sets errno to one of them. */
#define OTHER_KIND ENOTBLK
#define TOO_LONG EMSGSIZE

const char *file_why(int errnum)
{
	return errnum == OTHER_KIND ? "this is neither a regular file nor a pipe" :
	       errnum == TOO_LONG   ? "more than 1 GB comes from it" :
				      strerror(errnum);
}

/* Reads `fd` to its end and closes it. `want` is the size of a regular file, 0 if the size is unknown. */
static int read_all(int fd, size_t want, struct file *f)
{
	VEC(char) v = { 0 };
	int err = -ERR_SYS;
	ssize_t n;

	for (;;) {
		size_t room = v.n < want ? want - v.n + 1 : 65536;

		if (v.n > FILE_MOST && v.n > want) {
			errno = TOO_LONG;
			break;
		}
		if (VEC_RESERVE(&v, v.n + room + 1)) {
			err = -ERR_NOMEM;
			break;
		}
		n = read(fd, v.at + v.n, v.cap - v.n - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n == 0 ? 0 : -ERR_SYS;
			break;
		}
		v.n += (size_t)n;
	}
	int saved = errno;

	close(fd);
	errno = saved;
	if (err) {
		VEC_FREE(&v);
		return err;
	}
	v.at[v.n] = '\0';
	*f = (struct file){ -1, v.at, v.n };
	return 0;
}

int file_take(int fd, struct file *f)
{
	*f = (struct file){ .fd = -1 };
	return read_all(fd, 0, f);
}

int file_open(const char *path, struct file *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };

	*f = (struct file){ .fd = -1 };
	if (fd < 0)
		return -ERR_SYS;
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))) {
		close(fd);
		errno = S_ISDIR(st.st_mode) ? EISDIR : OTHER_KIND;
		return -ERR_SYS;
	}
	if (!S_ISREG(st.st_mode) || st.st_size <= 0) /* files under /proc report size 0 */
		return read_all(fd, 0, f);
	*f = (struct file){ .fd = fd, .len = (size_t)st.st_size };
	return 0;
}

void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->data);
	*f = (struct file){ .fd = -1 };
}

ssize_t file_at(const struct file *f, uint64_t off, void *buf, size_t max)
{
	ssize_t n;

	if (f->fd < 0) {
		size_t left = off < f->len ? f->len - (size_t)off : 0;

		n = (ssize_t)(left < max ? left : max);
		if (n)
			memcpy(buf, f->data + off, (size_t)n);
		return n;
	}
	do
		n = pread(f->fd, buf, max, (off_t)off);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -ERR_SYS : n;
}

int file_load(struct file *f)
{
	int fd = f->fd;

	f->fd = -1;
	return fd < 0 ? 0 : read_all(fd, f->len, f);
}

int file_read(const char *path, char **data, size_t *len)
{
	struct file f;
	int err = file_open(path, &f);

	err = err ? err : file_load(&f);
	*data = f.data;
	*len = f.len;
	return err;
}

int file_give(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -ERR_SYS;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int close_file(int fd, int err)
{
	int saved = errno;

	if (close(fd) && !err)
		return -ERR_SYS;
	errno = saved;
	return err;
}

/* Sets the mode of a new file and writes its contents. The file may have no name yet: then it vanishes with its last
 * descriptor, however the process ends. */
static int fill(int fd, mode_t mode, const void *data, size_t len)
{
	return fchmod(fd, mode) ? -ERR_SYS : file_give(fd, data, len);
}

/* Links an unnamed file into `dir` under an unused name, which is returned in `temp`. */
static bool name(int fd, const char *dir, char temp[PATH_MAX])
{
	char self[32];

	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(temp, PATH_MAX, "%s/.goal.%05u", dir, ((unsigned)getpid() + i) % 100000);
		if (!linkat(AT_FDCWD, self, AT_FDCWD, temp, AT_SYMLINK_FOLLOW))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* Writes the data to a new file in the directory of `path` and returns the file's name in `temp`. From the moment the file
 * has a name, the signals in `hold` stay blocked, so that none ends the process and leaves the file behind. On failure no
 * file remains. */
static int write_beside(const char *path, mode_t mode, const void *data, size_t len, char temp[PATH_MAX], const sigset_t *hold)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX - 16];
	int fd, err, saved;

	if (snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".") >= (int)sizeof dir) {
		errno = ENAMETOOLONG;
		return -ERR_SYS;
	}
	fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool named;

		err = fill(fd, mode, data, len);
		pthread_sigmask(SIG_BLOCK, hold, NULL);
		named = !err && name(fd, dir, temp);
		err = close_file(fd, err);
		if (err || named)
			return err;
	}
	/* Fallback: some file systems have no unnamed files (O_TMPFILE), and some systems have no /proc. */
	pthread_sigmask(SIG_BLOCK, hold, NULL);
	snprintf(temp, PATH_MAX, "%s/.goal.XXXXXX", dir);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -ERR_SYS;
	err = close_file(fd, fill(fd, mode, data, len));
	saved = errno;
	if (err)
		unlink(temp);
	errno = saved;
	return err;
}

/* Writes a new file and renames it to `path`. SIGXFSZ is blocked: then a write beyond the file size limit returns an error
 * that can be reported, instead of ending the process. A SIGXFSZ that became pending here is discarded. */
static int replace_file(const char *path, mode_t mode, const void *data, size_t len)
{
	static const struct timespec now;
	sigset_t too_large, all, old, pending;
	char temp[PATH_MAX];
	int err, saved;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	sigfillset(&all);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &too_large, &old);
	err = write_beside(path, mode, data, len, temp, &all);
	if (!err && rename(temp, path)) {
		saved = errno;
		unlink(temp);
		errno = saved;
		err = -ERR_SYS;
	}
	saved = errno;
	if (!sigismember(&pending, SIGXFSZ))
		sigtimedwait(&too_large, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return err;
}

int file_write(const char *path, const void *data, size_t len)
{
	char real[PATH_MAX];
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	if (stat(path, &st))
		return errno == ENOENT ? replace_file(path, 0666 & ~mask, data, len) : -ERR_SYS;
	if (!S_ISREG(st.st_mode)) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		return fd < 0 ? -ERR_SYS : close_file(fd, file_give(fd, data, len));
	}
	if (access(path, W_OK) || !realpath(path, real)) /* rename does not check permissions of the file */
		return -ERR_SYS;
	return replace_file(real, st.st_mode & 07777, data, len);
}
