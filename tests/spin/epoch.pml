/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The epoch protocol of the shared-memory backend, as a model for spin.
 *
 * One persistent request is started EPOCHS times on three ranks.  Each rank does, for e = 1, 2, 3:
 *
 *      overwrite the user buffer;  start;  wait
 *
 * Start never waits for another rank.  What keeps a fast rank from running away is completion, and
 * what keeps the data right are words that have one writer each and only grow, so that nothing is
 * ever re-armed and an early arrival of the next epoch cannot be lost.
 *
 * The words, and who writes them:
 *
 *      started[r]    rank r            the epoch that r started last
 *      slot[i].seq   sender            EAGER: the epoch whose payload slot i holds; LOAN: twice that, and one more if the
 *                                      payload is where the data may be read
 *      avail         sender            RENDEZVOUS, SHARED, LEARNED: the epoch whose data may be read from the sender
 *      done          receiver          RENDEZVOUS, SHARED, LEARNED, LOAN: the epoch whose data has been copied
 *      invited[i]    receiver          SHARED: the epoch in which the sender may copy as well, with where to: two of them,
 *                                      because the receiver may invite for the next epoch before the sender has seen its own
 *      claimed       both              SHARED: chunks that one end has taken, counted over all epochs
 *      helped        sender            SHARED: chunks that the sender has copied, over all epochs
 *      produced      sender            STAGED, LEARNED: chunks written, counted over all epochs
 *      consumed      receiver          STAGED, LEARNED: chunks read, counted over all epochs
 *      way           receiver          LEARNED: STAGED or RENDEZVOUS, once it has chosen
 *
 * Choices, all with -D:
 *
 *      TOPO   TREE (0 -> 1, 0 -> 2) or CHAIN (0 -> 1 -> 2, so that rank 1 relays)
 *      KIND   EAGER, RENDEZVOUS, SHARED, STAGED, LEARNED or LOAN: how a message travels. LOAN: in each epoch the sender
 *             copies as in EAGER, or the receiver as in RENDEZVOUS, as the sender chooses. LEARNED: the first epoch as STAGED, the
 *             second as RENDEZVOUS, the later ones as the receiver chooses in the second, before it says `done`; epochs 4 and 5
 *             are such a trial again
 *      NC     chunks of a STAGED (3 if not given), SHARED or LEARNED message (2)
 *      MULTICAST EAGER, STAGED, both with TREE: the messages share the slots, which the first send fills
 *      EPOCHS 3 if not given
 *
 * Properties.  Each has a name, which stands in the assertion and so in what pan prints:
 *
 *      DATA      epoch e delivers epoch e's data, whole, to every receiver, and leaves the root's as
 *                it was
 *      WINDOW    nobody, the rank's own ops and the application included, touches a user buffer on
 *                the wrong side of [start e, completion e]
 *      PEERS     epoch e completes on a rank only when every peer that it exchanges messages with
 *                has started e-1
 *      (and no deadlock: spin's "invalid end state")
 *
 * Mutants, each the protocol with one rule broken.  run.sh names the properties that each violates.
 *
 *      NO_START       all others          the recv does not wait for its own rank's start
 *      NO_CREDIT      EAGER, STAGED, LEARNED, LOAN  the send does not look at the receiver's `started`
 *      FEW_SLOTS      EAGER, LOAN         two slots instead of three
 *      OWN_RING       STAGED, MULTICAST      the first send looks at the `consumed` of its own receiver only
 *      NO_DONE        RENDEZVOUS, SHARED, LOAN  the send completes without waiting for `done`
 *      NO_INVITATION  SHARED              the sender copies before it sees `invited`
 *      ONE_INVITATION SHARED              one place for invitations instead of two
 *      NO_HELPED      SHARED              the receiver does not wait for the sender's chunks
 *      TORN_CLAIM     SHARED              a chunk is claimed by a load and a store, not in one step
 *      RELAXED_HELP   SHARED              helped: may be visible before the chunk's last store
 *      LATE_CHOICE    LEARNED             the receiver chooses after it has said `done`
 *      EPOCH_COUNT    LEARNED             chunks are counted as if all epochs were staged
 *      STALE_CHOICE   LEARNED             the sender keeps the first choice
 *      NO_RING        STAGED              the send does not look at `consumed`
 *      RELAXED_STORE  EAGER, STAGED, LOAN seq, produced: may be visible before the last payload store
 *      RELAXED_LOAD   EAGER, RENDEZVOUS, STAGED  payload may be read before seq, avail, produced is seen
 *      RELAXED_DONE   RENDEZVOUS, STAGED, LOAN  done, consumed: may be visible before the last payload read
 *
 * Reachability, to show that the model is not vacuous: REACH adds two claims that run.sh expects to
 * fail, the first always, the second where a message is buffered in time (EAGER, LOAN, and STAGED with at
 * most D chunks):
 *
 *      END       not all ranks complete the last epoch
 *      AHEAD     the root never completes an epoch that rank 1 has not started
 *
 * What is one step.  Every load-acquire and store-release of a word, and every copy of one payload
 * cell, is a step of its own, and steps interleave freely (sequential consistency); the RELAXED
 * mutants add the reorderings that the acquires and releases forbid.  A payload has two cells, which
 * is enough to tear it.  d_step joins only
 *
 *   - an assertion, or the ghost `window`, with the one step that it speaks of;
 *   - the load and the store of one cell's copy.  A rank's user buffer is written by its own ops
 *     alone, so the load that matters to others is the one from a slot or a peer, the store that
 *     matters is the one into a slot; the other half can be put at the same moment;
 *   - the application's overwrite of its buffer: a peer that looked in the middle of it would be
 *     outside of the rank's window, and WINDOW fails on that access whatever it reads;
 *   - a process's own loop counters.
 *
 * Every op is a process of its own.  That is more than the runtime does: a rank's thread or a
 * communication core polls its ops in turn, never blocking in one of them, and so yields some of the
 * interleavings here.  Blocking guards stand for polling.  Every loop counts up to a bound, so the
 * graph of states has no cycle: with no invalid end state, every run ends with all processes at
 * their ends, which is with EPOCHS epochs completed on every rank.
 *
 * Not modelled: words that wrap around, several executors for one op, ranks that die.
 */

#define TREE        1
#define CHAIN       2
#define EAGER       1
#define RENDEZVOUS  2
#define STAGED      3
#define SHARED      4
#define LEARNED     5
#define LOAN        6

#ifndef TOPO
#define TOPO TREE
#endif
#ifndef KIND
#define KIND EAGER
#endif

#define RANKS     3
#define MESSAGES  2
#ifndef EPOCHS
#define EPOCHS    3
#endif
#define GARBAGE   255

/* Message m goes from SRC(m) to DST(m). */
#if TOPO == TREE
#define SRC(m)  0
#elif TOPO == CHAIN
#define SRC(m)  (m)
#else
#error "TOPO is TREE or CHAIN"
#endif
#define DST(m)  ((m) + 1)

#if KIND == STAGED
#ifndef NC
#define NC 3
#endif
#define SLOTS     2             /* D, the depth of the ring */
#elif KIND == SHARED || KIND == LEARNED
#ifndef NC
#define NC 2
#endif
#define SLOTS     2
#elif KIND == EAGER || KIND == RENDEZVOUS || KIND == LOAN
#ifdef NC
#error "NC is for STAGED, SHARED and LEARNED"
#endif
#define NC        1
#ifdef FEW_SLOTS
#define SLOTS     2
#else
#define SLOTS     3
#endif
#else
#error "KIND is EAGER, RENDEZVOUS, SHARED, STAGED, LEARNED or LOAN"
#endif

#define DIRECT  (KIND == RENDEZVOUS || KIND == SHARED)
#define SLOTTED (KIND == EAGER || KIND == LOAN)
#if KIND == LEARNED && (defined(NO_START) || defined(NO_DONE) || defined(RELAXED_STORE) || defined(RELAXED_LOAD) || defined(RELAXED_DONE)) \
    || KIND != LEARNED && (defined(LATE_CHOICE) || defined(EPOCH_COUNT) || defined(STALE_CHOICE)) \
    || defined(NO_CREDIT) && DIRECT || defined(FEW_SLOTS) && !SLOTTED || defined(NO_DONE) && !DIRECT && KIND != LOAN \
    || defined(NO_RING) && KIND != STAGED || defined(RELAXED_STORE) && DIRECT || defined(RELAXED_LOAD) && (KIND == SHARED || KIND == LOAN) \
    || defined(RELAXED_DONE) && (KIND == EAGER || KIND == SHARED) \
    || (defined(NO_INVITATION) || defined(ONE_INVITATION) || defined(NO_HELPED) || defined(TORN_CLAIM) || defined(RELAXED_HELP)) && KIND != SHARED
#error "this mutant does not apply to this KIND"
#endif
#if defined(MULTICAST) && (KIND != EAGER && KIND != STAGED || TOPO != TREE) || defined(OWN_RING) && (!defined(MULTICAST) || KIND != STAGED)
#error "MULTICAST is for EAGER or STAGED with TREE, OWN_RING for STAGED with MULTICAST"
#endif

/* Chunk k (1 .. NC) of epoch e, counted over all epochs from 1.  It is also what the two cells of
 * that chunk hold; with one chunk an epoch it is the epoch. */
#define CHUNK(e, k)  (((e) - 1) * NC + (k))

/* Cell c (0 or 1) of chunk k in a user buffer. */
#define AT(k, c)     (2 * ((k) - 1) + (c))

/* Always true, outside the state: they only give the assertions their names. */
hidden byte DATA = 1, WINDOW = 1, PEERS = 1, END = 1, AHEAD = 1;
#define CHECK(property, condition)  assert(property && (condition))

/* ---------------------------------------------------------------------------------------------
 * Ranks
 */

typedef Rank {
  byte started;
  byte window;                  /* ghost: the epoch in [start, completion], 0 outside */
  byte buf[2 * NC]              /* the user buffer */
}
Rank rank[RANKS];

/* ---------------------------------------------------------------------------------------------
 * Messages
 */

typedef Slot {
  byte cell[2];
#if SLOTTED
  byte seq
#endif
}

typedef Message {
#if SLOTTED
  Slot slot[SLOTS];             /* in the receiver's memory */
#if KIND == LOAN
  byte done;                    /* in the sender's memory */
#endif
#elif DIRECT || KIND == LEARNED
  byte avail;                   /* in the receiver's memory */
  byte done;                    /* in the sender's memory */
#if KIND == LEARNED
  byte way;                     /* in the sender's memory */
#endif
#if KIND == SHARED
  byte helped;                  /* in the receiver's memory */
  byte invited[2];              /* in the sender's memory */
  byte to[2];                   /* there, too: the epoch whose location it is */
  byte claimed;                 /* in the sender's memory; the only word that both write */
#endif
#endif
#if KIND == STAGED || KIND == LEARNED
  Slot slot[SLOTS];             /* in the receiver's memory */
  byte produced;                /* in the receiver's memory */
  byte consumed;                /* in the sender's memory */
#endif
  byte sent;                    /* the epoch whose send is complete; private to the sender */
  byte received                 /* the epoch whose recv is complete; private to the receiver */
}
Message msg[MESSAGES];

#if SLOTTED
#define SLOT(e, k)  ((e) % SLOTS)
#else
#define SLOT(e, k)  (COUNT(e, k) % SLOTS)
#endif

/* The number of chunk k in the ring: a process counts the chunks of those epochs that are staged. */
#if KIND == LEARNED && !defined(EPOCH_COUNT)
#define COUNT(e, k)  (staged + (k))
#else
#define COUNT(e, k)  CHUNK(e, k)
#endif

/* The message whose slots hold message m. */
#ifdef MULTICAST
#define HOME(m)  0
#else
#define HOME(m)  (m)
#endif

#define IN_WINDOW(r, e)  CHECK(WINDOW, rank[r].window == (e))

/* The sender copies cell c of chunk k from its user buffer into the slot. */
#define PUT(c) \
  d_step { \
    IN_WINDOW(SRC(m), e); \
    msg[HOME(m)].slot[SLOT(e, k)].cell[c] = rank[SRC(m)].buf[AT(k, c)] \
  }

/* The receiver copies cell c of chunk k into its user buffer: from the slot, or right from the sender's
 * user buffer. (SHARED: the sender does the same.) */
#define GET_DIRECT(c) \
  d_step { \
    IN_WINDOW(SRC(m), e); \
    IN_WINDOW(DST(m), e); \
    rank[DST(m)].buf[AT(k, c)] = rank[SRC(m)].buf[AT(k, c)] \
  }
#define GET_SLOT(c) \
  d_step { \
    IN_WINDOW(DST(m), e); \
    rank[DST(m)].buf[AT(k, c)] = msg[HOME(m)].slot[SLOT(e, k)].cell[c] \
  }
#if DIRECT
#define GET(c)  GET_DIRECT(c)
#else
#define GET(c)  GET_SLOT(c)
#endif

/* The credit of EAGER and STAGED: the receiver has started e-1.  PEERS for the sender follows.  An EAGER send completes
 * with it, and begins without: the one before had it, so the receiver has started e-2 by then, and completed e-3,
 * which was in the slot of e.  In STAGED the ring guards the
 * slots, and the credit is there for PEERS, in short messages: the last chunk of e waits until chunk
 * e*NC - D is consumed, which is a chunk of e-1 or later, so that the credit says nothing new, if
 * 2*NC > D.  (run.sh shows both sides: NC=1 fails without the credit, NC=2 and NC=3 do not.) */
#ifdef NO_CREDIT
#define CREDIT  true
#elif defined(MULTICAST) && KIND == STAGED
#define CREDIT  (rank[DST(0)].started >= e - 1 && rank[DST(1)].started >= e - 1)
#else
#define CREDIT  (rank[DST(m)].started >= e - 1)
#endif

/* PUBLISH says that chunk k is there, ARRIVED sees it, RELEASE says that the receiver is through
 * with it. */
#if KIND == EAGER
#define PUBLISH  msg[HOME(m)].slot[SLOT(e, k)].seq = e
#define ARRIVED  (msg[HOME(m)].slot[SLOT(e, k)].seq == e)
#elif DIRECT
#define PUBLISH  msg[m].avail = e
#define ARRIVED  (msg[m].avail == e)
#define RELEASE  msg[m].done = e
#elif KIND == LOAN
#define SEQ      msg[m].slot[SLOT(e, k)].seq
#define ARRIVED  (SEQ / 2 == e)
#define RELEASE  msg[m].done = e
#else
#define PUBLISH  msg[HOME(m)].produced = COUNT(e, k)
#define ARRIVED  (msg[HOME(m)].produced >= COUNT(e, k))
#define RELEASE  msg[m].consumed = COUNT(e, k)
#endif

/* The room for chunk k in the ring.  (The credit alone would do if 2*NC <= D.) */
#ifdef NO_RING
#define ROOM  true
#elif defined(MULTICAST) && !defined(OWN_RING)
#define ROOM  (msg[0].consumed >= COUNT(e, k) - SLOTS && msg[1].consumed >= COUNT(e, k) - SLOTS)
#else
#define ROOM  (msg[m].consumed >= COUNT(e, k) - SLOTS)
#endif

/* LEARNED: the way of epoch e, where the receiver's choice is loaded from `from`. */
#define CHOOSES  (e == 2 || e == 5)
#define WAY(from)  (e == 1 || e == 4 -> STAGED : (CHOOSES -> RENDEZVOUS : (from)))

/* The receiver chooses in the second epoch of a trial. */
inline CHOOSE()
{
  if
  :: CHOOSES -> chosen = RENDEZVOUS; msg[m].way = chosen
  :: CHOOSES -> chosen = STAGED; msg[m].way = chosen
  :: else
  fi
}

/* An end takes a chunk of the epoch: the receiver from the first on, the sender from the last.  (Only mutants
 * take more than NC.) */
#ifdef TORN_CLAIM
#define CLAIM(chunk) \
  d_step { (msg[m].claimed < e * NC) -> k = msg[m].claimed + 1 }; \
  d_step { msg[m].claimed = k; k = (chunk) }
#else
#define CLAIM(chunk) \
  d_step { (msg[m].claimed < e * NC) -> msg[m].claimed++; k = (chunk) }
#endif
#ifdef ONE_INVITATION
#define INVITATION(e)  0
#else
#define INVITATION(e)  ((e) & 1)
#endif
#ifdef NO_INVITATION
#define INVITED  true
#else
#define INVITED  (msg[m].invited[INVITATION(e)] == e); CHECK(DATA, msg[m].to[INVITATION(e)] == e)
#endif
#define INVITE \
  msg[m].claimed = (e - 1) * NC; msg[m].to[INVITATION(e)] = e; msg[m].invited[INVITATION(e)] = e

/* ---------------------------------------------------------------------------------------------
 * The send op of message m
 */

#if TOPO == CHAIN
#define SEND_DEPENDENCIES  (m == 0 || msg[0].received == e)     /* the relay */
#else
#define SEND_DEPENDENCIES  true
#endif

proctype send(byte m)
{
  byte e = 1;
  byte k = 1;
#if KIND == SHARED
  byte own;                             /* chunks that the sender has copied in this epoch */
#elif KIND == LEARNED
  byte staged;                          /* chunks of the staged epochs before */
  byte way;
#ifdef STALE_CHOICE
  byte first;
#endif
#endif

  do
  :: e <= EPOCHS ->
    (rank[SRC(m)].started == e && SEND_DEPENDENCIES);

#if KIND == LEARNED
#ifdef STALE_CHOICE
    if
    :: e == 3 -> first = msg[m].way
    :: else
    fi;
    way = WAY(first);
#else
    way = WAY(msg[m].way);              /* the send of epoch 2 or 5 has seen `done`, which follows the choice */
#endif
    if
    :: way == RENDEZVOUS -> msg[m].avail = e; (msg[m].done == e)
    :: else ->
      CREDIT;
      do
      :: k <= NC -> ROOM; PUT(0); PUT(1); PUBLISH; k++
      :: else -> break
      od;
      staged = staged + NC
    fi;
#elif KIND == LOAN
    if
    :: SEQ = 2 * e + 1                  /* the user buffer is stable until this send completes */
#ifndef NO_DONE
      ; (msg[m].done == e)
#endif
    :: PUT(0); PUT(1); SEQ = 2 * e; CREDIT
#ifdef RELAXED_STORE
    :: PUT(0); SEQ = 2 * e; PUT(1); CREDIT
#endif
    fi;
#elif KIND == SHARED
    PUBLISH;                            /* the user buffer is stable until this send completes */
    INVITED;
    do
    :: CLAIM(NC - own % NC);
      if
      :: GET(0); GET(1); msg[m].helped++
#ifdef RELAXED_HELP
      :: GET(0); msg[m].helped++; GET(1)
#endif
      fi;
      own++
    :: else -> break
    od;
    own = 0;
#ifndef NO_DONE
    (msg[m].done == e);
#endif
#elif KIND == RENDEZVOUS
    PUBLISH;                            /* the user buffer is stable until this send completes */
#ifndef NO_DONE
    (msg[m].done == e);
#endif
#else
#ifdef MULTICAST
    if
#if KIND == STAGED
    :: m == 0 -> CREDIT
#else
    :: m == 0
#endif
    :: else -> k = NC; ARRIVED; k++     /* one send has put the bytes there for both, and no other rank has to see that */
    fi;
#elif KIND != EAGER
    CREDIT;
#endif
    do
    :: k <= NC ->
#if KIND == STAGED
      ROOM;
#endif
      if
      :: PUT(0); PUT(1); PUBLISH
#ifdef RELAXED_STORE
      :: PUT(0); PUBLISH; PUT(1)
#endif
      fi;
      k++
    :: else -> break
    od;
#if KIND == EAGER
    CREDIT;
#endif
#endif

    msg[m].sent = e;
    d_step { e++; k = 1 }
  :: else -> break
  od
}

/* ---------------------------------------------------------------------------------------------
 * The recv op of message m
 */

proctype recv(byte m)
{
  byte e = 1;
  byte k = 1;
#if KIND == SHARED
  byte own;                             /* chunks that the receiver has copied in this epoch */
  byte theirs;                          /* that the sender has copied in the epochs before */
#elif KIND == LEARNED
  byte staged;                          /* chunks of the staged epochs before */
  byte chosen;
#endif

  do
  :: e <= EPOCHS ->
#ifndef NO_START
    (rank[DST(m)].started == e);
#endif

#if KIND == LEARNED
    if
    :: WAY(chosen) == RENDEZVOUS ->
      (msg[m].avail == e);
#ifndef LATE_CHOICE
      CHOOSE();
#endif
      do
      :: k <= NC -> GET_DIRECT(0); GET_DIRECT(1); k++
      :: else -> break
      od;
      msg[m].done = e;
#ifdef LATE_CHOICE
      CHOOSE()
#endif
    :: else ->
      do
      :: k <= NC -> ARRIVED; GET_SLOT(0); GET_SLOT(1); RELEASE; k++
      :: else -> break
      od;
      staged = staged + NC
    fi;
#elif KIND == LOAN
    ARRIVED;
    if
    :: SEQ & 1 -> GET_DIRECT(0);
#ifdef RELAXED_DONE
      if
      :: GET_DIRECT(1); RELEASE
      :: RELEASE; GET_DIRECT(1)
      fi
#else
      GET_DIRECT(1); RELEASE
#endif
    :: else -> GET_SLOT(0); GET_SLOT(1)
    fi;
#elif KIND == SHARED
    if
    :: INVITE; ARRIVED
    :: ARRIVED; INVITE                  /* a message that is reduced, or whose receiver has helpers */
    fi;
    do
    :: CLAIM(own % NC + 1); GET(0); GET(1); own++
    :: else -> break
    od;
#ifdef NO_HELPED
    true;
#else
    (msg[m].helped >= theirs + NC - own);
#endif
    d_step { theirs = theirs + NC - own; own = 0 };
    RELEASE;
#else
    do
    :: k <= NC ->
      if
      :: ARRIVED; GET(0);
#ifdef RELAXED_DONE
        if
        :: GET(1)
        :: RELEASE; GET(1)
        fi
#else
        GET(1)
#endif
#ifdef RELAXED_LOAD
      :: GET(0); ARRIVED; GET(1)
#endif
      fi;
#if KIND != EAGER
      RELEASE;                          /* EAGER needs none: `started` of a later epoch says it */
#endif
      k++
    :: else -> break
    od;
#endif

    msg[m].received = e;
    d_step { e++; k = 1 }
  :: else -> break
  od
}

/* ---------------------------------------------------------------------------------------------
 * The application on rank r
 */

#define OPS_DONE(m)      ((SRC(m) != r || msg[m].sent == e) && (DST(m) != r || msg[m].received == e))
#define PEER_STARTED(m)  ((SRC(m) != r || rank[DST(m)].started >= e - 1) && (DST(m) != r || rank[SRC(m)].started >= e - 1))
#define FINISHED(r)      (rank[r].started == EPOCHS && rank[r].window == 0)

proctype application(byte r)
{
  byte e = 1;
  byte k = 1;

  do
  :: e <= EPOCHS ->
    d_step {                            /* the data of epoch e at the root, a scribble elsewhere */
      IN_WINDOW(r, 0);
      do
      :: k <= NC ->
        rank[r].buf[AT(k, 0)] = (r == 0 -> CHUNK(e, k) : GARBAGE);
        rank[r].buf[AT(k, 1)] = (r == 0 -> CHUNK(e, k) : GARBAGE);
        k++
      :: else -> break
      od;
      k = 1
    }

    d_step { rank[r].started = e; rank[r].window = e }          /* start */

    d_step {                                                    /* wait returns */
      (OPS_DONE(0) && OPS_DONE(1));
      rank[r].window = 0;
      CHECK(PEERS, PEER_STARTED(0) && PEER_STARTED(1));
#ifdef REACH
      CHECK(AHEAD, !(r == 0 && e > 1 && rank[1].started < e));
      CHECK(END, !(FINISHED(0) && FINISHED(1) && FINISHED(2)));
#endif
    }

    d_step {                            /* the application reads what it got */
      IN_WINDOW(r, 0);
      do
      :: k <= NC ->
        CHECK(DATA, rank[r].buf[AT(k, 0)] == CHUNK(e, k) && rank[r].buf[AT(k, 1)] == CHUNK(e, k));
        k++
      :: else -> break
      od;
      k = 1;
      e++
    }
  :: else -> break
  od
}

init {
  atomic {
    run application(0); run application(1); run application(2);
    run send(0); run send(1);
    run recv(0); run recv(1)
  }
}
