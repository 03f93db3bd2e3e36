# Tessera's build. PETSc is the one of PETSC_DIR (and PETSC_ARCH), else the one pkg-config knows, else Debian's.
#
#   make            the library               make deps       install what is missing (apt)
#   make check      load it, solve once       make test       the essential tests (FILTER=text: a part of all)
#   make test-all   everything under tests/   make test-long  random cases (CASES=10000 SEED=0 SANITIZE=0|1)
#   make demo       one of the examples       make demo-all   five of them
#   make bench      the measurements (BENCH=suite or program)
#   make docs       the documentation as a site, in build/docs (with Sphinx from PyPI, docs/requirements.txt)
#   make install    PREFIX= LIBDIR= DESTDIR=  make print-lib  the library's path, for -dll_append
#   make pack-tests the device's tests as a folder for machines without PETSc (docs/howto/gpu.md)
#   make petsc-cuda build a PETSc with CUDA in a cache folder (docs/howto/gpu.md)
#
# Variables: CUDA=0|1|emulate (default: as PETSc; emulate: the device path on the host, for tests)  CUDA_ARCH=90  OPENMP=0|1  MARCH=native  OPT=-O3  CXXFLAGS=  WERROR=0|1  PRECOMPILED=0|1  JOBS=2

.DEFAULT_GOAL := all
SHELL  := /bin/bash
ifneq ($(words $(CURDIR)),1)
  $(error The path of this folder has blanks ($(CURDIR)), which make and PETSc's tools cannot handle: put Tessera elsewhere)
endif
TOP    := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
PREFIX ?= /usr/local
ifeq ($(PREFIX),)
  $(error PREFIX is empty: say where to install, or leave it out for /usr/local)
endif
MARCH  ?= native
OPENMP ?= 1
JOBS   ?= 2
# Those of g++ alone; ccache would keep nothing that is made with them.
PRECOMPILED ?= $(if $(findstring ccache,$(CXX)),0,$(if $(shell $(CXX) --version 2>/dev/null | grep 'Free Software'),1,0))
# Goals that build and run build JOBS files at a time, where make was not told how many.
PARALLEL = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
BENCH  ?= all

#--- PETSc -----------------------------------------------------------------------------------------------------------
# A PETSc in its source tree keeps headers in PETSC_DIR and libraries in PETSC_DIR/PETSC_ARCH; an installed one has no
# PETSC_ARCH. pkg-config's prefix is PETSC_DIR/PETSC_ARCH in both cases.
ifeq ($(PETSC_DIR),)
  prefix := $(shell for p in PETSc petsc; do pkg-config --variable=prefix $$p 2>/dev/null && break; done)
  ifeq ($(wildcard $(prefix)/include/petscversion.h),)
    PETSC_DIR := $(patsubst %/,%,$(dir $(prefix)))
    override PETSC_ARCH := $(notdir $(prefix))
  else
    PETSC_DIR := $(prefix)
    override PETSC_ARCH :=
  endif
else
  PETSC_GIVEN := 1
endif
PETSC_PREFIX := $(patsubst %/,%,$(PETSC_DIR)/$(PETSC_ARCH))
PETSC_CONF   := $(wildcard $(PETSC_PREFIX)/lib/petsc/conf/petscvariables)

# Goals that need PETSc; the others install it, or can do without.
WANTS_PETSC := $(filter-out deps docs test test-all test-long demo demo-all bench clean format petsc-cuda,$(or $(MAKECMDGOALS),all))
ifneq ($(PETSC_CONF),)
  include $(PETSC_CONF)
else ifneq ($(WANTS_PETSC),)
  ifdef PETSC_GIVEN
    $(error No PETSc in PETSC_DIR=$(PETSC_DIR) PETSC_ARCH=$(PETSC_ARCH): $(PETSC_PREFIX)/lib/petsc/conf/petscvariables is missing)
  else
    $(error No PETSc found: run `make deps` to install Debian's or Ubuntu's (package petsc-dev), or set PETSC_DIR and PETSC_ARCH)
  endif
endif

ifneq ($(PETSC_CONF),)
  PETSC_LIB_DIR  := $(PETSC_PREFIX)/lib
  PETSC_INC_DIRS := $(filter-out /usr/include,$(patsubst -I%,%,$(filter -I%,$(PETSC_CC_INCLUDES))))
  petscversion   := $(shell awk '/define PETSC_VERSION_(MAJOR|MINOR|SUBMINOR) /{printf s $$3; s="."}' \
                      $(firstword $(wildcard $(addsuffix /petscversion.h,$(PETSC_INC_DIRS)))) /dev/null)
  ifneq ($(PETSC_SCALAR)-$(PETSC_PRECISION),real-double)
    ifneq ($(WANTS_PETSC),)
      $(error Tessera needs a PETSc with real scalars in double precision; $(PETSC_PREFIX) has $(PETSC_SCALAR) scalars in $(PETSC_PRECISION) precision)
    endif
  endif
  ifeq ($(origin CXX),default)
    CXX := mpicxx
  endif
  ifeq ($(shell command -v $(firstword $(CXX))),)
    ifneq ($(WANTS_PETSC),)
      $(error No C++ compiler: PETSc's is $(CXX). Run `make deps` (packages g++ and mpi-default-dev), or say `make CXX=...`)
    endif
  endif
  ifeq ($(CUDA),) # also where a make that knew no PETSc exports it
    override CUDA := $(if $(shell grep -sl 'define PETSC_HAVE_CUDA 1' $(addsuffix /petscconf.h,$(PETSC_INC_DIRS))),1,0)
  endif
  ifeq ($(filter 0 1 emulate,$(CUDA)),)
    $(error CUDA=$(CUDA): say 0, 1 or emulate)
  endif
  ifeq ($(CUDA),1)
    NVCC      ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))
    CUDA_ARCH ?= 90
    ifeq ($(NVCC),)
      $(error CUDA=1 but no nvcc: put it in PATH, or say `make NVCC=/path/nvcc`, or `make CUDA=0`)
    endif
    ifeq ($(shell command -v $(firstword $(NVCC))),)
      $(error NVCC=$(NVCC): there is no such compiler)
    endif
    CUDA_DIR := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
  endif
