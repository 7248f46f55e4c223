# SPDX-License-Identifier: BSD-3-Clause
# make deps demo | make deps check | make | make install | make check-quick | make coverage | make asan ubsan tsan
# Campaigns: make matrix alloc mutants offload fuzz ...; CONTRIBUTING.md has the list.

MAKEFLAGS += -r
.DELETE_ON_ERROR:
.SUFFIXES:

VERSION   := 0.1.0
SOMAJOR   := 0
BUILD     ?= build
CC        := $(if $(filter default,$(origin CC)),gcc,$(CC))
CFLAGS    ?= -O2 -g
JSON      := -ljson-c
# What the library needs; libdl is empty since glibc 2.34.
LIBS      := -pthread -ldl -Wl,--as-needed -lsodium
# WERROR= for a compiler that warns of more than those we try
WERROR    ?= -Werror
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes $(WERROR)
override CPPFLAGS += -D_GNU_SOURCE -DGOAL_VERSION='"$(VERSION)"' -I. -I$(BUILD) -Iinclude
# Headers are enough: libpmix is loaded by programs that a launcher with PMIx starts, libhwloc by whoever places ranks.
PMIX      := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I pmix 2>/dev/null))
override CPPFLAGS += $(PMIX) $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I hwloc 2>/dev/null))
# What is installed tells nobody where it was built.
override ALL_CFLAGS = -std=c17 $(WARN) -fPIC -fvisibility=hidden -ffile-prefix-map='$(CURDIR)'=. \
                      -ffile-prefix-map='$(abspath $(BUILD))'=build -pthread $(CFLAGS) $(SAN)
LINK = $(CC) $(ALL_CFLAGS) $(LDFLAGS)
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$@)';)

# ---- sources: what is in a room belongs to it ----

ROOMS_COMPILER := \
	compiler \
	compiler/analysis \
	compiler/collectives \
	compiler/ir \
	compiler/lower \
	compiler/passes \
	compiler/queues \
	compiler/verify
ROOMS_BACKENDS := \
	backends/common \
	backends/list \
	backends/mpi \
	backends/shm \
	backends/smcq \
	backends/verbs
ROOMS_GOALRUN := \
	goalrun \
	goalrun/nic \
	trace

