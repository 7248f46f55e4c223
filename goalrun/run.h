/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun's parts: options (options.c), which schedule (schedule.c, choose.c), which combinations run (sweep.c), starting
 * ranks (launch.c), on several hosts (hosts.h), command queues for them (lower.c, nic.c), where they are (pinning.c,
 * show_placement.c), what a rank does (rank.c; overlap.c, work.c), what the
 * result has to be (oracle.c, values.c), what is printed (results.c). */
#ifndef GOALRUN_RUN_H
#define GOALRUN_RUN_H

#include "backends/smcq/nic.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "compiler/select.h"
#include "goalrun/work.h"
#include "include/mpix_sched.h"
#include "runtime/board.h"
#include "runtime/placement.h"
#include "util/command_line.h"

#include <signal.h>

enum run_memory { RUN_HEAP, RUN_PRIVATE, RUN_STAGED, RUN_MEMORIES };
extern const char *const run_memory_names[RUN_MEMORIES];
extern const char *const run_type_names[MPIX_SCHED_BASICS];
#define RUN_USER MPIX_SCHED_BUILTINS /* goalrun's own operation, behind those of the library */
extern const char *const run_op_names[RUN_USER + 1];

/* One combination that is bound and run. */
struct run_case {
	int64_t count, root; /* root -1: the schedule has none */
	enum MPIX_Sched_basic type;
	unsigned op; /* enum MPIX_Sched_builtin or RUN_USER; MPIX_SCHED_NO_OP: nothing is reduced */
	enum run_memory memory;
	unsigned sample; /* of arguments (compiler/ir/args.h) */
};

#define RUN_OVERLAP_WARMUP 4 /* starts at least: the work is as long as they are */

struct run_result {
	double median_us, min_us, start_us, init_us, wait_us;
	double part_us[WORK_PARTS], overlap; /* with --overlap */
	double cpu_s; /* with --wait: of all ranks */
};

/* Shared by all ranks of a launch. */
struct run_shared {
	_Atomic uint32_t bad; /* a rank has failed */
	_Atomic uint64_t cases_done; /* by rank 0 */
	_Atomic uint64_t at_case; /* rank 0's */
	_Atomic uint64_t failed_case; /* of the first rank that failed, counted from 1 */
};

/* A word of a rank that the others read. */
struct run_word {
	_Alignas(64) _Atomic uint64_t word;
};

/* Where they are. */
struct run_pinning {
	struct topology topology;
	struct placement placement;
	uint32_t first; /* the rank that is number 0 of the placement */
};

struct run_hosts;
struct run_agent;

struct run_options {
	uint32_t nranks;
	uint32_t first, here; /* the ranks of this host */
	struct run_hosts *hosts; /* those of all are started there; NULL: here */
	struct run_agent *agent; /* this is one of several hosts; else NULL */
	bool threads, verify, json, plain, pairs, overlap;
	int64_t iters, warmup, seed, delay;
	int64_t tests, work_us; /* with overlap; work_us 0: as long as the communication */
	struct defines defines;
	struct defines lowered; /* that the schedule was lowered with, and */
	const char *sample; /* the sample of arguments, or NULL */
	/* the schedule */
	const char *name;
	char *passes; /* a list, as compiler/passes/passes.h has it; NULL: none */
	void *image;
	size_t size;
	bool has_root;
	const struct claim *claim;
	bool barrier; /* that is what it implements */
	const struct ir_graph *graph; /* plain: the ops of all ranks */
	/* the cases, and how one launch takes those of one memory kind */
	struct run_case *cases;
	size_t ncases;
	struct placement_asked placement;
	const struct be_row *backend; /* NULL: as the environment says */
	bool no_shm; /* ranks of a node do without its memory */
	const char *engine, *progress, *wait, *placed, *trace; /* as asked for, or NULL */
	const struct run_pinning *pinning; /* NULL: nothing is pinned */
	char **program; /* instead of a schedule */
};

