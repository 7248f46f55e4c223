/* SPDX-License-Identifier: BSD-3-Clause
 * The board of the driver and the ranks: mapping it, and failing on it. */
#include "bench/collectives/board.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct board *board_map(const char *path, bool create)
{
	const int fd = open(path, create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!create || !ftruncate(fd, sizeof(struct board)))
		p = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

int board_fail(struct board_group *g, const char *fmt, ...)
{
	int none = BOARD_WELL;
	va_list ap;

	if (!atomic_compare_exchange_strong(&g->failed, &none, BOARD_FAILED))
		return -1;
	va_start(ap, fmt);
	vsnprintf(g->why, sizeof g->why, fmt, ap);
	va_end(ap);
	return -1;
}
