/* SPDX-License-Identifier: BSD-3-Clause
 * Describes this installation and this machine: backends, RDMA devices, cores and placements, and the environment. */
#include "backends/backend.h"
#include "backends/smcq/smcq.h"
#include "goalinfo/goalinfo.h"
#include "runtime/placement/placement.h"
#include "util/env.h"
#include "util/err.h"
#include "util/install.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that is printed. The texts that say why something is missing are empty if it is not. */
struct machine {
	struct text no_ports, no_fabric, no_topology;
	struct info_port *ports;
	size_t nports;
	struct topology topology;
	uint32_t usable, numas; /* cores on which ranks may run; NUMA nodes */
	uint32_t nranks;
	char *schedules; /* path of the installed selection table, or NULL */
};

static const char *const kinds[] = { [PLACEMENT_BIND] = "bind", [PLACEMENT_NUMA] = "numa", [PLACEMENT_ODD_EVEN] = "odd-even" };
#define KINDS (sizeof kinds / sizeof *kinds)

static bool is_missing(const struct text *why)
{
	return why->n != 0;
}

static int look(struct machine *m, const struct goalinfo *c)
{
	int err = info_ports(&m->ports, &m->nports, &m->no_ports);

	if (is_missing(&m->no_ports))
		text_add(&m->no_ports, "; ranks of one node need none");
	info_fabric(&m->no_fabric);
	err = err ? err : m->no_fabric.err;
	err = err ? err : install_find("select.table", &m->schedules);
	if (err)
		return err;
	err = topology_load(&m->topology, false, &m->no_topology);
	for (uint32_t i = 0; i < m->topology.ncores && !err; i++) {
		m->usable += m->topology.cores[i].usable;
		if (m->topology.cores[i].numa >= m->numas)
			m->numas = m->topology.cores[i].numa + 1;
	}
	m->nranks = c->nranks ? (uint32_t)c->nranks : m->usable;
	return err == -ERR_NOMEM ? err : 0;
}

static void forget(struct machine *m)
{
	free(m->no_ports.at);
	free(m->no_fabric.at);
	if (!is_missing(&m->no_topology))
		topology_free(&m->topology);
	free(m->no_topology.at);
	free(m->ports);
	free(m->schedules);
}

/* Returns why a backend cannot be used, or NULL. */
static const char *why_missing(const struct machine *m, const struct be_row *b)
{
	if (b->simulated)
		return "no ranks run there: goalrun --backend sim simulates them";
	if (!b->ops)
		return "this build does not have it";
	return !strcmp(b->name, "verbs") && is_missing(&m->no_ports) ? m->no_ports.at : NULL;
}

/* Returns why an engine of command queues cannot be used, or NULL. */
static const char *why_no_engine(const struct machine *m, const struct smcq_row *e)
{
	if (!e->engine)
		return "this build does not have it";
	return !strcmp(e->name, "ofi") && is_missing(&m->no_fabric) ? m->no_fabric.at : NULL;
}

/* Places the ranks. Returns false if that cannot be done; then *why has the reason, which the caller frees. */
static bool place(const struct machine *m, enum placement_kind kind, struct placement *p, struct text *why)
{
	const struct placement_asked asked = { .kind = kind, .comm_cores = -1 };

	if (placement_make(p, &m->topology, &asked, m->nranks, why) == 0)
		return true;
	if (!is_missing(why))
		text_add(why, "%s", err_text(ERR_NOMEM));
	return false;
}

/* ---- environment ---- */

extern char **environ;

/* Returns the row of a variable "NAME=VALUE", or NULL. */
static const struct env_row *find_variable(const char *variable)
{
	const size_t len = strcspn(variable, "=");

	for (unsigned i = 0; i < ENV_COUNT; i++)
		if (!strncmp(env_table[i].name, variable, len) && !env_table[i].name[len])
			return &env_table[i];
	return NULL;
}

/* True if a variable is for goalsched: it is in the table, or its name looks as if it should be. */
static bool is_ours(const char *variable)
{
	return !strncmp(variable, "GOAL_", 5) || find_variable(variable);
}

/* ---- text ---- */

static void print_placements(const struct machine *m)
{
	for (unsigned k = 0; k < KINDS; k++) {
		struct placement p = { 0 };
		struct text why = { 0 };

		printf("  placement %s of %" PRIu32 " ranks, core/communication:", kinds[k], m->nranks);
		if (place(m, (enum placement_kind)k, &p, &why)) {
			for (uint32_t r = 0; r < p.nranks; r++)
				printf(" %" PRIu32 "/%" PRIu32, p.core[r], p.comm[r]);
			placement_free(&p);
		} else {
			printf(" none: %s", why.at ? why.at : err_text(ERR_NOMEM));
		}
		putchar('\n');
		free(why.at);
	}
}

static void print_usable(const char *name, const char *why)
{
	printf("  %-6s %s%s\n", name, why ? "no: " : "yes", why ? why : "");
}