sources = $(patsubst %.c,%,$(sort $(wildcard $(addsuffix /*.c,$(1)))))
GOALC    := $(addprefix compiler/,main check_row check_table every options show)
# What only programs have: the library prints nothing.
TOOLS    := util/command_line util/progress util/report
COMPILE  := $(filter-out $(GOALC) $(TOOLS) util/svg,$(call sources,util lang format $(ROOMS_COMPILER)))
# loops.c is compiled once for each row of variants.def.
RUNTIME  := $(filter-out runtime/kernels/loops,$(call sources,runtime runtime/board runtime/bootstrap runtime/heap runtime/kernels runtime/placement))
BACKENDS := $(call sources,$(ROOMS_BACKENDS))
GOALC    += $(TOOLS) util/svg $(call sources,compiler/print compiler/allranks)
GOALRUN  := $(TOOLS) $(call sources,$(ROOMS_GOALRUN) backends/sim)
GOALINFO := $(TOOLS) $(call sources,goalinfo)
GOALSIM  := $(TOOLS) util/svg runtime/placement/placement $(call sources,goalsim backends/sim trace)

obj = $(patsubst %,$(BUILD)/%.o,$(1))
GENERATED := $(call obj,lang/plain.tab lang/plain.lex lang/parametric.tab lang/parametric.lex)
# HOOK=1: a build in which tests can make allocations fail.
HOOK_O    := $(if $(HOOK),$(call obj,tests/alloc/hook))
override CPPFLAGS += $(if $(HOOK),-DGOAL_ALLOC_HOOK=goal_alloc_hook)
COMPILE_O := $(HOOK_O) $(call obj,$(COMPILE)) $(GENERATED)
# The reductions, once for each row of runtime/kernels/variants.def.
KERNELS        := base $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),avx2 avx512)
KERNELS_base   :=
KERNELS_avx2   := -mavx2
KERNELS_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
KERNELS_O := $(patsubst %,$(BUILD)/runtime/kernels/loops-%.o,$(KERNELS))
LIB_O     := $(COMPILE_O) $(call obj,$(RUNTIME) $(BACKENDS)) $(KERNELS_O)

LIBNAME   := libgoalsched
LIBRARY   := $(BUILD)/lib/$(LIBNAME).so
PROGRAMS  := $(BUILD)/bin/goalc $(BUILD)/bin/goalinfo $(BUILD)/bin/goalrun $(BUILD)/bin/goalsim

.PHONY: all
all: $(PROGRAMS) $(LIBRARY) $(BUILD)/lib/$(LIBNAME).a tabled mpi

$(BUILD)/bin/goalc: $(call obj,$(GOALC)) $(COMPILE_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) $(JSON)

$(BUILD)/bin/goalinfo: $(call obj,$(GOALINFO)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) $(JSON)

$(BUILD)/bin/goalrun: $(call obj,$(GOALRUN)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) $(JSON)

$(BUILD)/bin/goalsim: $(call obj,$(GOALSIM)) $(COMPILE_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) $(JSON)

# Applications see the functions of mpix_sched.h and nothing else. It stays after a dlclose: contexts that were not freed have
# a handler of SIGUSR1 and threads.
$(LIBRARY): $(LIB_O) runtime/goalsched.map
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(LIBNAME).so.$(SOMAJOR) -Wl,-z,defs -Wl,-z,nodelete \
		-Wl,--version-script,runtime/goalsched.map -o $@.$(VERSION) $(LIB_O) $(LIBS)
	@ln -sf $(LIBNAME).so.$(VERSION) $@.$(SOMAJOR) && ln -sf $(LIBNAME).so.$(VERSION) $@

# One object, in which what is hidden is local: an archive would show the library's own names to programs.
$(BUILD)/lib/$(LIBNAME).a: $(LIB_O)
	@mkdir -p $(@D)
	$(call say,AR)rm -f $@ && ld -r -o $@.o $^ && objcopy --localize-hidden $@.o && ar rcs $@ $@.o && rm $@.o

# ---- MPI ----

# The MPI libraries that are installed; Debian's packages go together. Each has a build of mpi/ of its own.
MPICC := $(foreach m,mpich openmpi,$(if $(wildcard $(addsuffix /mpicc.$m,$(subst :, ,$(PATH)))),$m))
MPI_PC_mpich    := mpich
MPI_PC_openmpi  := ompi-c
# Headers that packages of Open MPI 5 lack
MPI_INC_openmpi := -idirafter mpi/openmpi/missing
MPI_LIB_mpich   := $(BUILD)/lib/libgoalmpi-mpich.so
MPI_LIB_openmpi := $(addprefix $(BUILD)/lib/,goalmpi/mca_coll_goal.so goalmpi/mca_mpool_goal.so libgoalmpi-openmpi.so)
MPI_LIBS        := $(foreach m,$(MPICC),$(MPI_LIB_$m))
# Objects of one front: what all share, and its folder. mpi/openmpi/names.c is a library of its own.
mpi_obj = $(patsubst %,$(BUILD)/mpi-$(1)/%.o,$(filter-out mpi/openmpi/names,$(call sources,mpi mpi/$(1))))

.PHONY: mpi
mpi: $(MPI_LIBS)

define mpi_front
$(BUILD)/mpi-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC)$$(CC) $$(CPPFLAGS) $$(patsubst -I%,-isystem %,$$(shell pkg-config --cflags-only-I $$(MPI_PC_$(1)))) \
		$(MPI_INC_$(1)) -DGM_$(1) $$(ALL_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach m,$(MPICC),$(eval $(call mpi_front,$m)))

# The program has an MPI library already, so wrappers are linked with none. The component is: an interpreter may have loaded
# its library for one module only. Both load libgoalsched from where it is installed with them.
# Lazy: the launcher, in which it may be preloaded, has no MPI library at all.
$(BUILD)/lib/libgoalmpi-mpich.so: $(call mpi_obj,mpich) $(BUILD)/util/library.o | $(LIBRARY)
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-z,lazy -Wl,-rpath,'$$ORIGIN' -o $@ $^
$(BUILD)/lib/goalmpi/mca_coll_goal.so: $(call mpi_obj,openmpi) $(BUILD)/util/library.o | $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -shared -Wl,-z,nodelete -Wl,-rpath,'$$ORIGIN/..' -o $@ $^ \
		-Wl,--no-as-needed $(shell pkg-config --libs ompi-c)
# Open MPI looks for the component of memory pools in a library of its own. It has no code, so nothing is kept for a debugger;
# what packages are built with removes the rest only from libraries that are not stripped.
$(BUILD)/lib/goalmpi/mca_mpool_goal.so: $(BUILD)/lib/goalmpi/mca_coll_goal.so
	$(call say,LD)$(LINK) -s -shared -Wl,-z,nodelete -Wl,-rpath,'$$ORIGIN' -o $@ -Wl,--no-as-needed -L$(@D) -l:$(<F) && \
		objcopy -R .comment $@
# With Open MPI 5 it is empty, and yet names the C library: a library that needs none looks like a fault.
$(BUILD)/lib/libgoalmpi-openmpi.so: $(BUILD)/mpi-openmpi/mpi/openmpi/names.o
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^ -Wl,--no-as-needed -lc

# ---- how things are made ----

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Without contraction and without traps the vector variants compute what the scalar one does. clang would warn of loops that it
# cannot vectorise. How fast a loop is depends on where in a line it begins, so that must not change with the rest of the library.
$(BUILD)/runtime/kernels/loops-%.o: runtime/kernels/loops.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -O3 -falign-functions=64 -falign-loops=64 -ffp-contract=off -fno-trapping-math \
		-fno-math-errno -Wno-pass-failed $(KERNELS_$*) -DVARIANT_NAME=$* -MMD -MP -c -o $@ $<

# Parsers of bison count errors for nobody, as clang sees since 15.
$(BUILD)/lang/%.o: $(BUILD)/lang/%.c
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -Wno-unused-but-set-variable -MMD -MP -c -o $@ $<

$(BUILD)/lang/%.tab.c $(BUILD)/lang/%.tab.h &: lang/%.y
	@mkdir -p $(@D)
	$(call say,BISON)bison -Wall -Werror --header=$(BUILD)/lang/$*.tab.h -o $(BUILD)/lang/$*.tab.c $<

$(BUILD)/lang/%.lex.c: lang/%.l
	@mkdir -p $(@D)
	$(call say,FLEX)flex -o $@ $<

# An optional header that has come or gone is no file whose time make could compare: "make deps check" may bring it. Neither is
# the directory of "make install PREFIX=...", of which what has been built before knows nothing.
NOTED_pmix     = $(PMIX)
NOTED_scheddir = $(SCHEDDIR)
$(BUILD)/runtime/bootstrap/world.o: $(BUILD)/pmix
$(BUILD)/util/install.o: $(BUILD)/scheddir
$(BUILD)/pmix $(BUILD)/scheddir: FORCE
	@mkdir -p $(@D) && echo '$(NOTED_$(@F))' | cmp -s - $@ || echo '$(NOTED_$(@F))' > $@
.PHONY: FORCE

# Texts as strings.
$(BUILD)/%.inc: %.goal
	@mkdir -p $(@D)
	$(call say,INC)sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $< > $@

# The definitions of the collectives: their names, and their binaries, by the parts of the compiler that make programs.
DEFINITIONS := compiler/collectives/collectives.goal
EMBED := $(BUILD)/compiler/embed/embed
EMBEDS := \
	compiler/embed/embed \
	compiler/collectives/names \
	compiler/ir/ir \
	compiler/ir/image \
	compiler/ir/smcq \
	compiler/lower/lower_program \
	$(patsubst %.c,%,$(wildcard compiler/lower/gen*.c)) \
	$(filter-out util/report,$(call sources,util lang format))
$(EMBED): $(call obj,$(EMBEDS)) $(HOOK_O) $(GENERATED)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)
$(BUILD)/compiler/collectives/definitions.inc: $(DEFINITIONS) $(EMBED)
	$(call say,EMBED)$(EMBED) $< > $@
$(BUILD)/compiler/collectives/names.inc: $(DEFINITIONS)
	@mkdir -p $(@D)
	$(call say,NAMES)sed -n 's/^schedule \([A-Za-z_]*\).*/NAME(\1)/p' $< > $@
$(BUILD)/compiler/collectives/definition.o: $(BUILD)/compiler/collectives/definitions.inc
$(BUILD)/compiler/collectives/names.o: $(BUILD)/compiler/collectives/names.inc
$(BUILD)/compiler/passes/pass_hierarchy.o: $(patsubst %,$(BUILD)/%.inc,compiler/passes/hierarchy schedules/bcast_binomial \
	schedules/gather_binomial schedules/lib/reduce_tree)
$(BUILD)/lang/plain.lex.o: $(BUILD)/lang/plain.tab.h
$(BUILD)/lang/parametric.lex.o: $(BUILD)/lang/parametric.tab.h
.SECONDARY:

# Specialising is part of every bind, and 10 to 17 % faster so.
SPECIALISE := \
	format/arith \
	format/call \
	format/call_edges \
	format/program \
	format/read \
	compiler/ir/ir
$(call obj,$(SPECIALISE)): override ALL_CFLAGS += $(if $(filter -O2,$(CFLAGS)),-O3)

# The schedules of the selection table, compiled, so that the first call of a collective in a process does not compile: with
# the definitions and passes of the row in the name, as in bcast_chain,segments=16+fuse@wait=1.bin. Rows with the pass hierarchy, which
# depends on the nodes of a group, or with several keys are compiled when they are selected.
comma := ,
TABLED := $(patsubst %,$(BUILD)/schedules/%.bin,$(shell sed -n -e 's/ *\#.*//' -e '/-T *\(hierarchy\|[a-z-]*:[^ ]*,\)/d' \
	-e 's/.*-> *\([a-z_]*\)\.goal */\1/' -e T -e 's/:/@/g; s/ *-T */+/g; s/ *-D */,/g; p' schedules/select.table | sort -u))
.PHONY: tabled
tabled: $(TABLED)
$(TABLED): $(BUILD)/schedules/%.bin: $(BUILD)/bin/goalc $(wildcard schedules/*.goal schedules/lib/*.goal)
	@mkdir -p $(@D)
	$(call say,GOALC)$< -g schedules/$(firstword $(subst $(comma), ,$(subst +, ,$*))).goal \
		$(patsubst %,-D %,$(wordlist 2,9,$(subst $(comma), ,$(firstword $(subst +, ,$*))))) \
		$(patsubst %,-T %,$(subst @,:,$(wordlist 2,9,$(subst +, ,$*)))) -o $@

# ---- the installed tree ----

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DOCDIR     ?= $(DATADIR)/doc/goalsched
# Where the shells and editors of most systems look.
BASHDIR    ?= $(DATADIR)/bash-completion/completions
VIMDIR     ?= $(DATADIR)/vim/vimfiles
SCHEDDIR   := $(DATADIR)/goalsched/schedules
# Where what is installed looks last, after the directories beside it.
$(BUILD)/util/install.o: override CPPFLAGS += -DGOAL_SCHEDDIR='"$(SCHEDDIR)"'

# All that is installed. Files: mode, directory, files.
define TREE
755 $(BINDIR) $(PROGRAMS)
644 $(LIBDIR) $(LIBRARY).$(VERSION)
644 $(LIBDIR) $(BUILD)/lib/$(LIBNAME).a
644 $(INCLUDEDIR) $(wildcard include/*.h)
$(if $(MPICC),755 $(BINDIR) mpi/goalmpi-run)
$(if $(MPI_LIBS),644 $(LIBDIR) $(filter-out $(BUILD)/lib/goalmpi/%,$(MPI_LIBS)))
$(if $(filter openmpi,$(MPICC)),644 $(LIBDIR)/goalmpi $(filter $(BUILD)/lib/goalmpi/%,$(MPI_LIBS)))
$(if $(filter openmpi,$(MPICC)),644 $(INCLUDEDIR) $(wildcard mpi/openmpi/goal_mpi4*))
644 $(MANDIR)/man1 $(wildcard man/*.1)
644 $(MANDIR)/man3 $(wildcard man/*.3)
644 $(MANDIR)/man5 $(wildcard man/*.5)
644 $(MANDIR)/man7 $(wildcard man/*.7)
644 $(SCHEDDIR) $(wildcard schedules/*.goal) schedules/select.table
644 $(SCHEDDIR)/lib $(wildcard schedules/lib/*.goal)
644 $(SCHEDDIR) $(TABLED)
644 $(DOCDIR) README.md CHANGES LICENSE
644 $(DOCDIR)/doc doc/tour.md
644 $(DOCDIR)/examples $(wildcard examples/*.c examples/*.goal) examples/Makefile
644 $(BASHDIR) share/bash/goalc
644 $(VIMDIR)/syntax share/vim/syntax/goal.vim
644 $(VIMDIR)/ftdetect share/vim/ftdetect/goal.vim
endef
# Links: directory, name, target.
define TREE_LINKS
$(LIBDIR) $(LIBNAME).so.$(SOMAJOR) $(LIBNAME).so.$(VERSION)
$(LIBDIR) $(LIBNAME).so $(LIBNAME).so.$(SOMAJOR)
$(BASHDIR) goalinfo goalc
$(BASHDIR) goalrun goalc
$(BASHDIR) goalsim goalc
endef
# Files that name the installed directories: directory, and templates FILE.in.
define TREE_TEMPLATES
$(LIBDIR)/pkgconfig share/goalsched.pc.in
$(LIBDIR)/cmake/goalsched share/goalsched-config.cmake.in share/goalsched-config-version.cmake.in
endef
export TREE TREE_LINKS TREE_TEMPLATES
# What belongs to goalsched alone, and goes with it, inner directories first. Those that others use stay, even empty.
OWN_DIRS := $(SCHEDDIR)/lib $(SCHEDDIR) $(patsubst %/,%,$(dir $(SCHEDDIR))) $(DOCDIR)/doc $(DOCDIR)/examples $(DOCDIR) \
	$(LIBDIR)/cmake/goalsched $(LIBDIR)/goalmpi
# @libdir@ is relative to the prefix, if it can be, for those who move the tree.
relative = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
FILL := sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|; s|@SOMAJOR@|$(SOMAJOR)|' \
	-e 's|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@SCHEDDIR@|$(SCHEDDIR)|' \
	-e 's|@libdir@|$(call relative,$(LIBDIR))|; s|@includedir@|$(call relative,$(INCLUDEDIR))|' \
	-e 's|@schedulesdir@|$(call relative,$(SCHEDDIR))|; s|@docdir@|$(call relative,$(DOCDIR))|'

# DESTDIR is put before every path, and is in no file. The others are words of lists, and are in files of several languages, which
# are also used from other directories.
.PHONY: install uninstall directories
directories:
	@for d in $(foreach v,PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR MANDIR DOCDIR BASHDIR VIMDIR,'$v=$($v)'); do \
	case $${d#*=} in [!/]* | *[][[:blank:]\&\|\;\<\>\(\)\\\"\`\$$*?\#%]*) echo "$${d%%=*} has to be an absolute path without" \
		"blanks and characters like & and *, unlike DESTDIR" >&2; exit 1 ;; esac; done

# Templates are filled in now, as the directories are known only now.
install: directories all
	@set -e; printf '%s\n' "$$TREE" | sed '/^$$/d' | while read -r mode dir files; do \
		install -d "$(DESTDIR)$$dir"; install -m $$mode $$files "$(DESTDIR)$$dir"; done
	@set -e; printf '%s\n' "$$TREE_LINKS" | while read -r dir name target; do ln -sf $$target "$(DESTDIR)$$dir/$$name"; done
	@set -e; printf '%s\n' "$$TREE_TEMPLATES" | while read -r dir files; do install -d "$(DESTDIR)$$dir"; \
		for f in $$files; do to="$(DESTDIR)$$dir/$$(basename $$f .in)"; $(FILL) $$f >"$$to"; chmod 644 "$$to"; done; done

# Given the same directories.
uninstall: directories
	@printf '%s\n' "$$TREE" | sed '/^$$/d' | while read -r mode dir files; do \
		for f in $$files; do rm -f "$(DESTDIR)$$dir/$${f##*/}"; done; done
	@printf '%s\n' "$$TREE_LINKS" | while read -r dir name target; do rm -f "$(DESTDIR)$$dir/$$name"; done
	@printf '%s\n' "$$TREE_TEMPLATES" | while read -r dir files; do \
		for f in $$files; do rm -f "$(DESTDIR)$$dir/$$(basename $$f .in)"; done; done
	@for d in $(OWN_DIRS); do [ ! -d "$(DESTDIR)$$d" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$d"; done

# The Debian packages of HEAD: built, inspected, installed, tested and removed, in clean roots of both releases. Needs root, and
# mmdebstrap.
.PHONY: check-package check-package12 check-package13
check-package: check-package12 check-package13
RELEASE_12 := bookworm
RELEASE_13 := trixie
check-package12 check-package13: check-package%:
	@bash tests/guest/debian.sh $(RELEASE_$*) build-package$* bash tests/guest/package.sh

# ---- tests ----

# A file of tests/rt is a program of users' calls, but for what these share and those that are linked in another way.
RT_OTHERS := \
	nomem \
	team \
	transport \
	unload \
	views
TEAM := tests/rt/team tests/rt/transport
RT_BINS := $(patsubst tests/rt/%.c,$(BUILD)/tests/rt-%,$(filter-out $(RT_OTHERS:%=tests/rt/%.c),$(wildcard tests/rt/*.c)))
TEST_BINS := \
	$(RT_BINS) \
	$(BUILD)/tests/rt-cases \
	$(BUILD)/tests/unload \
	$(BUILD)/tests/views \
	$(BUILD)/tests/unit-all \
	$(BUILD)/tests/trace-check \
	$(BUILD)/tests/report \
	$(BUILD)/tests/oracle

# Users' view: the shared library and its header.
define link_user
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) -L$(BUILD)/lib -lgoalsched -lcunit -Wl,-rpath,'$$ORIGIN/../lib'
endef
$(BUILD)/tests/rt-cases: $(call obj,$(call sources,tests/rt/cases) $(TEAM)) $(LIBRARY)
	$(link_user)
$(BUILD)/tests/rt-%: $(BUILD)/tests/rt/%.o $(call obj,$(TEAM)) $(LIBRARY)
	$(link_user)

$(BUILD)/tests/unload: $(BUILD)/tests/rt/unload.o
	$(call say,LD)$(LINK) -o $@ $^ -ldl
$(BUILD)/tests/nomem: $(call obj,tests/rt/nomem $(TEAM)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

# Backends without a runtime.
$(BUILD)/tests/views: $(call obj,tests/rt/views $(filter-out backends/list/% backends/mpi/% backends/smcq/% backends/verbs/%,$(BACKENDS))) $(COMPILE_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

# What the library does not have, beside the tests themselves.
UNIT_PARTS := \
	goalrun/energy \
	goalrun/nic/copier \
	goalrun/nic/nic \
	goalrun/oracle \
	goalrun/sweep \
	goalrun/values \
	goalrun/work \
	tests/loop/loop \
	util/svg
$(BUILD)/tests/unit-all: $(call obj,$(call sources,tests/unit) $(UNIT_PARTS)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ -lcunit $(LIBS)

# Sites beside specialised ops.
EVALUATE := $(BUILD)/tests/allranks/evaluate
$(EVALUATE): $(call obj,tests/allranks/evaluate $(addprefix compiler/allranks/,loops parts term sites)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

# The executor that decides what a schedule does, whatever the verifier says.
EXECUTED := $(addprefix $(BUILD)/tests/mutants/,mutants referee random)
$(BUILD)/tests/mutants/mutants: $(call obj,$(addprefix tests/mutants/,main load mutate))
$(BUILD)/tests/mutants/referee: $(call obj,$(addprefix tests/mutants/,referee load))
$(BUILD)/tests/mutants/random: $(call obj,$(addprefix tests/mutants/,random mutate))
$(EXECUTED): $(call obj,$(addprefix tests/mutants/,exec world)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

# The same for lowered schedules, which has an executor of its own.
QUEUES_PARTS := \
	$(addprefix tests/queues/,main exec mutate) \
	$(addprefix tests/mutants/,load exec world) \
	compiler/print/print_promela
$(BUILD)/tests/queues/queues: $(call obj,$(QUEUES_PARTS)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/tests/report: $(call obj,tests/trace/report)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(JSON)
$(BUILD)/tests/oracle: $(call obj,tests/goalsim/oracle)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^
$(BUILD)/tests/trace-check: $(call obj,tests/trace/check)
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(JSON)

PARALLEL  := $(MAKE) --no-print-directory -j$(shell nproc)
RUN       := BUILD=$(BUILD) bash tests/run.sh
# Builds of their own, and what is installed.
VARIANTS := \
	tests/house/variants.sh \
	tests/house/docs.sh \
	tests/house/install.sh
# A share of what takes long; targets below run them in full.
CAMPAIGNS := \
	tests/backends/offload.sh \
	tests/runtime/matrix.sh \
	tests/runtime/brackets.sh \
	tests/compiler/passes.sh \
	tests/allranks/allranks.sh \
	tests/verifier/mutants.sh \
	tests/verifier/queue_mutants.sh \
	tests/runtime/epoch.sh \
	tests/runtime/starts.sh \
	tests/runtime/progress.sh \
	tests/runtime/robust.sh \
	tests/runtime/spin.sh \
	tests/verifier/promela.sh \
	tests/backends/ofi.sh \
	tests/house/bench.sh \
	tests/mpi/diff.sh \
	tests/mpi/nodes.sh \
	tests/compiler/fuzz.sh \
	tests/backends/verbs.sh \
	tests/backends/verbs_nodes.sh \
	tests/runtime/kill.sh
# Those that only campaigns run.
LONG := \
	tests/compiler/alloc.sh \
	tests/house/coverage.sh \
	tests/backends/guest.sh \
	tests/backends/verbs_kill.sh \
	tests/backends/verbs_cut.sh \
	tests/mpi/rdma.sh
# All others.
TEST_ROOMS := \
	compiler \
	verifier \
	runtime \
	goalrun \
	goalsim \
	backends \
	mpi \
	house
SHORT := \
	$(filter-out $(VARIANTS) $(CAMPAIGNS) $(LONG),$(wildcard $(patsubst %,tests/%/*.sh,$(TEST_ROOMS)))) \
	man/lint.sh

.PHONY: tests list-tests list-library list-objects check check-quick
tests: all $(TEST_BINS) $(EVALUATE) $(EXECUTED) $(BUILD)/tests/queues/queues $(BUILD)/bench/compile

# Each header compiles alone; lang/lex.h is for generated lexers only, and mpix_sched_mpi.h (tests/runtime/meet.sh) and mpi/ need MPI.
HEADERS := $(filter-out lang/lex.h format/interp.h include/mpix_sched_mpi.h mpi/% tests/mpi/% build%,$(wildcard */*.h */*/*.h */*/*/*.h))
.PHONY: hdrcheck
hdrcheck: $(patsubst %,$(BUILD)/headers/%.ok,$(HEADERS))
$(BUILD)/headers/%.ok: %
	@mkdir -p $(@D)
	$(call say,HDR)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fsyntax-only -x c -MMD -MP -MF $@.d -MT $@ $< && touch $@

# For tests/house/house.sh: a script in none of the lists would never run.
list-tests:
	@printf '%s\n' $(SHORT) $(VARIANTS) $(CAMPAIGNS) $(LONG)
# What tests take of a build, where objects of removed sources may lie.
list-library:
	@printf '%s\n' $(LIB_O)
list-objects:
	@printf '%s\n' $(sort $(LIB_O) $(call obj,$(GOALC) $(GOALRUN) $(GOALSIM)))

# All parts, with a share of each campaign, in at most 8 minutes on two cores.
check:
	@$(PARALLEL) tests
	@$(RUN) $(SHORT) $(VARIANTS) $(CAMPAIGNS)

# A minute's worth, while editing: each part's tests that find most for what they cost.
check-quick:
	@$(PARALLEL) tests
	@LARGE=20000 SIZES="2 5" $(RUN) \
		tests/compiler/diag.sh \
		tests/compiler/output.sh \
		tests/compiler/model.sh \
		tests/runtime/rt.sh \
		tests/runtime/matrix.sh \
		tests/runtime/views.sh \
		tests/goalrun/plain.sh \
		tests/goalsim/node.sh \
		tests/mpi/odd.sh \
		tests/house/unit.sh \
		tests/house/house.sh

.PHONY: asan ubsan tsan
# The same under sanitizers; each has its own objects.
SANITIZED := \
	tests/compiler/diag.sh \
	tests/compiler/samples.sh \
	tests/goalrun/plain.sh \
	tests/house/unit.sh \
	tests/runtime/rt.sh \
	tests/runtime/views.sh \
	tests/runtime/matrix.sh \
	tests/runtime/epoch.sh \
	tests/runtime/starts.sh
# What threads can do to each other.
THREADED := \
	tests/runtime/rt.sh \
	tests/runtime/wait.sh \
	tests/runtime/views.sh \
	tests/runtime/progress.sh \
	tests/runtime/matrix.sh \
	tests/runtime/epoch.sh \
	tests/runtime/starts.sh
asan:
	@$(PARALLEL) BUILD=build-asan SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" CFLAGS="-O1 -g" tests
	@LARGE=20000 SIZES="1 2 5 8" STARTS=4000 BUILD=build-asan bash tests/run.sh $(SANITIZED) tests/runtime/kill.sh
ubsan:
	@$(PARALLEL) BUILD=build-ubsan SAN="-fsanitize=undefined -fno-sanitize-recover=all" CFLAGS="-O1 -g" tests
	@LARGE=20000 SIZES="1 2 5 8" STARTS=4000 BUILD=build-ubsan bash tests/run.sh $(SANITIZED)
# Without MPI: headers of Open MPI have fences, which ThreadSanitizer does not know.
tsan:
	@$(PARALLEL) BUILD=build-tsan MPICC= SAN=-fsanitize=thread CFLAGS="-O1 -g" tests
	@LARGE=20000 SIZES="2 5" KINDS=threads WAITS=2000 STARTS=$(or $(STARTS),20000) BUILD=build-tsan bash tests/run.sh $(THREADED)

# The campaigns; check-long is all of them, in less than three hours on two cores. A number on the command line makes one longer, as in
# "make mutants MOST=3000" or "make matrix SWEEP=all", which tries every combination and takes hours.
LONG_RUNS := variants coverage matrix epoch alloc mutants allranks verify-large promela offload kill check-verbs kill-verbs \
	check-mpi fuzz releases
.PHONY: check-long $(LONG_RUNS)
check-long: check
	@failed=; for run in $(LONG_RUNS); do \
		start=$$(date +%s); $(MAKE) --no-print-directory $$run || failed="$$failed $$run"; \
		echo "== $$run: $$(($$(date +%s) - start)) s"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }
# Builds by clang and with sanitizers.
variants:
	@$(PARALLEL) tests
	@SWEEP=all $(RUN) tests/house/variants.sh
epoch:
	@$(PARALLEL) tests
	@STARTS=$(or $(STARTS),20000) $(RUN) tests/runtime/epoch.sh tests/runtime/starts.sh
	@WAITS=$(or $(WAITS),20000) $(RUN) tests/runtime/wait.sh
	@ITERS=$(or $(ITERS),100) $(RUN) tests/runtime/progress.sh
	@$(MAKE) tsan STARTS=$(or $(STARTS),10000)
# What a schedule of the library has to pass: pairs of all values.
matrix:
	@$(PARALLEL) tests
	@SWEEP=$(or $(SWEEP),pairs) $(RUN) tests/runtime/matrix.sh tests/compiler/passes.sh
	@SWEEP=all $(RUN) tests/compiler/split.sh tests/compiler/calls.sh tests/compiler/samples.sh tests/runtime/robust.sh tests/backends/ofi.sh
	@SWEEP=all RUN_LIMIT=7200 RANKS="$(or $(RANKS),3 6)" $(RUN) tests/runtime/brackets.sh
# Each allocation of the compiler and of goalrun fails.
alloc:
	@$(PARALLEL) tests
	@SWEEP=all $(RUN) tests/compiler/alloc.sh
# Every schedule of the library changed in one place, against the verifier.
mutants:
	@$(PARALLEL) tests
	@MOST=$(or $(MOST),60) TEXTS=$(or $(TEXTS),30) GRAPHS=$(or $(GRAPHS),20000) LIMIT=1800 BUILD=$(BUILD) bash tests/verifier/mutants.sh
	@MOST=$(or $(MOST),20) SWEEP=all BUILD=$(BUILD) bash tests/verifier/queue_mutants.sh
	@RANKS=1-6 $(RUN) tests/compiler/queues.sh
# Proofs for every number of ranks, faults that no sampled size shows, and closed forms of what the schedules do.
allranks:
	@$(PARALLEL) all $(EVALUATE)
	@SWEEP=all BUILD=$(BUILD) bash tests/allranks/allranks.sh
	@SWEEP=all BUILD=$(BUILD) bash tests/compiler/schedules.sh
# The library with 1,024 ranks, within bounds of time and memory.
verify-large:
	@$(PARALLEL) all
	@SWEEP=all BUILD=$(BUILD) bash tests/verifier/verify.sh
# The protocols, and lowered schedules and mutants of them, against spin.
promela:
	@$(PARALLEL) tests
	@SWEEP=all $(RUN) tests/runtime/spin.sh
	@SIZES="2 3 4 5" MUTATED="2 3" MUTANTS=$(or $(MUTANTS),300) LIMIT=$(or $(LIMIT),10) \
		SCHEDULES="$(notdir $(wildcard schedules/*.goal))" BUILD=$(BUILD) bash tests/verifier/promela.sh
kill:
	@$(PARALLEL) tests
	@RUNS=$(or $(RUNS),300) STORM=100 FILES=64 $(RUN) tests/runtime/kill.sh tests/runtime/faults.sh
# On Soft-RoCE in guests: all that schedules can meet there, and what breaks.
check-verbs:
	@$(PARALLEL) tests
	@SWEEP=$(or $(SWEEP),pairs) BUILD=$(BUILD) bash tests/backends/verbs.sh
	@SWEEP=all $(RUN) tests/backends/verbs_nodes.sh tests/backends/guest.sh
kill-verbs:
	@$(PARALLEL) tests
	@RUNS=$(or $(RUNS),40) BUILD=$(BUILD) bash tests/backends/verbs_kill.sh
	@RUNS=$(or $(RUNS),40) BUILD=$(BUILD) bash tests/backends/verbs_cut.sh
# Programs of every MPI library that is installed: 5,000 random persistent collectives on one node, and others on several. CASES=500
# makes it 20,000.
check-mpi:
	@$(PARALLEL) tests
	@SWEEP=all RUN_LIMIT=7200 CASES=$(or $(CASES),125) $(RUN) $(wildcard tests/mpi/*.sh)
fuzz:
	@$(PARALLEL) tests
	@SECONDS_EACH=$(or $(SECONDS_EACH),200) $(RUN) tests/compiler/fuzz.sh

# Both releases of Debian, and the packages for them.
releases:
	@if [ "$$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null; then \
		$(MAKE) --no-print-directory check-debian12 && $(MAKE) --no-print-directory check-debian13 && \
		$(MAKE) --no-print-directory check-package; \
	else echo "skip releases: they need root and mmdebstrap"; fi

# Every shape of the offloaded broadcast up to 36 ranks, in random orders of packets.
offload:
	@$(PARALLEL) all
	@SHAPES="2,2,2 3,2,2 4,2,2 3,3,2 4,3,2 3,3,3 4,3,3" ORDERS=$(or $(ORDERS),20) STARTS=$(or $(STARTS),300) BUILD=$(BUILD) bash tests/backends/offload.sh

# How much of the code the tests run; $(BUILD)-cov/uncovered.txt has the rest.
coverage: all
	@SWEEP=all VERBOSE=1 $(RUN) tests/house/coverage.sh

.PHONY: guest
# What guests boot (tests/guest/run.sh), the same for every BUILD. The kernel's package is only unpacked.
GUEST  := build/guest
KERNEL := $(GUEST)/linux.deb
guest: $(GUEST)/initrd
$(GUEST)/vmlinux $(GUEST)/initrd &: $(KERNEL) tests/guest/build.sh tests/guest/init tests/guest/node
	$(call say,GUEST)bash tests/guest/build.sh $(KERNEL) $(GUEST)

$(KERNEL):
	@mkdir -p $(@D)
	$(call say,GET)cd $(@D) && apt-get -qq -o APT::Sandbox::User=root download \
		"$$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')" && mv linux-image-*.deb $(@F)

# ---- benchmarks ----

# Those that scripts start as ranks.
BENCH_RANKS := \
	$(BUILD)/bench/smcq_rank \
	$(BUILD)/bench/verbs_bcast
BENCH_OTHERS := \
	$(BUILD)/bench/bench \
	$(BUILD)/bench/overlap_mpi \
	$(BUILD)/bench/plot \
	$(BUILD)/bench/tools
BENCHES := $(filter-out $(BENCH_RANKS) $(BENCH_OTHERS),$(patsubst bench/%.c,$(BUILD)/bench/%,$(wildcard bench/*.c)))
PEERS := $(patsubst %,$(BUILD)/bench/overlap-%,$(MPICC))

# Inner parts are measured as well, so they take the objects.
$(BENCHES) $(BENCH_RANKS): $(BUILD)/bench/%: $(BUILD)/bench/%.o $(call obj,bench/bench bench/tools $(TEAM)) $(LIB_O)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) $(JSON) -lm

$(PEERS): $(BUILD)/bench/overlap-%: bench/overlap_mpi.c goalrun/work.c runtime/board/board.c util/mem.c goalrun/work.h \
		$(if $(HOOK),tests/alloc/hook.c)
	@mkdir -p $(@D)
	$(call say,MPICC)mpicc.$* $(CPPFLAGS) -std=gnu17 $(WARN) -pthread $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^)

# The driver of bench/collectives.sh, and the programs of the ranks, which share its board.
SIDES     := $(BUILD)/bench/collectives
BOARD     := bench/bench $(addprefix bench/collectives/,board cell)
SIDE      := $(BOARD) bench/collectives/rank
COLLECT   := $(addprefix $(SIDES)/,drive limit ours) $(patsubst %,$(SIDES)/mpi-%,$(MPICC))
$(SIDES)/drive: $(HOOK_O) $(call obj,bench/collectives/drive $(BOARD))
	$(call say,LD)$(LINK) -o $@ $^ $(JSON) -lm
$(SIDES)/limit: $(HOOK_O) $(call obj,$(addprefix bench/collectives/,limit private) $(SIDE))
	$(call say,LD)$(LINK) -o $@ $^ $(JSON) -lm
$(SIDES)/ours: $(HOOK_O) $(call obj,bench/collectives/ours $(SIDE)) $(LIBRARY)
	$(call say,LD)$(LINK) -o $@ $^ -Wl,-rpath,'$(abspath $(BUILD)/lib)' $(JSON) -lm
$(SIDES)/mpi-%: bench/collectives/mpi.c $(addsuffix .c,$(SIDE)) $(wildcard bench/*.h bench/collectives/*.h) \
		$(if $(HOOK),tests/alloc/hook.c)
	@mkdir -p $(@D)
	$(call say,MPICC)mpicc.$* $(CPPFLAGS) -std=gnu17 $(WARN) -Wno-stringop-overflow -pthread $(CFLAGS) $(LDFLAGS) -o $@ \
		$(filter %.c,$^) $(JSON) -lm

PLOT := $(BUILD)/bench/plot
$(PLOT): $(HOOK_O) $(call obj,bench/plot $(addprefix util/,svg text mem err))
	$(call say,LD)$(LINK) -o $@ $^ -lm

tests: $(BENCHES) $(BENCH_RANKS) $(PEERS) $(COLLECT) $(PLOT)

.PHONY: bench bench-collectives bench-overlap bench-smcq bench-verbs experiments
# Prints what it measures beside what is written by hand; decides nothing. BENCH_FLAGS: -q, -j
bench:
	@$(PARALLEL) all $(BENCHES)
	@set -e; for b in $(BENCHES); do $$b $(BENCH_FLAGS); done
# The library's overlap beside that of MPI libraries. COLLECTIVES, SIZES, RANKS, ITERS, TESTS: see the script
bench-overlap:
	@$(PARALLEL) all $(PEERS)
	@BUILD=$(BUILD) bash bench/overlap.sh
# Collectives of the library, of MPI libraries and by hand, side by side. COLLECTIVES, SIZES, RANKS, WHO, OUT, ...: see the script
bench-collectives:
	@$(PARALLEL) all $(COLLECT) $(PLOT)
	@BUILD=$(BUILD) bash bench/collectives.sh
# A broadcast on command queues beside the same one on CPUs, with pictures. RANKS, SIZES, EACH, SEGMENT, OUT: see the script
bench-smcq:
	@$(PARALLEL) all $(BENCH_RANKS) $(PLOT)
	@BUILD=$(BUILD) bash bench/smcq.sh
# The backend verbs beside perftest, in a guest. ROUNDS, ITERS, LARGE: see the script
bench-verbs:
	@$(PARALLEL) all $(BENCH_RANKS)
	@BUILD=$(BUILD) bash bench/verbs.sh
# Experiments of the papers, with pictures of what this machine gives. RANKS, BYTES, ITERS, OUT, ...: see the script
experiments:
	@$(PARALLEL) all $(PEERS) $(PLOT)
	@BUILD=$(BUILD) bash bench/experiment.sh
experiment-%:
	@$(PARALLEL) all $(PEERS) $(PLOT)
	@BUILD=$(BUILD) bash bench/experiment.sh $*
# One of the benchmarks.
bench-%:
	@$(PARALLEL) all $(BUILD)/bench/$*
	@$(BUILD)/bench/$* $(BENCH_FLAGS)

# ---- a new machine ----

# To build and to run
PACKAGES := gcc libc6-dev make flex bison pkg-config
PACKAGES += libjson-c-dev libxxhash-dev libhwloc-dev libfabric-dev libsodium-dev libibverbs-dev ibverbs-providers
# Other compilers, and what tests look with
TESTERS := libcunit1-dev clang libclang-rt-dev spin cvc5 z3 tcc valgrind strace binutils procps
# The manual
TESTERS += mandoc man-db groff bsdextrautils
# Launchers and libraries of MPI, and the languages in which they are called
TESTERS += libpmix-dev openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran python3-mpi4py
# Guests, and RDMA in them
TESTERS += qemu-system-x86 busybox-static kmod cpio xz-utils zstd iproute2 openssh-client dropbear-bin
TESTERS += ibverbs-utils perftest
SUDO    := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# Beside these goals, deps installs what tests need as well.
BUILDING := deps all demo install uninstall
TESTING  := $(filter-out $(BUILDING),$(MAKECMDGOALS))
.PHONY: deps demo clean
deps:
	$(SUDO) apt-get update
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(PACKAGES) $(if $(TESTING),$(TESTERS))
	@$(if $(TESTING),$(MAKE) --no-print-directory $(KERNEL))

# One schedule from its text to data that has been moved and checked.
demo:
	@$(PARALLEL) all
	@PATH="$(BUILD)/bin:$$PATH"; set -ex; \
	goalc schedules/bcast_binomial.goal -o bcast.bin; \
	goalrun -n 4 --verify bcast.bin

ifneq ($(filter deps,$(MAKECMDGOALS)),)
.NOTPARALLEL: # what deps installs comes first
endif

# "make deps check", or IN="COMMAND...", in a clone of HEAD in a minimal root of that release. Needs root, and mmdebstrap.
.PHONY: check-debian12 check-debian13
SUITE_12 := bookworm
SUITE_13 := trixie
check-debian12 check-debian13: check-debian%:
	@bash tests/guest/debian.sh $(SUITE_$*) build-debian$* $(IN)

clean:
	rm -rf $(BUILD) $(if $(filter build,$(BUILD)),build-*)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
