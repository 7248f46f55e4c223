/* SPDX-License-Identifier: BSD-3-Clause
 * The parameters of a simulated machine, as options and as a file. */
#ifndef BACKENDS_SIM_MACHINE_H
#define BACKENDS_SIM_MACHINE_H

#include "backends/sim/binary.h"
#include "util/command_line.h"

/* Parameters of the LogGOPS model and of ops that are no messages. */
struct sim_machine {
	int64_t L, o, g, S; /* ns, and bytes of S */
	double G, O, copy, reduce; /* ns per byte; negative: as in the tables below */
	struct sim_rate G_table, O_table, copy_table, reduce_table; /* costs by size */
	int64_t start; /* ns by which all ranks start later */
	struct sim_topology topology;
	int64_t hop; /* ns of a link */
	double link; /* ns per byte on a link */
};

/* Those of LogGOPSim. */
static inline struct sim_machine sim_machine_default(void)
{
	return (struct sim_machine){ .L = 2500, .o = 1500, .g = 1000, .G = 6, .S = 65535 };
}

/* Takes a file of parameters, which goalrun --calibrate prints: a line is a name and a value, or a name and a table of costs by
 * size, "bytes:ns ...", and "#" begins a comment. The field is a struct sim_machine. */
option_taker sim_machine_take;
/* Takes the shape of a network. The field is a struct sim_topology. */
option_taker sim_topology_take;
/* Sets the parameters of a simulation, and the rates of a source. The start is the caller's. */
void sim_machine_apply(const struct sim_machine *m, struct sim_params *p, struct sim_binary *x);

/* Describes the machine for pictures: "simulated in the LogGOPS model: latency L 2500, ...". */
struct machine_text {
	char s[500]; /* more than the longest numbers take */
} sim_machine_text(const struct sim_machine *m);

#endif
