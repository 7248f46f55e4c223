/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of goalrun, each with the files that implement it:
 *   options                       options.c
 *   choice of the schedule        schedule.c, choose.c
 *   choice of the combinations    sweep.c, case.c
 *   start of the ranks            launch.c, process.c; on several hosts also hosts.h
 *   simulation instead of it      simulate.c
 *   lowering to command queues    lower.c; the emulator of their interface: nic_process.c, nic/
 *   pinning                       pinning.c, show_placement.c
 *   run of one rank               rank.c, rank_data.c, overlap.c, work.c
 *   expected results              oracle.c, values.c
 *   output                        results.c, osu.c
 *   several runs                  runs.c, tune.c, calibrate.c */
#ifndef GOALRUN_RUN_H
#define GOALRUN_RUN_H

#include "backends/smcq/nic.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "compiler/select.h"
#include "goalrun/work.h"
#include "include/mpix_sched.h"
#include "runtime/board/board.h"
#include "runtime/placement/placement.h"
#include "util/command_line.h"

#include <signal.h>

enum run_memory { RUN_HEAP, RUN_PRIVATE, RUN_STAGED, RUN_MOVED, RUN_MEMORIES };
extern const char *const run_memory_names[RUN_MEMORIES];
extern const char *const run_type_names[MPIX_SCHED_BASICS];
#define RUN_USER MPIX_SCHED_BUILTINS /* user-defined operation of goalrun; its number follows those of the library */
extern const char *const run_op_names[RUN_USER + 1];

/* A case: one combination of values that is bound and run. */
struct run_case {
	int64_t count, root; /* elements per block; root, or -1 if the schedule has none */
	enum MPIX_Sched_basic type;
	unsigned op; /* enum MPIX_Sched_builtin or RUN_USER; MPIX_SCHED_NO_OP if the schedule does not reduce */
	enum run_memory memory;
	unsigned sample; /* number of the sample of arguments (compiler/ir/args.h) */
};

#define RUN_ERROR 512u /* bytes of the message of a rank that failed */
#define RUN_OVERLAP_WARMUP 4 /* the least number of warm-up starts with --overlap: their time determines the amount of work */

enum run_mean { RUN_AVG, RUN_MIN, RUN_MAX, RUN_MEANS };
struct run_result {
	double mean_us[RUN_MEANS]; /* mean time of a start: average over the ranks, least and largest of a rank */
	double median_us, min_us, start_us, init_us, wait_us;
	double part_us[WORK_PARTS], overlap; /* only with --overlap: median time of each part in us, and the overlap */
	double cpu_s; /* only with --wait: CPU time of all ranks */
};

/* Words that all ranks of a launch share. */
struct run_shared {
	_Atomic uint32_t bad; /* 1 if a rank has failed */
	_Atomic uint64_t cases_done; /* number of cases that rank 0 has completed */
	_Atomic uint64_t at_case; /* index of the case that rank 0 runs */
	_Atomic uint64_t failed_case; /* index + 1 of the case in which a rank failed first; 0 if none failed */
};

/* A word that one rank writes and the others read, in a cache line of its own. */
struct run_word {
	_Alignas(64) _Atomic uint64_t word;
};

/* The cores of the ranks of this node, and of their communication. */
struct run_pinning {
	struct topology topology;
	struct placement placement;
	uint32_t first; /* rank whose index in the placement is 0 */
};

struct run_hosts;
struct run_agent;

struct run_options {
	uint32_t nranks;
	uint32_t first, here; /* first rank of this host, and number of its ranks */
	struct run_hosts *hosts; /* hosts on which the ranks are started; NULL: this host */
	const char *asked_hosts; /* argument of --hosts */
	struct run_agent *agent; /* state of an agent, if this is one of several hosts; else NULL */
	bool threads, verify, json, plain, pairs, overlap;
	int64_t iters, warmup, seed, delay;
	int64_t tests, work_us; /* only with --overlap: number of calls of test; work in us, 0: as in struct work_bench */
	struct defines defines;
	struct defines lowered; /* values of parameters with which the schedule was lowered */
	const char *sample; /* sample of arguments with which the schedule was lowered, or NULL */
	/* The next fields describe the schedule. */
	const char *name, *input; /* the schedule's file, as messages show it and as the command line has it */
	char *passes; /* list of passes in the form of compiler/passes/passes.h, or NULL */
	void *image;
	size_t size;
	bool has_root;
	const struct claim *claim;
	bool barrier; /* the schedule implements a barrier */
	const struct ir_graph *graph; /* ops of all ranks; only for plain GOAL */
	/* All cases. One launch runs the cases of one kind of memory. */
	struct run_case *cases;
	size_t ncases;
	struct placement_asked placement;
	const struct be_row *backend; /* NULL: the backend that the environment names */
	bool no_shm; /* ranks of a node do not use its shared memory */
	const char *engine, *progress, *wait, *placed, *trace; /* arguments of these options, or NULL */
	const struct run_pinning *pinning; /* NULL if ranks are not pinned */
	char **program; /* program and arguments, if a program is run and not a schedule */
};

