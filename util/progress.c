/* SPDX-License-Identifier: BSD-3-Clause
 * A line on the terminal about work that takes longer than a second. */
#include "util/progress.h"

#include "util/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_NS 1000000000u /* work that is done earlier shows nothing */
#define EACH_NS 200000000u

void progress_begin(struct progress *p, const char *program)
{
	const uint64_t now = clock_now_ns();

	*p = (struct progress){ .program = program, .on = isatty(STDERR_FILENO), .begun = now, .next = now + FIRST_NS };
}

static void show_line(struct progress *p, const char *what)
{
	const uint64_t now = clock_now_ns();

	if (now < p->next)
		return;
	p->next = now + EACH_NS;
	p->shown = true;
	fprintf(stderr, "\r%s: %s, %u s\033[K", p->program, what, (unsigned)((now - p->begun) / 1000000000u));
}

void progress_tick(struct progress *p, const char *fmt, ...)
{
	char what[sizeof p->what];
	va_list ap;

	if (!p->on)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	show_line(p, what);
}

static void *show_often(void *arg)
{
	struct progress *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->done) {
		const struct timespec until = clock_timespec(p->next);

		pthread_cond_timedwait(&p->changed, &p->lock, &until);
		if (!p->done && *p->what)
			show_line(p, p->what);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void progress_begin_thread(struct progress *p, const char *program)
{
	pthread_condattr_t attr;

	progress_begin(p, program);
	if (!p->on)
		return;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	p->threaded = !pthread_create(&p->thread, NULL, show_often, p);
	p->on = p->threaded;
}

void progress_set(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p->threaded)
		return;
	pthread_mutex_lock(&p->lock);
	va_start(ap, fmt);
	vsnprintf(p->what, sizeof p->what, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p)
{
	if (p->threaded) {
		pthread_mutex_lock(&p->lock);
		p->done = true;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
		pthread_cond_destroy(&p->changed);
		pthread_mutex_destroy(&p->lock);
	}
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->on = p->threaded = p->shown = false;
}
