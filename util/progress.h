/* SPDX-License-Identifier: BSD-3-Clause
 * A line on the terminal about work that takes longer than a second. Nothing is shown if standard error is no terminal, and
 * nothing remains at the end. */
#ifndef UTIL_PROGRESS_H
#define UTIL_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *program;
	bool on, threaded; /* on: standard error is a terminal */
	bool shown; /* the line is on the terminal */
	uint64_t begun, next; /* times in ns: of the begin, and before which the line does not change */
	/* Only with a thread; `lock` protects the fields below it and `shown`. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
	char what[200];
};

/* Begins. The caller calls progress_tick() often. */
void progress_begin(struct progress *p, const char *program);
/* Shows the text and the seconds since the begin, if it is time for that. */
__attribute__((format(printf, 2, 3))) void progress_tick(struct progress *p, const char *fmt, ...);
/* Begins, with a thread that shows the text: for work that cannot call progress_tick(). */
void progress_begin_thread(struct progress *p, const char *program);
/* Sets the text that the thread shows. */
__attribute__((format(printf, 2, 3))) void progress_set(struct progress *p, const char *fmt, ...);
/* Erases the line and ends the thread. To be called before anything is printed; a second call does nothing. */
void progress_end(struct progress *p);

#endif
