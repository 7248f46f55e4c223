#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks five protocols with spin: that of epochs (epoch.pml), of answers in it (answer.pml), and of starts that tell nothing
# (standing.pml), that of sleeping (wait.pml), and that by which the threads of a communication core take turns (baton.pml). Each
# keeps its properties, every mutant breaks exactly the properties that it should, and no case holds only because nothing happens.
#
# Prints a line for each case, `ok NAME` or `FAIL NAME why`, then a summary. The exit status is 0, 1, or 77 without spin or gcc.
# To see how a case fails, run this in a copy of this directory, with the program in $M and the case's -D options in $D:
#     spin $D -a $M && gcc -DSAFETY -o pan pan.c && ./pan && spin $D -t -p -g $M

# shellcheck disable=SC2086  # lists of options without blanks in them are split on purpose
set -eu
export LC_ALL=C

for tool in spin gcc; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parallel=$(nproc)
tmp=$(mktemp -d)
export TMPDIR=$tmp                      # the compiler's own files too
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap clean_up EXIT

clean_up() {
  set +e
  trap '' INT TERM HUP
  # shellcheck disable=SC2046
  kill $(jobs -p) 2>/dev/null
  wait
  rm -rf "$tmp"
}

# bounded COMMAND...: at most 60 s, and stopped when the case is (the trap in verify).
child=
bounded() {
  timeout 60 "$@" &
  child=$!
  wait $child
}

# search DEFINES...: the whole state space, going on after violations unless `enough` is 1.  Leaves pan's report in
# pan.out and in `report`, and in `why` the reason if there is no such report or it is not of the whole.
search() {
  bounded spin ${cpp:+"$cpp"} "$@" -a model.pml >spin.out 2>&1 || { why="spin: $(tail -n 1 spin.out)"; return; }
  bounded $compiler -w -DSAFETY -DMEMLIM=2048 -o pan pan.c >gcc.out 2>&1 || {
    why="gcc: $(tail -n 1 gcc.out)"
    return
  }
  bounded ./pan -w$hash -c$enough >pan.out 2>&1 || { why="pan ends with status $?"; return; }
  report=$(cat pan.out)$'\n'
  [[ $report == *'errors: '[0-9]* ]] || { why="pan gives no verdict"; return; }
  [ $enough = 0 ] || is_clean || return 0
  if [[ $report =~ max\ search\ depth\ too\ small|[Ss]earch\ not\ completed|MEMLIM|out\ of\ memory ]]; then
    why="search not complete: ${BASH_REMATCH[0]}"
  fi
}
is_clean() { [[ $report == *'errors: 0'$'\n'* ]]; }

# The names of the properties that pan reports as violated, A,B,C; what else it reports, in its own
# words.
violated() {
  sed -n -e '/^pan:[0-9][0-9]*: /!d' -e 's///' -e 's/^assertion violated (\([A-Z]*\)&&.*/\1/' \
    -e 's/^invalid end state.*/DEADLOCK/' -e p pan.out | sort -u | paste -s -d ,
}

# judge NAME EXPECTED DEFINES...: prints the case's line, of the model in $model.
judge() {
  local name=$1 expected=$2 why='' found='' report=''
  shift 2
  cp "$here/$model.pml" model.pml
  search "$@"
  if [ -z "$why" ]; then
    is_clean || found=$(violated)
    if [ "${found:-none}" != "$expected" ]; then
      why="violates ${found:-none}, expected $expected"
    elif [ "$expected" = none ] && ! is_clean; then
      why="pan counts $(grep -o 'errors: [0-9]*' pan.out)"
    elif [ "$expected" = none ] && [ "$(grep -c '^	(0 of [0-9]* states)' pan.out)" != "$(grep -Ec '^(proctype|init) ' model.pml)" ]; then
      why="part of the model is never executed"
    fi
  fi
  if [ -z "$why" ]; then echo "ok $name"; else echo "FAIL $name $why"; fi
}

names=()
printed=0
passed=0
failed=0

