/* SPDX-License-Identifier: BSD-3-Clause
 * Waiting: spins for a while, and goes on as the policy has it. */
#include "runtime/rt.h"

#include <sched.h>
#include <string.h>

#define YIELDS 8u /* before a thread sleeps: who shares its core may be what it waits for */
#define SLEEP_NS 50000000u /* at most, so that deaths are noticed */

const char *const rt_wait_names[RT_WAITS] = { [RT_SPIN] = "spin", [RT_YIELD] = "yield", [RT_BLOCK] = "block" };

int rt_policy(void)
{
	const char *name = env_get(ENV_GOAL_WAIT);

	for (int i = 0; i < RT_WAITS; i++)
		if (!strcmp(name, rt_wait_names[i]))
			return i;
	return -ERR_ARG;
}

/* Says that it is about to sleep; the next turn is the last look. */
static void arm(struct rt_wait *w)
{
	struct rt_door *door = rt_heap_door(w->ctx->heap);

	w->alarm = UINT64_MAX;
	w->armed = true;
	w->seen = rt_bell_arm(&door->bell[w->bell], door->asks);
}

enum rt_due rt_wait_on(struct rt_wait *w)
{
	enum rt_due due = w->turn >= w->look ? RT_LOOK : RT_AGAIN;

	if (due == RT_LOOK)
		w->look = w->turn + RT_LOOK_TURNS;
	w->pause = w->until < w->look ? w->until : w->look;
	if (rt_wait_spins(w))
		be_pause();
	else if (w->armed && !w->partly)
		return RT_SLEEP;
	else if (w->policy == RT_BLOCK && !w->armed && w->turn >= w->until + YIELDS)
		arm(w);
	else
		sched_yield();
	w->partly = false;
	return due;
}

void rt_wait_sleep(struct rt_wait *w)
{
	uint64_t now = w->alarm == UINT64_MAX ? 0 : rt_now_ns(), ns = SLEEP_NS;

	if (w->alarm < now + ns)
		ns = w->alarm > now ? w->alarm - now : 0;
	if (rt_bell_sleep(&rt_heap_door(w->ctx->heap)->bell[w->bell], w->seen, ns)) {
		w->until = w->turn + w->spins; /* more may follow soon */
		w->pause = w->until < w->look ? w->until : w->look;
	}
	rt_wait_end(w);
	w->armed = false;
}