static void print_backends(const struct machine *m)
{
	puts("backends:");
	for (unsigned i = 0; i < be_nbackends; i++)
		print_usable(be_backends[i].name, why_missing(m, &be_backends[i]));
	puts("engines of smcq:");
	for (unsigned i = 0; i < smcq_nengines; i++)
		print_usable(smcq_engines[i].name, why_no_engine(m, &smcq_engines[i]));
}

static int print_text(const struct machine *m)
{
	printf("goalsched %s\nselection table: %s\n", GOAL_VERSION, m->schedules ? m->schedules : "none is installed");
	print_backends(m);
	printf("RDMA devices:%s\n", m->nports ? "" : " none");
	for (size_t i = 0; i < m->nports; i++)
		printf("  %s port %u: %s, %s\n", m->ports[i].device, m->ports[i].port, m->ports[i].link,
		       m->ports[i].active ? "active" : "not active");
	if (is_missing(&m->no_topology)) {
		printf("topology: %s\n", m->no_topology.at);
	} else {
		printf("topology%s: %" PRIu32 " cores, %" PRIu32 " for ranks, %" PRIu32 " NUMA node%s\n",
		       m->topology.here ? "" : " (not of this machine)", m->topology.ncores, m->usable, m->numas,
		       m->numas == 1 ? "" : "s");
		print_placements(m);
	}
	puts("environment:");
	for (char **e = environ; *e; e++)
		if (is_ours(*e))
			printf("  %s%s\n", *e, find_variable(*e) ? "" : "  (unknown: nothing reads this variable)");
	return option_flush("goalinfo");
}

/* ---- JSON ---- */

static void add_backend(json_object *e, const char *name, const char *why)
{
	report_text(e, "name", name);
	report_add(e, "usable", json_object_new_boolean(!why));
	report_text(e, "why", why);
}

static json_object *placements_json(const struct machine *m)
{
	json_object *all = json_object_new_array();

	for (unsigned k = 0; k < KINDS && !is_missing(&m->no_topology); k++) {
		json_object *e = report_element(all), *cores = json_object_new_array(), *comms = json_object_new_array();
		struct placement p = { 0 };
		struct text why = { 0 };

		report_text(e, "name", kinds[k]);
		if (place(m, (enum placement_kind)k, &p, &why)) {
			for (uint32_t r = 0; r < p.nranks; r++) {
				json_object_array_add(cores, json_object_new_int64(p.core[r]));
				json_object_array_add(comms, json_object_new_int64(p.comm[r]));
			}
			placement_free(&p);
		}
		report_add(e, "cores", cores);
		report_add(e, "comms", comms);
		report_text(e, "why", why.at);
		free(why.at);
	}
	return all;
}

static json_object *environment_json(void)
{
	json_object *all = json_object_new_array();

	for (char **e = environ; *e; e++) {
		const int len = (int)strcspn(*e, "=");
		json_object *one;

		if (!is_ours(*e))
			continue;
		one = report_element(all);
		report_text_part(one, "name", *e, (size_t)len);
		report_text(one, "value", *e + len + ((*e)[len] == '='));
		report_add(one, "known", json_object_new_boolean(find_variable(*e) != NULL));
	}
	return all;
}

static int print_json(const struct machine *m)
{
	json_object *j = report_new("goalinfo", NULL), *engines = json_object_new_array(), *devices = json_object_new_array(), *t;

	report_text(j, "table", m->schedules);
	for (unsigned i = 0; i < be_nbackends; i++)
		add_backend(report_case(j), be_backends[i].name, why_missing(m, &be_backends[i]));
	for (unsigned i = 0; i < smcq_nengines; i++)
		add_backend(report_element(engines), smcq_engines[i].name, why_no_engine(m, &smcq_engines[i]));
	report_add(j, "engines", engines);
	for (size_t i = 0; i < m->nports; i++) {
		json_object *e = report_element(devices);

		report_text(e, "name", m->ports[i].device);
		report_int(e, "port", m->ports[i].port);
		report_text(e, "link", m->ports[i].link);
		report_add(e, "active", json_object_new_boolean(m->ports[i].active));
	}
	report_add(j, "devices", devices);
	t = json_object_new_object();
	report_int(t, "cores", m->topology.ncores);
	report_int(t, "usable", m->usable);
	report_int(t, "numas", m->numas);
	report_text(t, "why", is_missing(&m->no_topology) ? m->no_topology.at : NULL);
	report_add(j, "topology", t);
	report_int(j, "ranks", m->nranks);
	report_add(j, "placements", placements_json(m));
	report_add(j, "environment", environment_json());
	return report_print("goalinfo", j);
}

int info_machine(const struct goalinfo *c)
{
	struct machine m = { 0 };
	int rc = look(&m, c) ? option_no_memory("goalinfo") : c->json ? print_json(&m) : print_text(&m);

	forget(&m);
	return rc;
}