endif

#--- what is built, and where ----------------------------------------------------------------------------------------
VERSION := $(shell awk '/define TESSERA_VERSION_(MAJOR|MINOR|SUBMINOR) /{printf s $$3; s="."}' $(TOP)/include/tessera.h)
ID      := petsc-$(petscversion)-int$(PETSC_INDEX_SIZE)$(if $(filter 1,$(CUDA)),-cuda)$(if $(filter emulate,$(CUDA)),-emulated)$(if $(filter 1,$(SANITIZE)),-sanitized)-$(shell printf %s '$(PETSC_PREFIX)' | sha1sum | cut -c1-6)
BUILD   := $(TOP)/build/$(ID)

SRC  := $(sort $(patsubst $(TOP)/%,%,$(wildcard $(addprefix $(TOP)/src/,*.cxx */*.cxx */*/*.cxx))))

WARN     := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
INCLUDE  := -I$(TOP)/include -I$(TOP)/src $(PETSC_INC_DIRS:%=-isystem %)
HOSTFLAG := -fPIC -fvisibility=hidden $(if $(MARCH),-march=$(MARCH)) $(if $(filter 1,$(OPENMP)),-fopenmp,-fopenmp-simd) $(WARN)
# Complex numbers, which real scalars do without, are half of what PETSc's headers take to read.
DEFINE   := -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DPETSC_SKIP_COMPLEX $(if $(filter 1,$(CUDA)),-DTESSERA_HAVE_CUDA=1 -isystem $(CUDA_DIR)/include) $(if $(filter emulate,$(CUDA)),-DTESSERA_EMULATE_DEVICE=1)
comma    := ,
empty    :=
space    := $(empty) $(empty)

# For make test-long: errors of memory and of the language end a program. PETSc's PetscEnum, through which any enumeration is read, has one value.
ifeq ($(SANITIZE),1)
  HOSTFLAG += -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=enum -fno-sanitize-recover=undefined
  LDFLAGS  += -fsanitize=address,undefined
endif
OPT     := $(if $(filter 1,$(SANITIZE)),-O1,-O3)
COMPILE := $(CXX) -std=c++17 $(OPT) $(HOSTFLAG) $(DEFINE) $(INCLUDE) $(CXXFLAGS)
ifeq ($(CUDA),1)
  # One source, two spaces: nvcc compiles the kernels, and g++ behind it the host path with the flags of the other files.
  # Kernels packed as small as possible, where nvcc knows how (CUDA 12.4 and newer).
  NVCC_COMPRESS := $(if $(shell $(NVCC) --help 2>/dev/null | grep -e --compress-mode),--compress-mode=size,-Xfatbin=-compress-all)
  COMPILE_K := $(NVCC) -x cu -ccbin $(CXX) -std=c++17 $(OPT) -arch=sm_$(CUDA_ARCH) $(NVCC_COMPRESS) $(if $(filter 1,$(WERROR)),-Werror all-warnings) \
               -Xcompiler=$(subst $(space),$(comma),$(strip $(HOSTFLAG))) $(DEFINE) $(INCLUDE) $(NVCCFLAGS)
  CUDA_LIBS := -L$(CUDA_DIR)/lib64 -Wl,-rpath,$(CUDA_DIR)/lib64 -lcudart -lcusolver -lcublas
else
  COMPILE_K := $(COMPILE)
endif
NO_TRAPS  := -fno-trapping-math
COMMANDS  := '$(subst ','\'',$(COMPILE))' '$(subst ','\'',$(COMPILE_K))' '$(NO_TRAPS)'
# pip (WHEEL=1) takes what make has built with the same commands; else it builds in a folder of its own, so that make's
# library stays as it is.
ifeq ($(WHEEL),1)
  ifneq ($(shell printf '%s\n' $(COMMANDS) | cmp -s - $(BUILD)/command && echo same),same)
    BUILD := $(BUILD)-wheel
  endif
endif
LIB := $(BUILD)/lib/libtessera.so
OBJ := $(SRC:%.cxx=$(BUILD)/obj/%.o)
# Only libpetsc: what PETSc itself uses (hypre, MUMPS, ...) is no business of a plugin. -z defs: it must load into a
# process that keeps libpetsc to itself, as Python does.
PETSC_LIBS := -L$(PETSC_LIB_DIR) -Wl,-rpath,$(PETSC_LIB_DIR) $(PETSC_LIB_BASIC)
# LAPACK is the one that PETSc uses.
LAPACK     := -Wl,--push-state,--as-needed $(BLASLAPACK_LIB) -Wl,--pop-state
LIBS       := $(PETSC_LIBS) $(LAPACK) $(CUDA_LIBS)
LINK       := $(CXX) $(if $(filter 1,$(OPENMP)),-fopenmp) $(LDFLAGS)

.PHONY: all lib print-lib bench-densegs vipmg-cycles check test test-all test-long demo demo-all bench run-tests run-long run-demo run-bench build-tests deps docs install clean syntax format petsc-cuda pack-tests force
.DELETE_ON_ERROR:
.SECONDARY:
all: lib
lib: $(LIB)
print-lib:
	@echo $(LIB)

# The loops of these over rows become vectors where the compiler may also do what a branch would leave out; values stay
# the same. Traps of floating point are off where they run (TrapsOff in src/petsc/device.hpp).
$(addprefix $(BUILD)/obj/src/vipmg/,measure.k.o move.k.o ordered.k.o smooth.k.o transfer.k.o): VECTORS := $(NO_TRAPS)

# Products of 27 points are long blocks without branches, on which g++ spends a third of its time looking for three
# instructions that can be one. There are none. clang, which has no such option, would say so.
$(BUILD)/obj/src/rrb/three/%.k.o: VECTORS := --param=max-combine-insns=2 -Wno-unused-command-line-argument

# Tests alone run the emulated device's lines, and the compiler would take a tenth of the build's time for them.
ifeq ($(CUDA),emulate)
$(BUILD)/obj/src/box/lines_device.k.o: VECTORS := -O1
endif

# g++ reads the headers that most files include once, not two hundred times. Files with options of their own do without.
PRE_HEADER := $(if $(filter 1,$(PRECOMPILED)),$(BUILD)/precompiled/precompiled.hpp.gch)
PRE         = $(if $(VECTORS)$(LESS),,$(PRE_HEADER:%.gch=-Winvalid-pch -include %))
$(BUILD)/precompiled/precompiled.hpp.gch: $(TOP)/src/precompiled.hpp $(BUILD)/command
	@mkdir -p $(@D); echo "  CXX  src/precompiled.hpp"; cp $< $(@D)
	@$(COMPILE) -MMD -MP -MF $(@:.gch=.d) -MT $@ -x c++-header -c $< -o $@
-include $(BUILD)/precompiled/precompiled.hpp.d

# Objects depend on the command that makes them, so a change of flags recompiles.
$(BUILD)/command: force
	@mkdir -p $(@D); printf '%s\n' $(COMMANDS) | cmp -s - $@ || printf '%s\n' $(COMMANDS) > $@
$(BUILD)/obj/%.k.o: $(TOP)/%.k.cxx $(BUILD)/command $(PRE_HEADER)
	@mkdir -p $(@D); echo "  $(if $(filter 1,$(CUDA)),NVCC,CXX ) $*.k.cxx"
	@$(COMPILE_K) $(if $(filter 1,$(CUDA)),,$(PRE)) $(VECTORS:%=$(if $(filter 1,$(CUDA)),-Xcompiler=%,%)) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@
$(BUILD)/obj/%.o: $(TOP)/%.cxx $(BUILD)/command $(PRE_HEADER)
	@mkdir -p $(@D); echo "  CXX  $*.cxx"
	@$(COMPILE) $(PRE) $(LESS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@
# nodelete: PETSc closes the library when it ends, and OpenMP's threads, which may have come with it, live on.
$(LIB): $(OBJ) $(TOP)/src/exports.map
	@mkdir -p $(@D); echo "  LINK $(patsubst $(TOP)/%,%,$@)"
	@$(LINK) -shared -Wl,-soname,libtessera.so -Wl,-z,defs,-z,nodelete -Wl,--version-script=$(TOP)/src/exports.map $(OBJ) $(LIBS) -o $@.new && mv $@.new $@

#--- tests -----------------------------------------------------------------------------------------------------------
# tests/README.md describes the kinds. Unit programs see hidden symbols, so they link the objects, not the library.
UNIT    := $(patsubst $(TOP)/%.cxx,$(BUILD)/%,$(filter-out %/main.cxx,$(wildcard $(TOP)/tests/core/*.cxx)))
HARNESS := $(basename $(patsubst $(TOP)/%,$(BUILD)/petsc/%,$(wildcard $(TOP)/tests/*.c $(TOP)/tests/*.cxx)))
GENTEST := $(firstword $(wildcard $(addsuffix /config/gmakegentest.py,$(PETSC_DIR) $(PETSC_DIR)/share/petsc/examples)))
PYTHON  ?= python3
TESSERA_LINK := -L$(BUILD)/lib -Wl,-rpath,$(BUILD)/lib -Wl,--as-needed -ltessera -Wl,--no-as-needed

build-tests: $(UNIT) $(HARNESS) $(BUILD)/petsc/scripts $(BUILD)/tests/random/random
$(BUILD)/tests/core/%: $(BUILD)/obj/tests/core/%.o $(BUILD)/libunit.a $(OBJ)
	@mkdir -p $(@D); echo "  LINK tests/core/$*"
	@$(LINK) $< $(BUILD)/libunit.a $(OBJ) -lgtest -lpthread $(LIBS) -o $@
$(BUILD)/libunit.a: $(BUILD)/obj/tests/core/main.o
	@rm -f $@; $(AR) cr $@ $<
$(BUILD)/petsc/tests/%: $(TOP)/tests/%.cxx $(LIB)
	@mkdir -p $(@D); echo "  CXX  tests/$*.cxx"; rm -f $@
	@$(COMPILE) -MMD -MP -MF $@.d $< $(TESSERA_LINK) $(LIBS) -o $@
$(BUILD)/petsc/tests/%: $(TOP)/tests/%.c $(LIB)
	@mkdir -p $(@D); echo "  CC   tests/$*.c"; rm -f $@
	@$(CC) -O2 $(WARN) $(INCLUDE) $(CFLAGS) -MMD -MP -MF $@.d $< $(TESSERA_LINK) $(PETSC_LIBS) -lm -o $@
# Random cases: one program of all families, which knows the library's options from the manifest only.
RANDOM_OBJ := $(patsubst $(TOP)/%.cxx,$(BUILD)/obj/%.o,$(wildcard $(TOP)/tests/random/*.cxx))
$(RANDOM_OBJ): LESS := -O1
$(BUILD)/tests/random/random: $(RANDOM_OBJ)
	@mkdir -p $(@D); echo "  LINK tests/random/random"
	@$(LINK) $^ $(PETSC_LIBS) -o $@
# The sweeps of dense Gauss-Seidel alone, with what is not exported.
$(BUILD)/bench/densegs: $(BUILD)/obj/bench/densegs.o $(OBJ)
	@mkdir -p $(@D); echo "  LINK bench/densegs"
	@$(LINK) $< $(OBJ) $(LIBS) -o $@
-include $(BUILD)/obj/bench/densegs.d
bench-densegs: $(BUILD)/bench/densegs
	@echo $<
# PETSc's own generator turns the TEST blocks into scripts. It finds sources itself and would descend into tests/*/, so it
# is shown a folder of links to those at the top alone.
$(BUILD)/petsc/scripts: $(wildcard $(TOP)/tests/*.c $(TOP)/tests/*.cxx) $(GENTEST)
	@rm -rf $(BUILD)/petsc/src $(BUILD)/petsc/tests/*.sh; mkdir -p $(BUILD)/petsc/src/tests
	@ln -s $(filter-out $(GENTEST),$^) $(TOP)/tests/output $(BUILD)/petsc/src/tests/
	@$(PYTHON) $(GENTEST) --petsc-dir=$(PETSC_DIR) --petsc-arch=$(PETSC_ARCH) --testdir=$(BUILD)/petsc \
	  --srcdir=$(BUILD)/petsc/src --pkg-pkgs=tests
	@touch $@
-include $(OBJ:.o=.d) $(UNIT:$(BUILD)/%=$(BUILD)/obj/%.d) $(HARNESS:=.d) $(BUILD)/obj/tests/core/main.d $(RANDOM_OBJ:.o=.d)

# What the test programs are told. As root, and with more ranks than cores, mpiexec must be asked kindly: this is said
# here, for the goals that run programs, and nowhere else.
TESTENV = TESSERA_LIB='$(LIB)' TESSERA_BUILD='$(BUILD)' TESSERA_VERSION='$(VERSION)' TESSERA_CUDA='$(CUDA)' TESSERA_JOBS='$(JOBS)' \
          PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' PETSC_INDEX_SIZE='$(PETSC_INDEX_SIZE)' MPIEXEC='$(MPIEXEC)' TESSERA_SANITIZE='$(SANITIZE)' CASES='$(CASES)' SEED='$(SEED)' TESSERA_TESTS='$(TESTS)' CC='$(CC)' CXX='$(CXX)' FILTER='$(FILTER)' PYTHON='$(PYTHON)' \
          PETSC_CFLAGS='$(PETSC_CC_INCLUDES)' PETSC_LIBS='$(PETSC_LIBS)' MAKEFLAGS='$(GIVEN)' MAKELEVEL=
# Compilers that the command line has named are those of a make inside a test too, which builds the same library.
GIVEN   = $(strip $(foreach v,CC CXX,$(if $(filter command line,$(origin $v)),$v=$(subst $(space),\ ,$($v)))))
RUN    := check run-tests run-long run-demo run-bench
DEMOS  ?= harbour
pack-tests: $(LIB) $(BUILD)/bench/densegs
	@$(MAKE) --no-print-directory build-tests
	@$(TESTENV) $(TOP)/tools/pack-tests
$(RUN): export OMPI_ALLOW_RUN_AS_ROOT = 1
$(RUN): export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
$(RUN): export OMPI_MCA_rmaps_base_oversubscribe = 1
$(RUN): export OMPI_MCA_mpi_yield_when_idle = 1
$(RUN): export OMPI_MCA_hwloc_base_binding_policy = none
$(RUN): export OMPI_MCA_btl_vader_single_copy_mechanism = none
$(RUN): export PRTE_MCA_rmaps_default_mapping_policy = :oversubscribe
# So are these variables.
export PETSC_DIR PETSC_ARCH CUDA MARCH OPENMP WERROR CXXFLAGS SANITIZE

check: $(LIB)
	@$(TESTENV) TESSERA_BUILD='$(BUILD)/check' $(TOP)/tests/check/run
run-tests: $(LIB)
	@$(MAKE) --no-print-directory $(PARALLEL) -k build-tests || true
	@$(TESTENV) $(TOP)/tests/run
run-long: CASES ?= 10000
run-long: $(LIB)
	@$(MAKE) --no-print-directory $(BUILD)/tests/random/random
	@$(TESTENV) TESSERA_BUILD='$(BUILD)/random' $(TOP)/tests/random/run
run-demo: $(LIB)
	@for demo in $(DEMOS); do $(TESTENV) TESSERA_BUILD="$(BUILD)/$$demo" $(TOP)/examples/$$demo/demo $(LIB) || exit 1; done
run-bench: $(LIB)
	@$(TESTENV) TESSERA_BUILD='$(BUILD)/bench' $(TOP)/bench/$(if $(wildcard $(TOP)/bench/$(firstword $(BENCH))),,run )$(BENCH)
# Times of vipmg's cycles alone, without PETSc: bench/README.md
vipmg-cycles: $(BUILD)/vipmg_cycles
	@echo $<
$(BUILD)/vipmg_cycles: $(TOP)/bench/vipmg_cycles.cxx $(OBJ)
	@$(COMPILE) $^ $(LIBS) -o $@
test: export TESTS = essential
test demo: deps
	@$(MAKE) --no-print-directory $(PARALLEL) lib
	@$(MAKE) --no-print-directory run-$(patsubst test,tests,$@)
test-all: deps
	@$(MAKE) --no-print-directory $(PARALLEL) lib
	@$(MAKE) --no-print-directory run-tests
demo-all: export DEMOS = harbour aquifer porous segment obstacle3d
demo-all: deps
	@$(MAKE) --no-print-directory $(PARALLEL) lib
	@$(MAKE) --no-print-directory run-demo
test-long: deps
	@$(MAKE) --no-print-directory $(PARALLEL) lib
	@$(MAKE) --no-print-directory run-long
bench: deps
	@$(MAKE) --no-print-directory run-bench
petsc-cuda:
	@CUDA_ARCH='$(or $(CUDA_ARCH),90)' $(TOP)/tools/petsc-cuda
syntax:
	@for f in $(SRC) bench/densegs.cxx bench/vipmg_cycles.cxx; do echo "  $$f"; $(COMPILE) -fsyntax-only $(TOP)/$$f || exit 1; done
format:
	@cd $(TOP) && clang-format -i $$(git ls-files 'src/*.[ch]xx' 'src/*.hpp' 'src/*.h' 'include/*.h')

#--- what apt can install --------------------------------------------------------------------------------------------
# Debian's and Ubuntu's names: what a build needs, and what tests and examples take besides. Nothing of PETSc is
# installed beside a PETSc that is there already.
APT       := g++ pkg-config python3
APT_TESTS := python3-venv libgtest-dev cmake python3-numpy python3-matplotlib python-matplotlib-data python3-h5py python3-tifffile
ifeq ($(PETSC_CONF)$(PETSC_GIVEN),)
  APT += petsc-dev mpi-default-bin
endif
ifneq ($(if $(PETSC_CONF)$(PETSC_GIVEN),$(filter /usr/lib/petscdir/%,$(PETSC_PREFIX)),apt),)
  APT_TESTS += python3-petsc4py
  ifeq ($(wildcard $(PETSC_PREFIX)/share/petsc/examples/src/ksp/ksp/tutorials/ex50.c),)
    APT_TESTS += '^libpetsc[0-9.]+-dev-examples$$'
  endif
endif
deps:
	@command -v dpkg-query >/dev/null || { [ -n '$(PETSC_CONF)' ] || echo "This is no Debian: install PETSc, MPI, a C++17 compiler and Python 3, and set PETSC_DIR"; exit; }; \
	missing() { local p; for p; do dpkg-query -W -f '$${Status}' "$$p" 2>/dev/null | grep -q ' installed' || printf " '%s'" "$$p"; done; }; \
	needed=$$(missing $(APT)) tests=$$(missing $(APT_TESTS)); \
	[ -n "$$needed$$tests" ] || exit 0; \
	line="apt-get update && apt-get install -y --no-install-recommends$$needed$$tests"; \
	if [ $$(id -u) = 0 ]; then echo "Installing what is missing: $$line"; export DEBIAN_FRONTEND=noninteractive; eval "$$line" >$(TOP)/deps.log 2>&1 \
	  || { tail -n 20 $(TOP)/deps.log; exit 1; }; rm -f $(TOP)/deps.log; \
	elif [ -n "$$needed" ]; then echo "Packages are missing. As root, run:  $$line"; exit 1; \
	else echo "All that a build needs is there. Some tests and examples would be skipped; as root, run:  $$line"; fi

#--- installation ----------------------------------------------------------------------------------------------------
# The pkg-config file names the PETSc by path, not by `Requires`: the library fits this one only.
# pkg-config's and CMake's files find the rest from where they are, so the folder may move.
LIBDIR ?= lib
UP     := $(subst $(space),/,$(patsubst %,..,$(subst /, ,$(LIBDIR)/pkgconfig)))
install: $(LIB)
	@install -d $(DESTDIR)$(PREFIX)/{$(LIBDIR)/{pkgconfig,cmake/tessera},include,share/tessera}
	install -m 755 $(LIB) $(DESTDIR)$(PREFIX)/$(LIBDIR)/
	install -m 644 $(TOP)/include/tessera.h $(TOP)/include/tessera_info.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(TOP)/petsc-plugin.yaml $(TOP)/LICENSE $(DESTDIR)$(PREFIX)/share/tessera/
	install -m 644 $(TOP)/tools/cmake/tessera-config.cmake $(DESTDIR)$(PREFIX)/$(LIBDIR)/cmake/tessera/
	@sed 's/@PROJECT_VERSION@/$(VERSION)/' $(TOP)/tools/cmake/tessera-config-version.cmake.in \
	  > $(DESTDIR)$(PREFIX)/$(LIBDIR)/cmake/tessera/tessera-config-version.cmake
	@$(PYTHON) $(TOP)/tools/bindings fortran > $(DESTDIR)$(PREFIX)/share/tessera/tessera.F90
	@printf '%s\n' 'prefix=$${pcfiledir}/$(UP)' 'libdir=$${pcfiledir}/..' 'includedir=$${prefix}/include' \
	  'library=$${libdir}/libtessera.so' 'fortran=$${prefix}/share/tessera/tessera.F90' \
	  'petsc_dir=$(PETSC_DIR)' 'petsc_arch=$(PETSC_ARCH)' '' 'Name: Tessera' \
	  'Description: Fine-grain parallel solvers for PETSc $(petscversion)' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir} $(PETSC_CC_INCLUDES)' 'Libs: -L$${libdir} -Wl,-rpath,$${libdir} -ltessera $(PETSC_LIBS)' \
	  > $(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig/tessera.pc
	@echo "Load it with  -dll_append $(PREFIX)/$(LIBDIR)/libtessera.so"

#--- documentation ---------------------------------------------------------------------------------------------------
# Sphinx lives in a virtual environment of its own, whose wheels docs/requirements.txt names.
DOCS_ENV := $(TOP)/build/docs-environment
$(DOCS_ENV)/done: $(TOP)/docs/requirements.txt
	@rm -rf $(DOCS_ENV); $(PYTHON) -m venv $(DOCS_ENV) || { echo "No venv for $(PYTHON) (Debian: apt-get install python3-venv)"; exit 1; }
	@$(DOCS_ENV)/bin/pip install -q --disable-pip-version-check --only-binary :all: -r $< && touch $@
docs: $(DOCS_ENV)/done
	@$(PYTHON) $(TOP)/docs/functions.py
	@$(DOCS_ENV)/bin/sphinx-build -q -W --keep-going -b html -d $(TOP)/build/doctrees $(TOP)/docs $(TOP)/build/docs
	@echo "$(TOP)/build/docs/index.html"

clean:
	rm -rf $(TOP)/build