/* A launch: the start of all ranks for the cases of one kind of memory. Its arrays are in memory shared with the ranks. */
struct run_launch {
	const struct run_options *o;
	enum run_memory memory;
	struct rt_board *board;
	struct run_shared *shared;
	struct run_word *entered; /* [rank]: number of starts that the rank has entered */
	char (*error)[RUN_ERROR]; /* [rank]: message of a failure */
	double *total, *start, *init; /* [case][rank][iteration], [case][rank][iteration], [case][rank] */
	double *cpu, *joules; /* only with --wait: CPU time in start and wait, [case][rank]; energy, [case] */
	struct work_spans *spans; /* [case][rank][iteration], only with --overlap */
	struct MPIX_Sched_stats *stats; /* [rank]: counters, summed over all launches */
};

/* Returns a text for errno, which names the limit if errno stands for an exceeded one. */
const char *run_errno_text(void);
/* Returns zeroed memory that is shared with ranks, or NULL. */
void *run_shared_memory(size_t size);
/* Runs all cases of one kind of memory as one rank. Returns 0, or 1 with a message in l->error. */
int run_rank(struct run_launch *l, uint32_t rank);
/* Like fork(2), but the child is killed when goalrun ends. */
pid_t run_fork(void);
/* Blocks the signals that goalrun waits for and handles one by one: SIGUSR1, which it passes to the ranks, SIGCHLD, and the
 * signals that end goalrun. */
void run_block_signals(sigset_t *set, sigset_t *old);
/* launch_schedule and launch_program start the ranks and wait for them. They return an exit status. */
int launch_schedule(struct run_launch *l);
int launch_program(const struct run_options *o);
/* Chooses the cores of the ranks of this node and of their communication. Reports errors, and returns an exit status. */
int run_place_ranks(const struct run_options *o, struct run_pinning *w);
void run_unplace_ranks(struct run_pinning *w);
/* Puts the cores of the ranks' communication into the environment of the ranks. Returns an exit status. */
int run_export_placement(const struct run_pinning *w);
/* Pins the calling thread, and all that it starts, to the core of a rank. Returns false, with errno set, if that fails. */
bool run_pin(const struct run_pinning *w, uint32_t rank);
/* Prints on which cores o->here ranks of this node, and their communication, would run. Returns an exit status. */
int run_show_placement(const struct run_options *o);
/* Turns on tracing by the environment of the ranks. Returns the descriptor of a file in memory to which they append their
 * events, or -1. */
int run_trace_open(const char *path);
/* Merges the events of all ranks, and writes the trace to the file of --trace. Returns an exit status. */
int run_trace_write(const struct run_options *o, int fd);
/* Prints the command that runs one case alone on stderr. */
void run_reproduce(const struct run_options *o, size_t index);

/* ---- processes that the ranks of a program start (job.c) ---- */

/* A job: the processes of all ranks of a program, and all their descendants. */
struct run_job {
	char name[48];
	int fd; /* descriptor of a file that all processes of the job inherit; -1 if there is none */
	dev_t dev; /* device and inode of that file */
	ino_t ino;
	pid_t guard;
};

/* Gives the job a name that no other job has. `fd` is the descriptor of a file that only processes of this job inherit. */
void run_job_name(struct run_job *job, int fd);
/* To be called in a process that is about to become a rank: marks the process, and all that it starts, as part of that rank.
 * Returns false if out of memory. */
bool run_job_mark(const struct run_job *job, uint32_t rank);
/* Starts the guard, a process that kills the job if goalrun is killed. */
void run_job_guard(struct run_job *job);
/* Sends a signal to all processes of the job. A signal other than SIGKILL is sent only to those that handle it. */
void run_job_signal(const struct run_job *job, int sig);
/* Kills the processes of a rank that are left, and waits until they are gone. */
void run_job_kill(const struct run_job *job, uint32_t rank);
/* Kills all processes of the job that are left, and the guard. */
void run_job_finish(struct run_job *job);

/* ---- lowering to command queues (lower.c) ---- */

struct run_lowering {
	const struct bin *bin; /* the compiled text, without passes */
	const char *text;
	size_t len;
	const char *passes; /* list of passes, of which the last one lowers */
	int64_t count;
	unsigned sample; /* number of the sample of arguments */
};
/* Lowers a schedule and stores the binary in *image. Reports errors of the schedule to d. Returns 0 or -ERR_x. */
int run_lower(struct goal_diags *d, const struct run_options *o, const struct run_lowering *l, void **image, size_t *size);

/* ---- the emulator of the network interface, for the engine model (nic_process.c) ---- */

struct run_nic {
	pid_t pid; /* process of the emulator; 0 if there is none */
	int life; /* descriptor that keeps the emulator alive: it ends when this is closed */
	int trace; /* descriptor of the file that the emulator writes its trace to, or -1 */
	struct nic_stats *stats;
};

