/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starts that tell nothing but that they have begun (backends/shm/start.c), as a model for spin.
 *
 * Rank 0 sends a message by pull to rank 1, and both may copy its chunks (epoch.pml, SHARED).  Before each start a rank may be
 * bound to its other buffer.  Then the next start takes back what stands, and tells the peer where the buffer is, as does the one after
 * it.  From the third one on that stands: the ranks only store `started`.
 *
 * The words, and who writes them:
 *
 *      started[r]   rank r     the epoch that r started last
 *      stands[r]    rank r     the epoch from which on `started` says the rest: of rank 0 that its bytes may be read, of rank 1 that
 *                              rank 0 may copy; 0: it does not
 *      avail        rank 0     the epoch whose bytes may be read, `from` the buffer
 *      invited[i]   rank 1     the epoch, even or odd, in which rank 0 may copy, `to` the buffer
 *      done         rank 1     the epoch whose bytes have been read
 *      claimed      both       chunks that one end has taken, counted over all epochs
 *      helped       rank 0     chunks that rank 0 has copied, over all epochs
 *
 * Properties: DATA and WINDOW, as in epoch.pml: what rank 1 has after its epoch is that of the epoch; nobody touches a buffer outside
 * of its rank's epoch, or that is not bound.
 *
 * Mutants, with -D.  run.sh names the properties that each violates.
 *
 *      NO_TAKE_BACK     a start that tells its peer of another buffer leaves what stands
 *      LATE_TAKE_BACK   it takes it back after it has stored `started`
 *      FIRST_STANDS     what the first start after a rebind tells stands already, though the other invitation is older
 *      NO_STARTED       what stands holds before the peer has started
 *      ONE_LOAD         `stands` is not loaded again once the peer has started
 *
 * REACH adds the claims END, that not both ranks complete the last epoch, and BRIEF, that no message goes between two ranks that
 * have only stored `started`.  Both are expected to fail.
 */

#ifndef NC
#define NC      2               /* chunks of the message */
#endif
#ifndef EPOCHS
#define EPOCHS  6
#endif

hidden byte DATA = 1, WINDOW = 1, END = 1, BRIEF = 1;
#define CHECK(property, condition)  assert(property && (condition))
#ifdef REACH
#define REACHED(property, condition)  CHECK(property, condition)
#else
#define REACHED(property, condition)  skip
#endif

typedef Buffer {
  byte chunk[NC];
  byte window                   /* ghost: the epoch in [start, completion] of the rank that it is bound to, 0 outside */
}
typedef Rank {
  byte started, stands;
  bit at;                       /* the buffer that is bound */
  bit again;                    /* the last start would have let things stand */
  bit brief;                    /* ghost: the last start has stored `started` only */
  Buffer buffer[2]
}
Rank rank[2];
byte avail, done, invited[2], claimed, helped;
bit from, to[2];

/* Before a start: perhaps the other buffer. */
#define BIND(r) \
  if \
  :: rank[r].at = 1 - rank[r].at; bound = true \
  :: bound = false \
  fi

#ifdef NO_TAKE_BACK
#define EARLY(r)  skip
#define LATE(r)   skip
#elif defined(LATE_TAKE_BACK)
#define EARLY(r)  skip
#define LATE(r)   rank[r].stands = 0
#else
#define EARLY(r)  rank[r].stands = 0
#define LATE(r)   skip
#endif
#ifdef FIRST_STANDS
#define AGAIN(r)  true
#else
#define AGAIN(r)  rank[r].again
#endif

#define STARTED(r, only) \
  d_step { rank[r].started = e; rank[r].buffer[rank[r].at].window = e; rank[r].brief = only }

/* A start, which tells the peer what TELL says unless that stands. */
#define START(r, TELL) \
  if \
  :: rank[r].again && rank[r].stands && !bound -> STARTED(r, true) \
  :: else -> \
    rank[r].again = rank[r].again && !rank[r].stands && !bound; \
    EARLY(r); \
    STARTED(r, false); \
    LATE(r); \
    TELL; \
    if \
    :: AGAIN(r) -> rank[r].stands = e + 1 \
    :: else \
    fi; \
    rank[r].again = true \
  fi

/* An option of a loop: what the peer r has said stands for epoch e. */
#ifdef NO_STARTED
#define LOOK(r) \
  !holds && rank[r].stands && rank[r].stands <= e -> holds = true
#elif defined(ONE_LOAD)
#define LOOK(r) \
  !holds && rank[r].stands -> (rank[r].started >= e); holds = true
#else
#define LOOK(r) \
  !holds && rank[r].stands -> (rank[r].started >= e); holds = (rank[r].stands && rank[r].stands <= e)
#endif

#define CLAIM(taken)  d_step { (claimed < e * NC) -> claimed++; k = (taken) }
#define COPY(source, destination) \
  d_step { \
    CHECK(WINDOW, rank[0].buffer[source].window == e && rank[1].buffer[destination].window == e); \
    rank[1].buffer[destination].chunk[k] = rank[0].buffer[source].chunk[k] \
  }

#define FINISHED(r)  (rank[r].started == EPOCHS && rank[r].buffer[rank[r].at].window == 0)

/* The application overwrites both buffers of rank r, which are not in use. */
#define OVERWRITE(r, what) \
  d_step { \
    CHECK(WINDOW, !rank[r].buffer[0].window && !rank[r].buffer[1].window); \
    for (k : 0 .. NC - 1) { \
      rank[r].buffer[rank[r].at].chunk[k] = (what); \
      rank[r].buffer[1 - rank[r].at].chunk[k] = 255 \
    } \
  }

proctype sender()
{
  byte e = 1;
  byte k, own;                          /* chunks that this end has copied in the epoch */
  bit bound, holds;

  do
  :: e <= EPOCHS ->
    BIND(0);
    OVERWRITE(0, e);
    START(0, from = rank[0].at; avail = e);
    holds = false;
    do
    :: !holds && invited[e & 1] == e -> holds = true
    :: LOOK(1)
    :: holds -> break
    :: (done == e) -> break
    od;
    if
    :: holds ->
      do
      :: CLAIM(NC - 1 - own % NC); COPY(rank[0].at, to[e & 1]); helped++; own++
      :: else -> break
      od
    :: else
    fi;
    (done == e);
    d_step { own = 0; rank[0].buffer[rank[0].at].window = 0; e++ }
  :: else -> break
  od
}

proctype receiver()
{
  byte e = 1;
  byte k, own, theirs;                  /* theirs: chunks that the sender has copied in the epochs before */
  bit bound, holds;

  do
  :: e <= EPOCHS ->
    BIND(1);
    OVERWRITE(1, 254);
    START(1, to[e & 1] = rank[1].at; claimed = (e - 1) * NC; invited[e & 1] = e);
    holds = false;
    do
    :: holds -> break
    :: !holds && avail == e -> holds = true
    :: LOOK(0)
    od;
    REACHED(BRIEF, !(rank[0].brief && rank[1].brief && rank[0].started == e));
    do
    :: CLAIM(own % NC); COPY(from, rank[1].at); own++
    :: else -> break
    od;
    (helped >= theirs + NC - own);
    d_step { theirs = theirs + NC - own; own = 0 };
    done = e;
    d_step {
      rank[1].buffer[rank[1].at].window = 0;
      REACHED(END, !(FINISHED(0) && FINISHED(1)))
    }
    d_step {                            /* the application reads what it got */
      for (k : 0 .. NC - 1) { CHECK(DATA, rank[1].buffer[rank[1].at].chunk[k] == e) }
      e++
    }
  :: else -> break
  od
}

init {
  atomic { run sender(); run receiver() }
}