/* Memory shared with the ranks: times[rank][iteration] of the case at hand, and texts of failures. */
struct run_launch {
	const struct run_options *o;
	enum run_memory memory;
	struct rt_board *board;
	struct run_shared *shared;
	struct run_word *entered; /* by rank: starts that it has come to */
	char (*error)[512]; /* by rank */
	double *total, *start, *init; /* [case][rank][iteration], [case][rank][iteration], [case][rank] */
	double *cpu, *joules; /* with --wait: [case][rank], in start and wait; [case] */
	struct work_spans *spans; /* [case][rank][iteration] with --overlap */
	struct MPIX_Sched_stats *stats; /* by rank; of all launches */
};

/* What errno says, in words that name the limit if it is one. */
const char *run_errno_text(void);
/* Zeroed memory that is shared with ranks; NULL when there is none. */
void *run_shared_memory(size_t size);
/* Runs all cases of one memory kind as one rank; 0, or 1 with a text in error. */
int run_rank(struct run_launch *l, uint32_t rank);
/* As fork(2); what is forked ends with goalrun. */
pid_t run_fork(void);
/* Signals that goalrun takes in turn: SIGUSR1 is for the ranks, SIGCHLD wakes it, others end all. */
void run_block_signals(sigset_t *set, sigset_t *old);
/* Starts the ranks and waits for them; an exit status. */
int launch_schedule(struct run_launch *l);
int launch_program(const struct run_options *o);
/* Places the ranks of this node; what is wrong is told. An exit status. */
int run_place_ranks(const struct run_options *o, struct run_pinning *w);
void run_unplace_ranks(struct run_pinning *w);
/* Tells ranks, by the environment, where their communication is. An exit status. */
int run_export_placement(const struct run_pinning *w);
/* Pins the thread that calls it, and what it starts, to its rank's core; false: errno says why not. */
bool run_pin(const struct run_pinning *w, uint32_t rank);
/* Prints where o->here ranks of this node, and their communication, would be; an exit status. */
int run_show_placement(const struct run_options *o);
/* Tells ranks, by the environment, to trace; where they leave it, or -1. */
int run_trace_open(const char *path);
/* Puts together what they have left, as a file; an exit status. */
int run_trace_write(int fd, const char *path);
/* On stderr: the command that runs one case alone. */
void run_reproduce(const struct run_options *o, size_t index);

/* ---- what the ranks of a program start (job.c) ---- */

struct run_job {
	char name[48];
	int fd; /* of a file that all of it inherits, and which file that is */
	dev_t dev;
	ino_t ino;
	pid_t guard;
};

/* A name that no other job has. fd: of a file that no other job has either, which its processes inherit. */
void run_job_name(struct run_job *job, int fd);
/* In a process that is about to become a rank: what it is, and starts, is of that rank. False: there is no memory. */
bool run_job_mark(const struct run_job *job, uint32_t rank);
/* Starts the process that ends all of it should goalrun be killed. */
void run_job_guard(struct run_job *job);
/* Sends a signal to all of it: SIGKILL, or what only those are to get that handle it. */
void run_job_signal(const struct run_job *job, int sig);
/* Ends what is left of a rank; waits for that. */
void run_job_kill(const struct run_job *job, uint32_t rank);
/* Ends all that is left, and the guard. */
void run_job_finish(struct run_job *job);

/* ---- lowering to command queues (lower.c) ---- */

struct run_lowering {
	const struct bin *bin; /* the text without passes */
	const char *text;
	size_t len;
	const char *passes; /* the last one lowers */
	int64_t count;
	unsigned sample; /* of arguments */
};
/* What is wrong is told by d; 0 or -ERR_x. */
int run_lower(struct goal_diags *d, const struct run_options *o, const struct run_lowering *l, void **image, size_t *size);

/* ---- the network interface of the engine model (nic.c) ---- */

