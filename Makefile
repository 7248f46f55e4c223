# SPDX-License-Identifier: BSD-3-Clause
# make deps demo | make deps check | make | make check-quick | make asan ubsan tsan | make fuzz

MAKEFLAGS += -r
.DELETE_ON_ERROR:
.SUFFIXES:

VERSION   := 0.1.0
SOMAJOR   := 0
BUILD     ?= build
CC        := $(if $(filter default,$(origin CC)),gcc,$(CC))
PREFIX    ?= /usr/local
CFLAGS    ?= -O2 -g
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror
override CPPFLAGS += -D_GNU_SOURCE -DGOAL_VERSION='"$(VERSION)"' -I. -I$(BUILD) -Iruntime
override ALL_CFLAGS = -std=c17 $(WARN) -fPIC -fvisibility=hidden -pthread $(CFLAGS) $(SAN)
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$@)';)

# ---- sources, one list per directory ----

UTIL     := arena env err file mem options text
LANG     := loc parse
READER   := bin_read bin_check
COMPILER := $(READER) bin_write checks compile ir lower_concrete lower_plain lower_program \
            pass_reduce_deps passes print
RUNTIME  := api bind board ctx group heap kernels sched types
BACKENDS := backends engine layout shm/shm
GOALRUN  := launch main oracle rank

obj = $(patsubst %,$(BUILD)/$(1)/%.o,$(2))
GENERATED := $(call obj,lang,plain.tab plain.lex parametric.tab parametric.lex)
COMPILE_O := $(call obj,util,$(UTIL)) $(call obj,lang,$(LANG)) $(call obj,compiler,$(COMPILER)) $(GENERATED)
LIB_O     := $(COMPILE_O) $(call obj,runtime,$(RUNTIME)) $(call obj,backends,$(BACKENDS))

LIBNAME   := libgoalsched
LIBRARY   := $(BUILD)/lib/$(LIBNAME).so
PROGRAMS  := $(BUILD)/bin/goalc $(BUILD)/bin/goalrun

all: $(PROGRAMS) $(LIBRARY) $(BUILD)/lib/$(LIBNAME).a $(BUILD)/lib/pkgconfig/goalsched.pc

$(BUILD)/bin/goalc: $(call obj,compiler,main) $(COMPILE_O)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CFLAGS) -o $@ $^ -ljson-c

$(BUILD)/bin/goalrun: $(call obj,runtime/run,$(GOALRUN)) $(LIB_O)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CFLAGS) -o $@ $^ -ljson-c

# Applications see the functions of mpix_sched.h and nothing else.
$(LIBRARY): $(LIB_O) runtime/goalsched.map
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(LIBNAME).so.$(SOMAJOR) -Wl,-z,defs \
		-Wl,--version-script,runtime/goalsched.map -o $@.$(VERSION) $(LIB_O) -ljson-c
	@ln -sf $(LIBNAME).so.$(VERSION) $@.$(SOMAJOR) && ln -sf $(LIBNAME).so.$(VERSION) $@

$(BUILD)/lib/$(LIBNAME).a: $(LIB_O)
	@mkdir -p $(@D)
	$(call say,AR)rm -f $@ && ar rcs $@ $^

$(BUILD)/lib/pkgconfig/goalsched.pc: runtime/goalsched.pc.in Makefile
	@mkdir -p $(@D)
	@sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< > $@

# ---- how things are made ----

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/lang/%.o: $(BUILD)/lang/%.c
	$(call say,CC)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/lang/%.tab.c $(BUILD)/lang/%.tab.h &: lang/%.y
	@mkdir -p $(@D)
	$(call say,BISON)bison -Wall -Werror --header=$(BUILD)/lang/$*.tab.h -o $(BUILD)/lang/$*.tab.c $<

$(BUILD)/lang/%.lex.c: lang/%.l
	@mkdir -p $(@D)
	$(call say,FLEX)flex -o $@ $<

$(BUILD)/lang/plain.lex.o: $(BUILD)/lang/plain.tab.h
$(BUILD)/lang/parametric.lex.o: $(BUILD)/lang/parametric.tab.h
.SECONDARY:

# Firmware carries this reader: no libc behind it but the four that gcc asks for.
READER_ALLOWED := memcpy|memset|memcmp|memmove|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_
$(BUILD)/freestanding/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) -std=c17 $(WARN) -I. -O2 -ffreestanding -MMD -MP -c -o $@ $<

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all clean
