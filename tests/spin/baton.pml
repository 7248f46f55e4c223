/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Model of how the threads of a communication core take turns and fall asleep (runtime/comm.c: take_baton, give_baton,
 * serve).  run.sh checks it and its mutants.
 *
 * One thread at a time has the baton and makes progress.  Each rank has an op that can be carried out by its own thread
 * only: that of rank 0 when another one is done, which is for any thread when its word is there; the others' when their
 * own words are there.  A world outside stores the words in any order, and rings the core's bell after each.  Who has the
 * baton and finds nothing passes it, when a rank of another thread is at an op of its own and somebody waits for the
 * baton; or goes to sleep on the bell, and keeps the baton.
 *
 * There are no time-outs here.  Property, asserted by name:
 *
 *      STALL     when nothing can happen any more all ops are done
 *
 * Mutants, each with one rule broken.  run.sh names the properties that each violates.
 *
 *      NO_LOOK        a thread does not look again once it has armed the bell
 *      NO_ASK         it sleeps without having passed the baton since then
 *      FRESH_HEARD    it compares the bell with what it is at last, not with what it was when it was armed
 *      QUIET_ARRIVAL  who begins to wait for the baton does not ring
 *      LATE_WAITING   who begins to wait says so after it has rung
 *
 * What is one step.  Every load, store and locked operation on what threads share, a look at all ranks, and each of
 * futex's operations, which wakes in the order in which threads came.  The bell itself is the matter of wait.pml: here to
 * ring is two steps, and memory is in order.  REACH adds a claim that run.sh expects to fail: END, that not all ops are
 * ever done while all threads sleep.
 *
 * Not modelled: spinning and yielding before a thread gives up, which only make it slower; processes that die; threads
 * that come and go.
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef PASSES
#define PASSES 1
#endif

/* Always true, outside the state: they only give the assertions their names. */
hidden byte STALL = 1, END = 1;
#define CHECK(property, condition)  assert(property && (condition))

#define NOBODY 255

byte baton;                             /* thread + 1 */
byte waiting, idle;
chan queue = [THREADS] of { byte };     /* who sleeps on the baton */
bool dozes[THREADS];                    /* the same */

byte count, sleepers;                   /* the bell */
bool asleep[THREADS];

bool word, own[THREADS];                /* what the first op of rank 0 waits for, and the second one of each */
byte stage[THREADS];                    /* ops that are done */
byte done;                              /* ghosts: in all; and */
bool over;                              /* nothing can happen any more */

#define ODD(n)  ((n) % 2)
#define NEXT(n)  n = (n + 1) % 8        /* so far it cannot come while a thread has armed the bell */

inline wake_all()
{
  d_step {
    asleep[0] = false;
    asleep[1] = false;
    asleep[THREADS - 1] = false
  }
}

/* be_ring and be_ring_sleepers; b is free */
inline ring()
{
  b = sleepers;
  if
  :: b ->
    d_step {
      b = ODD(count);
      if
      :: b -> NEXT(count)
      :: else
      fi
    }
    if
    :: b -> wake_all()
    :: else
    fi
  :: else
  fi;
  b = 0
}

proctype world()
{
  byte b, r;

  do
  :: d_step { !word -> word = true }; ring()
  :: d_step { !own[1] -> own[1] = true }; ring()
#if THREADS == 3
  :: d_step { !own[2] -> own[2] = true }; ring()
#endif
  :: else -> break
  od
}

/* Sleeps on the baton while it is what b says. */
inline doze()
{
  d_step {
    if
    :: baton == b -> queue!t; dozes[t] = true
    :: else
    fi
  }
endD:
  if
  :: !dozes[t]
  :: over -> goto out
  fi
}

inline take()
{
#ifdef LATE_WAITING
#ifndef QUIET_ARRIVAL
  ring();
#endif
  waiting++;
#else
  waiting++;
#ifndef QUIET_ARRIVAL
  ring();
#endif
#endif
  if
  :: passed -> b = 0; doze0()
  :: else
  fi;
  do
  :: d_step {
      b = baton;
      if
      :: b == 0 -> baton = t + 1
      :: else
      fi
    }
    if
    :: b == 0 -> break
    :: else -> doze()
    fi
  od;
  b = 0;
  waiting--
}

inline doze0()
{
  d_step {
    if
    :: baton == 0 -> queue!t; dozes[t] = true
    :: else
    fi
  }
endZ:
  if
  :: !dozes[t]
  :: over -> goto out
  fi
}

inline give()
{
  baton = 0;
  d_step {
    passed = false;
    if
    :: len(queue) > 0 -> queue?b; dozes[b] = false; passed = true
    :: else
    fi;
    b = 0
  }
}

/* visit */
#define VISIT(r) \
  if \
  :: stage[r] == 0 && word -> stage[r] = 1; moved = true; done++ \
  :: else \
  fi; \
  if \
  :: stage[r] == 1 && r == t && own[r] -> stage[r] = 2; moved = true; done++ \
  :: else \
  fi; \
  elsewhere = elsewhere || (stage[r] == 1 && r != t)

inline sweep()
{
  d_step {
    moved = false;
    elsewhere = false;
    VISIT(0);
    VISIT(1);
#if THREADS == 3
    VISIT(2);
#endif
    quiet = idle >= PASSES
  };
  others = elsewhere && waiting
}

inline disarm()
{
  atomic {
    if
    :: armed -> sleepers--; armed = false; asked = false; heard = 0
    :: else
    fi
  }
}

/* rt_bell_arm */
inline arm()
{
  d_step {
    if
    :: ODD(count)
    :: else -> NEXT(count)
    fi;
    heard = count
  }
  d_step { sleepers++; armed = true }
}

inline sleep_on()
{
  d_step {
#ifdef FRESH_HEARD
    asleep[t] = true
#else
    asleep[t] = (count == heard)
#endif
  };
endS:
  if
  :: !asleep[t]
  :: over -> goto out
  fi;
  idle = 0;
  disarm()
}

proctype thread(byte t)
{
  byte b, heard;
  bool passed, armed, asked, moved, elsewhere, others, quiet;

  do
  :: take();
    do
    :: sweep();
      if
      :: moved ->
        disarm();
        idle = 0;
        if
        :: elsewhere -> break
        :: true
        fi
      :: else ->
        if
#ifndef NO_ASK
#define ASKS  (armed && others && !asked)
        :: ASKS -> asked = true; break
#else
#define ASKS  false
#endif
        :: armed && (quiet || !others) && !ASKS ->
          sleep_on();
          if
          :: elsewhere -> break
          :: else
          fi
        :: others && !quiet && !ASKS ->
          disarm();
          idle++;
          break
        :: else ->
          arm();
#ifdef NO_LOOK
          sleep_on()
#endif
        fi
      fi
    od;
    atomic { moved = false; elsewhere = false; others = false; quiet = false };
    give()
  od;
out: skip
}

proctype monitor()
{
  timeout ->
#ifdef REACH
  CHECK(END, done < 2 * THREADS);
#endif
  CHECK(STALL, done == 2 * THREADS);
  over = true
}

init {
  atomic {
    own[0] = true;
    stage[1] = 1;
    stage[THREADS - 1] = 1;
    done = THREADS - 1;
    run world(); run monitor(); run thread(0); run thread(1);
#if THREADS == 3
    run thread(2);
#endif
  }
}
