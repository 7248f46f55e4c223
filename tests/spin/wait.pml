/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Model of how ranks sleep and wake each other (runtime/heap/bell.c, rt_wait_on in runtime/wait.c; the credit of
 * backends/shm).  run.sh checks it and its mutants.
 *
 * Each ringer stores epochs 1, 2, ... into a word of its own, and rings after each store.  Each sleeper waits, epoch by
 * epoch, until all words have come that far.  All sleep on one bell: a futex `count`, and the number of `sleepers`.
 *
 * A ringer's core has a store buffer, as on x86: the store of the word reaches the memory some time later, while the
 * loads behind it are done at once.  What locks memory (a compare-and-swap, an addition) empties the buffer of its core
 * first; membarrier empties that of every ringer.  A sleeper's own stores are all such: it needs no buffer here.
 *
 * There are no time-outs here, so that a wake-up that is lost is a deadlock.  Properties, asserted by name:
 *
 *      PAY       nobody wakes others without having been asked to, and once only
 *      (and no deadlock: spin's "invalid end state")
 *
 * Variants:
 *
 *      FENCES         there is no membarrier, or ranks outnumber cores: ringers have a fence before the load
 *      CREDIT         ringers ring only if somebody has said that it wants this epoch, as a rank that starts does for
 *                     those that want to send to it; with FENCES they look for that behind the fence
 *      BOARD          ringers first look whether any thread of the node sleeps at all (runtime/heap/sleepers.c)
 *
 * Mutants, each with one rule broken.  run.sh names the properties that each violates.
 *
 *      NO_BARRIER     the sleeper does without membarrier (FENCES: the ringer loads)
 *      NO_LOOK        the sleeper does not look again once it has said that it sleeps
 *      LATE_SEEN      what the sleeper compares `count` with is read after that look
 *      LATE_SLEEPERS  the sleeper counts itself after that look
 *      EARLY_RING     the ringer rings before it stores
 *      NO_COUNT       the ringer wakes without changing `count`
 *      EARLY_COUNT    the ringer changes `count` before it looks whether somebody sleeps, and wakes in any case
 *      LATE_WANTED    CREDIT: the sleeper says what it wants at its last look only
 *      EARLY_WANTED   CREDIT, FENCES: the ringer looks for a wish before its fence
 *      LATE_BOARD     BOARD: the sleeper counts itself there after that look
 *      TORN_WANTED    CREDIT: the highest wish is found by a load and a store, not in one step
 *
 * What is one step.  Every load and every store that reaches the memory, every locked operation, membarrier, and each of
 * futex's operations (the kernel compares and sleeps under a lock).  Steps interleave freely.  REACH adds a claim that run.sh
 * expects to fail: END, that not all come to their ends.
 *
 * Not modelled: cores that reorder other things than a store and a load behind it (the acquires and releases in the
 * code forbid that), time-outs, signals: a sleeper that wakes for no reason looks again.
 */

#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef RINGERS
#define RINGERS 2
#endif
#ifndef SLEEPERS
#define SLEEPERS 1
#endif

#if (defined(LATE_WANTED) || defined(TORN_WANTED)) && !defined(CREDIT)
#error "this mutant needs CREDIT"
#endif
#if defined(LATE_BOARD) && !defined(BOARD)
#error "this mutant needs BOARD"
#endif
#if defined(EARLY_WANTED) && !(defined(CREDIT) && defined(FENCES))
#error "this mutant needs CREDIT and FENCES"
#endif

/* Always true, outside the state: they only give the assertions their names. */
hidden byte PAY = 1, END = 1;
#define CHECK(property, condition)  assert(property && (condition))

byte word[RINGERS];
byte buffer[RINGERS];                   /* a ringer's store that has not reached its word; 0: none */
byte count;
byte sleepers;
bool asleep[SLEEPERS];
#ifdef CREDIT
byte wanted[RINGERS];                   /* the highest epoch that somebody waits for */
#endif
#ifdef BOARD
byte board;                             /* the number of sleepers, as all ringers see it */
#endif
byte due, ends;                         /* ghosts; due: wakes that somebody has asked for */

#define DRAIN(r) \
  if \
  :: buffer[r] -> word[r] = buffer[r]; buffer[r] = 0 \
  :: else \
  fi

#if RINGERS == 2
#define MEMBARRIER  atomic { DRAIN(0); DRAIN(1) }
#else
#define MEMBARRIER  atomic { DRAIN(0) }
#endif

/* The store buffer of ringer r, which may be as slow as it likes. */
proctype memory(byte r)
{
end:
  do
  :: d_step { buffer[r] -> word[r] = buffer[r]; buffer[r] = 0 }
  :: ends == RINGERS + SLEEPERS -> break
  od
}

/* ---------------------------------------------------------------------------------------------
 * Ringers
 */

#define ODD(n)  ((n) % 2)

inline wake()
{
  d_step {
    CHECK(PAY, due);
    due--;
    asleep[0] = false;
    asleep[SLEEPERS - 1] = false
  }
}

/* be_ring and be_ring_sleepers */
inline ring(r)
{
#ifdef EARLY_COUNT
  d_step { DRAIN(r); count++ };
  wake();
#else
#if defined(FENCES) && !defined(NO_BARRIER)
  d_step { DRAIN(r) };
#endif
  n = sleepers;
  if
  :: n ->
    seen = count;
    if
    :: ODD(seen) ->
#ifdef NO_COUNT
      wake()
#else
      d_step {
        DRAIN(r);
        n = (count == seen);
        if
        :: n -> count++
        :: else
        fi
      }
      if
      :: n -> wake()
      :: else
      fi
#endif
    :: else
    fi
  :: else
  fi;
  d_step { n = 0; seen = 0 }
#endif
}

#ifdef CREDIT
#define RING(r) \
  LOOK_FENCE(r); \
  if \
  :: wanted[r] >= e -> ring(r) \
  :: else \
  fi
#if defined(FENCES) && !defined(EARLY_WANTED)
#define LOOK_FENCE(r)  d_step { DRAIN(r) }
#else
#define LOOK_FENCE(r)  skip
#endif
#else
#define RING(r) ring(r)
#endif

#ifdef BOARD
#define RING_IF_ANY(r) \
  n = board; \
  if \
  :: n -> RING(r) \
  :: else \
  fi
#else
#define RING_IF_ANY(r)  RING(r)
#endif

proctype ringer(byte r)
{
  byte e = 1, n, seen;

  do
  :: e <= EPOCHS ->
#ifdef EARLY_RING
    RING_IF_ANY(r);
    d_step { DRAIN(r); buffer[r] = e };
#else
    d_step { DRAIN(r); buffer[r] = e }; /* behind what the buffer holds */
    RING_IF_ANY(r);
#endif
    e++
  :: else -> break
  od;
  atomic {
    ends++;
#ifdef REACH
    CHECK(END, ends < RINGERS + SLEEPERS)
#endif
  }
}

/* ---------------------------------------------------------------------------------------------
 * Sleepers
 */

#ifdef CREDIT
#ifdef TORN_WANTED
#define WANT(r) \
  n = wanted[r]; \
  if \
  :: n < e -> wanted[r] = e \
  :: else \
  fi
#else
#define WANT(r) \
  d_step { \
    if \
    :: wanted[r] < e -> wanted[r] = e \
    :: else \
    fi \
  }
#endif
#ifdef LATE_WANTED
#define WANT_AT(r, last)  if :: last -> WANT(r) :: else fi
#else
#define WANT_AT(r, last)  WANT(r)
#endif
#else
#define WANT_AT(r, last)  skip
#endif

/* Looks at the words that have not been seen yet. */
inline look(last)
{
  k = 0;
  do
  :: k < RINGERS ->
    if
    :: word[k] >= e
    :: else -> there = false; WANT_AT(k, last)
    fi;
    k++
  :: else -> break
  od
}

proctype sleeper(byte s)
{
  byte e = 1, k, n, seen;
  bool there;

  do
  :: e <= EPOCHS ->
    there = true;
    look(false);
    if
    :: there -> e++
    :: else ->
#if defined(BOARD) && !defined(LATE_BOARD)
      board++;                          /* rt_sleepers_count */
#endif
      /* rt_bell_arm */
      seen = count;
      do
      :: ODD(seen) -> break
      :: else ->
        d_step {
          if
          :: count == seen -> count++; seen = count; due++
          :: else -> seen = count
          fi
        }
      od;
#ifndef LATE_SLEEPERS
      sleepers++;
#endif
#if !defined(FENCES) && !defined(NO_BARRIER)
      MEMBARRIER;
#endif

      there = true;
#ifdef NO_LOOK
      there = false;
#else
      look(true);
#endif
#ifdef LATE_SEEN
      seen = count;
#endif
#ifdef LATE_SLEEPERS
      sleepers++;
#endif
#ifdef LATE_BOARD
      board++;
#endif
      if
      :: there -> e++
      :: else ->
        /* rt_bell_sleep */
        d_step { asleep[s] = (count == seen) };
        !asleep[s]
      fi;
      sleepers--;
#ifdef BOARD
      board--;
#endif
      d_step { seen = 0; there = false; n = 0; k = 0 }
    fi
  :: else -> break
  od;
  atomic {
    ends++;
#ifdef REACH
    CHECK(END, ends < RINGERS + SLEEPERS)
#endif
  }
}

init {
  atomic {
    run memory(0); run ringer(0); run sleeper(0);
#if RINGERS == 2
    run memory(1); run ringer(1);
#endif
#if SLEEPERS == 2
    run sleeper(1);
#endif
  }
}