struct run_nic {
	pid_t pid; /* 0: there is none */
	int life; /* ends it when closed */
	int trace; /* what it has traced, or -1 */
	struct nic_stats *stats;
};

/* Starts it and tells ranks of it, by the environment; the seed is 0 where packets stay in order. An exit status. */
int run_nic_start(struct run_nic *n, uint64_t seed, const char *trace);
/* Ends it; an exit status, that of a fault when it was gone. Harmless where there is none. */
int run_nic_stop(struct run_nic *n);
/* Writes what it has traced, once it has ended; an exit status. */
int run_nic_trace(const struct run_nic *n, const char *path);

/* The path of the schedule that a selection table (NULL: GOAL_SELECT's) has for a call, owned by the caller; values
 * and passes of its row go to o. NULL after a message. */
char *run_choose(struct run_options *o, const struct select_call *call, const char *table);

/* ---- what a schedule claims, with data (oracle.c) ---- */

/* Of one rank, for one case. */
struct oracle {
	uint64_t seed;
	enum MPIX_Sched_basic type;
	unsigned op;
	/* oracle_open */
	const struct bin *b;
	struct expected expected;
	uint32_t rank;
	size_t elem;
	char *work;
};

/* elements: of each buffer. On an error fault may say more. */
int oracle_open(struct oracle *o, const struct claim *c, const struct bin_args *args, const uint64_t *elements,
		struct ir_fault *fault);
void oracle_close(struct oracle *o);
/* Fills this rank's buffers, NULL where it has none, before the start of an epoch. */
void oracle_fill(const struct oracle *o, uint64_t epoch, char *const *buffers, const uint64_t *bytes);
/* The first wrong byte after it, of what is claimed or of in buffers, and where; -1: all is right. */
int64_t oracle_check(const struct oracle *o, uint64_t epoch, char *const *buffers, const uint64_t *bytes,
		     uint32_t *buffer);
/* Pseudo-random bytes that depend on key. */
void oracle_pattern(char *p, uint64_t bytes, uint64_t key);
/* A part of it, from byte first on. */
void oracle_pattern_at(char *p, uint64_t first, uint64_t bytes, uint64_t key);
/* The first byte that differs from the pattern, or -1. */
int64_t oracle_compare(const char *p, uint64_t bytes, uint64_t key);
uint64_t oracle_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint64_t oracle_hash(uint64_t x);

/* ---- elements (values.c); op as in struct run_case ---- */

/* Elements for an operation, of a rank, from number first on; for none, bytes. */
void values_fill(enum MPIX_Sched_basic type, unsigned op, uint64_t key, uint32_t rank, uint64_t first,
		 uint64_t count, void *out);
/* right = left op right. */
void values_fold(enum MPIX_Sched_basic type, unsigned op, const void *left, void *right, uint64_t count);
/* The first byte that differs and belongs to a value, or -1. */
int64_t values_compare(enum MPIX_Sched_basic type, unsigned op, const char *got, const char *want,
		       uint64_t count);
/* RUN_USER as an operation of the library; arg: size_t, the bytes of an element. */
void values_user(const void *in, void *inout, size_t count, void *arg);

/* ---- energy (energy.c) ---- */

#define ENERGY_PACKAGES 16
#define ENERGY_DIR "/sys/class/powercap"

/* Counters of the machine's packages. */
struct energy {
	bool known[ENERGY_PACKAGES]; /* it is there, and may be read */
	uint64_t uj[ENERGY_PACKAGES], most[ENERGY_PACKAGES];
};

void energy_read(const char *dir, struct energy *e);
/* Joules; NaN: nothing is known. */
double energy_between(const struct energy *from, const struct energy *to);

/* ---- combinations (sweep.c) ---- */

/* Moves cases to the front so that each pair of values of two options that occurs at all occurs in the first
 * ones; how many those are, or 0 without memory. */
size_t sweep_pairs(struct run_case *cases, size_t n);

#endif
