/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Answers in the shared-memory backend (backends/shm/answer.c), as a model for spin.
 *
 * In each epoch rank 0 sends its buffer, and receives the answer in the same buffer, in place.  Rank 1 makes the answer of what it
 * receives and of data of its own.  Both messages go by pull (epoch.pml, SHARED).  Rank 0 invites rank 1 to store the answer before it
 * announces its own message.  So rank 1 may do either:
 *
 *      ahead     for each chunk: read it, make its answer, store that at rank 0.  Then it says that all chunks are claimed and copied,
 *                and announces the answer; its send is complete, whatever rank 0 does
 *      later     make all of the answer; then announce it, and both ends copy chunks until none is left
 *
 * The words, and who writes them:
 *
 *      started[r]   rank r     the epoch that r started last
 *      avail[m]     sender     the epoch whose data may be read from the sender of message m (0: that of rank 0; 1: its answer)
 *      done[m]      receiver   the epoch whose data has been copied
 *      invited[i]   rank 0     the epoch in which rank 1 may store the answer, or chunks of it, at rank 0
 *      claimed      both       chunks of the answer that one end has taken, counted over all epochs
 *      helped       rank 1     chunks of the answer that rank 1 has copied, over all epochs
 *
 * Properties: DATA, WINDOW and PEERS, as in epoch.pml: every chunk that is read or received is that of the epoch; nobody touches a
 * buffer outside of its rank's epoch; an epoch ends only when the peer has started the one before.
 *
 * Mutants, with -D.  run.sh names the properties that each violates.
 *
 *      LATE_INVITATION  rank 0 announces its message, and then invites
 *      NO_CLAIM         rank 1 stores all of the answer ahead, and does not say that its chunks are claimed
 *      NO_COUNT         rank 1 does not say that it has copied them
 *      EARLY_WORDS      `avail` of the answer and `done` may be visible before its last store. (One of them may: rank 0 awaits both.)
 *      SHIFTED          in place, but each element replaces the one behind that of which it is made: sm_answer_to has to refuse that
 *      NO_DONE          later: the send completes without waiting for `done`
 *
 * REACH adds the claim END, which is expected to fail, and the claim AHEAD, that no answer is stored ahead.
 */

#define NC      2               /* chunks of a message */
#ifndef EPOCHS
#define EPOCHS  3
#endif

/* What rank 0 sends in chunk k (0 .. NC - 1) of epoch e, and the answer to that. */
#define SENT(e, k)    (2 * ((e) * NC + (k)))
#define ANSWER(e, k)  (SENT(e, k) + 1)

hidden byte DATA = 1, WINDOW = 1, PEERS = 1, END = 1, AHEAD = 1;
#define CHECK(property, condition)  assert(property && (condition))

typedef Rank {
  byte started;
  byte window;                  /* ghost: the epoch in [start, completion], 0 outside */
  byte buf[NC]
}
Rank rank[2];
byte avail[2], done[2], invited[2];
byte claimed, helped;

#define IN_WINDOW(r, e)  CHECK(WINDOW, rank[r].window == (e))

#ifdef SHIFTED
#define PLACE(k)  (((k) + 1) % NC)
#else
#define PLACE(k)  (k)
#endif

/* One end copies chunk k of the answer from rank 1 to rank 0. */
#define COPY \
  d_step { IN_WINDOW(0, e); IN_WINDOW(1, e); rank[0].buf[PLACE(k)] = rank[1].buf[k] }
/* Rank 1 makes chunk k of the answer. */
#define MAKE \
  d_step { \
    IN_WINDOW(0, e); \
    IN_WINDOW(1, e); \
    CHECK(DATA, rank[0].buf[k] == SENT(e, k)); \
    rank[1].buf[k] = rank[0].buf[k] + 1 \
  }
#define INVITE  claimed = (e - 1) * NC; invited[e & 1] = e
#define CLAIM(chunk)  d_step { (claimed < e * NC) -> claimed++; k = (chunk) }

/* Rank 1 says that it has stored all of the answer. */
#ifdef NO_CLAIM
#define SAY  helped = helped + NC; avail[1] = e
#elif defined(NO_COUNT)
#define SAY  claimed = e * NC; avail[1] = e
#else
#define SAY  claimed = e * NC; helped = helped + NC; avail[1] = e
#endif

#define FINISHED(r)  (rank[r].started == EPOCHS && rank[r].window == 0)

#ifdef REACH
#define REACHED(property, condition)  CHECK(property, condition)
#else
#define REACHED(property, condition)  skip
#endif

#define START(r) \
  d_step { rank[r].started = e; rank[r].window = e }
#define COMPLETE(r) \
  d_step { \
    rank[r].window = 0; \
    CHECK(PEERS, rank[1 - r].started >= e - 1); \
    REACHED(END, !(FINISHED(0) && FINISHED(1))) \
  }

proctype asker()
{
  byte e = 1;
  byte k, own, theirs;                  /* chunks that this end has copied in the epoch, and the other in the epochs before */

  do
  :: e <= EPOCHS ->
    d_step {
      IN_WINDOW(0, 0);
      k = 0;
      do
      :: k < NC -> rank[0].buf[k] = SENT(e, k); k++
      :: else -> break
      od
    }
    START(0);
#ifdef LATE_INVITATION
    avail[0] = e;
    INVITE;
#else
    INVITE;
    avail[0] = e;
#endif
    (done[0] == e);
    (avail[1] == e);
    do
    :: CLAIM(own % NC); COPY; own++
    :: else -> break
    od;
    (helped >= theirs + NC - own);
    d_step { theirs = theirs + NC - own; own = 0 };
    done[1] = e;
    COMPLETE(0);
    d_step {                            /* the application reads what it got */
      IN_WINDOW(0, 0);
      k = 0;
      do
      :: k < NC -> CHECK(DATA, rank[0].buf[PLACE(k)] == ANSWER(e, k)); k++
      :: else -> break
      od;
      e++
    }
  :: else -> break
  od;
}

proctype maker()
{
  byte e = 1;
  byte k, own;

  do
  :: e <= EPOCHS ->
    START(1);
    (avail[0] == e);
    k = 0;
    if
    :: (invited[e & 1] == e) ->         /* ahead */
      do
      :: k < NC ->
        MAKE;
#ifdef EARLY_WORDS
        if
        :: k == NC - 1 -> SAY; done[0] = e
        :: true
        fi;
#endif
        COPY;
        k++
      :: else -> break
      od;
      REACHED(AHEAD, false);
      if
      :: avail[1] == e
      :: else -> SAY
      fi;
      done[0] = e
    :: true ->                          /* later: it could not have reached the buffer */
      do
      :: k < NC -> MAKE; k++
      :: else -> break
      od;
      done[0] = e;
      avail[1] = e;
      do
      :: CLAIM(NC - 1 - own % NC); COPY; helped++; own++
      :: else -> break
      od;
      own = 0;
#ifndef NO_DONE
      (done[1] == e)
#endif
    fi;
    COMPLETE(1);
    d_step {                            /* the application overwrites its buffer */
      IN_WINDOW(1, 0);
      k = 0;
      do
      :: k < NC -> rank[1].buf[k] = 255; k++
      :: else -> break
      od;
      e++
    }
  :: else -> break
  od;
}

init {
  atomic { run asker(); run maker() }
}