/* Starts the emulator, and tells the ranks by their environment how to reach it. With a seed of 0 packets stay in order.
 * Returns an exit status. */
int run_nic_start(struct run_nic *n, uint64_t seed, const char *trace);
/* Ends the emulator, if there is one. Returns an exit status; EXIT_FAULT if it had ended before. */
int run_nic_stop(struct run_nic *n);
/* Writes the emulator's trace, after it has ended. Returns an exit status. */
int run_nic_trace(const struct run_nic *n, const char *path);

/* Stores the words of a table's row for its schedule, behind the arrow; the caller frees them. Returns 0 or -ERR_NOMEM. */
int run_row_words(const struct select_row *row, char **out);
/* The schedule that a selection table has for counts. */
struct run_chosen {
	char *path, *row; /* the schedule's path; the words behind the arrow of its row */
	size_t served; /* number of counts, from the first on, that this row serves */
};
/* Chooses the schedule for the first of n counts with elements of `size` bytes. If `table` is NULL, uses the table of GOAL_SELECT.
 * Values and passes of the row are stored in *o. Returns false after a message. The caller frees path and row in any case. */
bool run_choose(struct run_options *o, struct select_call call, const int64_t *counts, size_t n, size_t size, const char *table,
		struct run_chosen *out);

/* ---- data and expected results (oracle.c) ---- */

/* Generates the data of one rank for one case, and checks the result that the schedule claims. */
struct oracle {
	/* The caller sets these fields. */
	uint64_t seed;
	enum MPIX_Sched_basic type;
	unsigned op;
	/* oracle_open sets these fields. */
	const struct bin *b;
	struct expected expected;
	uint32_t rank;
	size_t elem; /* bytes of an element */
	char *work; /* memory for expected values */
};

/* Prepares the oracle for a rank. `elements` has the size of each buffer. Returns 0 or -ERR_x; `fault` may then say more. */
int oracle_open(struct oracle *o, const struct claim *c, const struct bin_args *args, const uint64_t *elements,
		struct ir_fault *fault);
void oracle_close(struct oracle *o);
/* Fills the buffers of this rank before the start of an epoch. Buffers that the rank does not have are NULL. */
void oracle_fill(const struct oracle *o, uint64_t epoch, char *const *buffers, const uint64_t *bytes);
/* Checks the buffers after an epoch: the claimed result, and that buffers of mode "in" are unchanged. Returns -1 if all is
 * right; else the offset of the first wrong byte, and its buffer in *buffer. */
int64_t oracle_check(const struct oracle *o, uint64_t epoch, char *const *buffers, const uint64_t *bytes,
		     uint32_t *buffer);

/* ---- elements (values.c); op as in struct run_case ---- */

/* Generates `count` elements of a rank, from element `first` on, with values that suit the operation. For MPIX_SCHED_NO_OP
 * all bytes are arbitrary. */
void values_fill(enum MPIX_Sched_basic type, unsigned op, uint64_t key, uint32_t rank, uint64_t first,
		 uint64_t count, void *out);
/* Computes right = left op right. */
void values_fold(enum MPIX_Sched_basic type, unsigned op, const void *left, void *right, uint64_t count);
/* Returns the offset of the first byte that differs, or -1. Padding in elements is ignored if an operation of the library has
 * computed them. */
int64_t values_compare(enum MPIX_Sched_basic type, unsigned op, const char *got, const char *want,
		       uint64_t count);
/* Fills memory with a pattern: pseudo-random bytes that depend on key. */
void values_pattern(char *p, uint64_t bytes, uint64_t key);
/* Returns the offset of the first byte that differs from the pattern, or -1. */
int64_t values_differ(const char *p, uint64_t bytes, uint64_t key);
uint64_t values_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint64_t values_hash(uint64_t x);
/* The operation RUN_USER, as an MPIX_Sched_op_fn. arg points to a size_t, the bytes of an element. */
void values_user(const void *in, void *inout, size_t count, void *arg);

/* ---- energy (energy.c) ---- */

#define ENERGY_PACKAGES 16
#define ENERGY_DIR "/sys/class/powercap"

/* The energy counters of the machine's CPU packages. */
struct energy {
	bool known[ENERGY_PACKAGES]; /* the counter exists and can be read */
	uint64_t uj[ENERGY_PACKAGES], most[ENERGY_PACKAGES]; /* counter in µJ, and its largest value, after which it wraps to 0 */
};

void energy_read(const char *dir, struct energy *e);
/* Returns the joules between two readings; NaN if no counter is known. */
double energy_between(const struct energy *from, const struct energy *to);

/* ---- combinations (sweep.c) ---- */

/* Chooses cases for --sweep pairs, and moves them to the front. If two values of two options occur together in any
 * case, they occur together in one of the chosen cases. Returns the number of the chosen cases, or 0 if out of memory. */
size_t sweep_pairs(struct run_case *cases, size_t n);

#endif