# Prints, in the order of the cases, the lines that are there.
print_lines() {
  while [ $printed -lt ${#names[@]} ] && [ -e "$tmp/$printed.line" ]; do
    read -r line <"$tmp/$printed.line"
    echo "$line"
    case $line in
    ok\ *) passed=$((passed + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    printed=$((printed + 1))
  done
}

# verify NAME EXPECTED DEFINES...: EXPECTED is none or the properties that are violated, sorted.
verify() {
  local i=${#names[@]}
  while [ "$(jobs -rp | wc -l)" -ge "$parallel" ]; do wait -n || :; done
  print_lines
  names+=("$1")
  {
    trap 'kill $child 2>/dev/null; wait; exit 143' TERM HUP
    mkdir "$tmp/$i"
    cd "$tmp/$i"
    judge "$@" >line || echo "FAIL $1 run.sh: status $?" >line
    mv line "$tmp/$i.line"
    cd "$tmp"
    rm -rf "${tmp:?}/$i"
  } &
}

enough=0 # violations; 0: all
hash=20
compiler=$(command -v tcc || echo gcc -O0) # most cases are checked faster than a better checker is compiled
case $compiler in *tcc) cpp='-Ptcc -E -x c' ;; *) cpp= ;; esac # of spin, which else starts gcc
model=epoch
for topo in ${TOPOS:-TREE CHAIN}; do
  t=${topo,,}
  eager="-DTOPO=$topo -DKIND=EAGER -DEPOCHS=4" # of which two share a slot
  rendezvous="-DTOPO=$topo -DKIND=RENDEZVOUS"
  shared="-DTOPO=$topo -DKIND=SHARED"
  staged="-DTOPO=$topo -DKIND=STAGED"
  learned="-DTOPO=$topo -DKIND=LEARNED"
  loan="-DTOPO=$topo -DKIND=LOAN -DEPOCHS=4"

  # The protocol.
  verify $t-eager none $eager
  verify $t-rendezvous none $rendezvous
  verify $t-shared none $shared -DEPOCHS=2
  verify $t-shared-nc1 none $shared -DNC=1
  for nc in 1 2 3; do
    verify $t-staged-nc$nc none $staged -DNC=$nc
  done
  verify $t-learned none $learned
  verify $t-loan none $loan

  # All ranks reach the end of the last epoch, and where a message is buffered in time the root does
  # not wait for the same epoch of its receiver.
  verify $t-eager-reach AHEAD,END $eager -DREACH
  verify $t-rendezvous-reach END $rendezvous -DREACH
  verify $t-shared-reach END $shared -DEPOCHS=2 -DREACH
  verify $t-staged-nc1-reach AHEAD,END $staged -DNC=1 -DREACH
  verify $t-staged-nc2-reach AHEAD,END $staged -DNC=2 -DREACH
  verify $t-staged-nc3-reach END $staged -DNC=3 -DREACH
  verify $t-learned-reach AHEAD,END $learned -DREACH
  verify $t-loan-reach AHEAD,END $loan -DREACH

  # Mutants.  Without credit an eager sender overwrites a slot that is still unread (DATA), or the
  # receiver waits for an epoch that is gone (DEADLOCK), and it runs away (PEERS); with two slots the
  # credit still stops it.
  verify $t-eager-NO_CREDIT DATA,DEADLOCK,PEERS $eager -DNO_CREDIT
  verify $t-eager-FEW_SLOTS DATA,DEADLOCK $eager -DFEW_SLOTS
  verify $t-eager-RELAXED_STORE DATA $eager -DRELAXED_STORE
  verify $t-eager-RELAXED_LOAD DATA $eager -DRELAXED_LOAD

  # The receiver reads a buffer that the sender has taken back (WINDOW); without any wait for it the
  # sender also runs away and `avail` skips epochs.
  verify $t-rendezvous-NO_DONE DATA,DEADLOCK,PEERS,WINDOW $rendezvous -DNO_DONE
  verify $t-rendezvous-RELAXED_LOAD DATA,WINDOW $rendezvous -DRELAXED_LOAD
  verify $t-rendezvous-RELAXED_DONE DATA,WINDOW $rendezvous -DRELAXED_DONE

  # Both ends copy.  One epoch suffices to break the mutants, and keeps them small.
  verify $t-shared-NO_DONE WINDOW $shared -DEPOCHS=1 -DNO_DONE
  verify $t-shared-TORN_CLAIM WINDOW $shared -DEPOCHS=1 -DTORN_CLAIM # the same chunks again, but too late
  for mutant in NO_INVITATION NO_HELPED RELAXED_HELP; do
    verify $t-shared-$mutant DATA,WINDOW $shared -DEPOCHS=1 -D$mutant
  done
  # The invitation for the next epoch overwrites this one.
  verify $t-shared-ONE_INVITATION DATA,DEADLOCK $shared -DEPOCHS=2 -DNC=1 -DONE_INVITATION
  verify $t-shared-nc1-NO_START DATA,WINDOW $shared -DEPOCHS=1 -DNC=1 -DNO_START

  # An executor that runs ahead of its rank's start writes into a buffer that is still the
  # application's (WINDOW), which overwrites it (DATA); an epoch that is received before wait looks
  # for it is missed (DEADLOCK).  In a rendezvous `done` then no longer says that the receiver has
  # started (PEERS).
  verify $t-eager-NO_START DATA,DEADLOCK,WINDOW ${eager%4}2 -DNO_START
  verify $t-rendezvous-NO_START DATA,DEADLOCK,PEERS,WINDOW $rendezvous -DEPOCHS=2 -DNO_START
  verify $t-staged-nc1-NO_START DATA,DEADLOCK,WINDOW $staged -DNC=1 -DEPOCHS=2 -DNO_START

  # In the ring nothing can hang, since `produced` is awaited with >=.  Credit matters only to
  # messages shorter than the ring.  (With nc1 the credit alone guards the ring, so that these
  # mutants have nc2.)  Two epochs suffice to break the others, and keep them small.
  verify $t-staged-nc1-NO_CREDIT PEERS $staged -DNC=1 -DNO_CREDIT
  verify $t-staged-nc2-NO_CREDIT none $staged -DNC=2 -DNO_CREDIT
  verify $t-staged-nc3-NO_CREDIT none $staged -DNC=3 -DNO_CREDIT
  for mutant in NO_RING RELAXED_STORE RELAXED_LOAD RELAXED_DONE; do
    verify $t-staged-nc2-$mutant DATA $staged -DNC=2 -DEPOCHS=2 -D$mutant
  done

  # A sender that does not see the choice takes the ring, while the receiver waits for its announcement. The credit says nothing new.
  verify $t-learned-NO_CREDIT none $learned -DNO_CREDIT
  verify $t-learned-LATE_CHOICE DEADLOCK $learned -DLATE_CHOICE
  verify $t-learned-EPOCH_COUNT DEADLOCK $learned -DEPOCH_COUNT
  # A second trial.
  verify $t-learned-again none $learned -DNC=1 -DEPOCHS=6
  verify $t-learned-again-STALE_CHOICE DEADLOCK $learned -DNC=1 -DEPOCHS=6 -DSTALE_CHOICE

  # A sender that takes back what it has lent overwrites what is being read. What is lent needs no credit, because `done` says more,
  # of a receiver that has started (PEERS). The others are as for what is not lent.
  verify $t-loan-NO_DONE DATA,PEERS,WINDOW ${loan%4}2 -DNO_DONE
  verify $t-loan-RELAXED_DONE DATA,WINDOW ${loan%4}2 -DRELAXED_DONE
  verify $t-loan-RELAXED_STORE DATA ${loan%4}1 -DRELAXED_STORE
  verify $t-loan-NO_CREDIT DATA,DEADLOCK,PEERS,WINDOW $loan -DNO_CREDIT
  verify $t-loan-FEW_SLOTS DATA,DEADLOCK,WINDOW $loan -DFEW_SLOTS
  verify $t-loan-NO_START DATA,DEADLOCK,PEERS,WINDOW ${loan%4}2 -DNO_START
done

# Sends that share slots: all of their receivers must have made room.
eager="-DTOPO=TREE -DKIND=EAGER -DMULTICAST -DEPOCHS=4"
verify multicast-eager none $eager
verify multicast-eager-reach AHEAD,END $eager -DREACH
verify multicast-eager-FEW_SLOTS DATA,DEADLOCK $eager -DFEW_SLOTS
staged="-DTOPO=TREE -DKIND=STAGED -DMULTICAST"
verify multicast-staged-nc1 none $staged -DNC=1
verify multicast-staged-nc2 none $staged -DNC=2
verify multicast-staged-nc2-OWN_RING DATA $staged -DNC=2 -DEPOCHS=2 -DOWN_RING
verify multicast-staged-nc2-reach AHEAD,END $staged -DNC=2 -DREACH

# What is stored ahead is right, and complete when it is announced, in place too.
model=answer
verify answer none
verify answer-reach AHEAD,END -DREACH
for mutant in LATE_INVITATION NO_CLAIM EARLY_WORDS NO_DONE; do
  verify answer-$mutant DATA,WINDOW -D$mutant
done
verify answer-NO_COUNT DEADLOCK -DNO_COUNT
verify answer-SHIFTED DATA -DSHIFTED

# What stands is taken back before it is wrong.
model=standing
[ "${SWEEP:-}" != all ] || verify standing none
verify standing-nc1 none -DNC=1
verify standing-nc1-reach BRIEF,END -DNC=1 -DREACH
for mutant in NO_TAKE_BACK LATE_TAKE_BACK FIRST_STANDS ONE_LOAD; do
  verify standing-nc1-$mutant DATA,WINDOW -DNC=1 -DEPOCHS=4 -D$mutant
done
verify standing-nc1-NO_STARTED DATA,DEADLOCK,WINDOW -DNC=1 -DEPOCHS=4 -DNO_STARTED # it looks again and again

# Two ringers and a sleeper, a ringer and two sleepers. What is not done in the order that it needs to be loses a wake-up;
# where `count` says nothing, wakes are paid for that nobody needs.
model=wait
verify wait-22 none -DSLEEPERS=2 -DEPOCHS=1
for ranks in 21 12; do
  r="-DRINGERS=${ranks%?} -DSLEEPERS=${ranks#?}"
  verify wait-$ranks none $r
  verify wait-$ranks-reach END $r -DREACH
  for variant in -DFENCES -DCREDIT "-DCREDIT -DFENCES" -DBOARD "-DBOARD -DCREDIT"; do
    verify wait-$ranks$(tr -d ' ' <<<"${variant//-D/-}" | tr '[:upper:]' '[:lower:]') none $r $variant
  done
  for mutant in NO_BARRIER NO_LOOK LATE_SEEN LATE_SLEEPERS EARLY_RING; do
    verify wait-$ranks-$mutant DEADLOCK $r -D$mutant
  done
  verify wait-$ranks-NO_COUNT DEADLOCK,PAY $r -DNO_COUNT
  verify wait-$ranks-EARLY_COUNT PAY $r -DEARLY_COUNT
  verify wait-$ranks-fences-NO_BARRIER DEADLOCK $r -DFENCES -DNO_BARRIER
  verify wait-$ranks-board-LATE_BOARD DEADLOCK $r -DBOARD -DLATE_BOARD
  verify wait-$ranks-credit-LATE_WANTED DEADLOCK $r -DCREDIT -DLATE_WANTED
  verify wait-$ranks-credit-fences-EARLY_WANTED DEADLOCK $r -DCREDIT -DFENCES -DEARLY_WANTED
done
# Two sleepers that want different epochs of one ringer.
verify wait-12-credit-TORN_WANTED DEADLOCK -DRINGERS=1 -DSLEEPERS=2 -DCREDIT -DTORN_WANTED

# Two threads of a communication core. What is left out lets one sleep while the other has something to do.
# Millions of states: the hash table is larger, and where all is not asked for, a mutant is left at its first violation.
model=baton
hash=22
[ "${SWEEP:-}" = all ] && compiler='gcc -O2' || enough=1
verify baton none
verify baton-reach END -DREACH
for mutant in NO_LOOK NO_ASK FRESH_HEARD QUIET_ARRIVAL LATE_WAITING; do
  verify baton-$mutant STALL -D$mutant
done

wait
print_lines
for name in "${names[@]:printed}"; do
  echo "FAIL $name no result"
  failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
