# dimscope: `make deps && make` builds ./dimscope; `make demo` shows it; `make test` proves it.
#
#   make [MODE=release|debug|tsan|cov]   the program; debug: ASan and UBSan, in build/debug; tsan: TSan
#   make deps demo test check       packages; the first look; the tests (T=name: some); all before a landing
#   make format lint golden         clang-format; warnings, analyzers, layers; rewrite expected outputs
#   make figures map                how large the source is and what a file sees; the index of headers
#   make fuzz F=name [SECONDS=60]   libFuzzer on tests/fuzz/fuzz_name.c
#   make fuzz-all [SECONDS=60]      each fuzzer so long: executions, finds, coverage
#   make differential [PART=jax]    exports held against the real systems, from PyPI
#   make bench install clean        figures into build/bench.tsv, with IOPDDL=FOLDER of the contest's
#                                   problems too; PREFIX= DESTDIR=; remove what was built
#   make deb dist                   a Debian package of this build; the source as a tar.gz
#   make PEERS="shardy paddle" BUILD=build/some   only these other systems (core/peers); "": none
#   V=1 shows whole commands

MODE ?= release
PREFIX ?= /usr/local
SECONDS ?= 60
T =
F =

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(MODE),fuzz)
CC := clang
endif

BUILD := build/$(MODE)
JOBS := $(shell nproc 2>/dev/null || echo 2)
SUBMAKE = $(MAKE) --no-print-directory -j$(JOBS)

# ---- packages (Debian 12), what each target needs

DEPS_RUN := gcc make pkg-config libc6-dev libncurses-dev ncurses-base liblua5.4-dev \
    libgraphviz-dev graphviz libjansson-dev zlib1g-dev libtre-dev libopenblas-serial-dev libopenmpi-dev openmpi-bin
DEPS_TEST := $(DEPS_RUN) libcmocka-dev libvterm-dev ncurses-term python3 tmux procps zsh fish groff-base \
    libonnx-testdata
DEPS_DIFFERENTIAL := $(DEPS_RUN) python3-venv chromium poppler-utils fonts-dejavu-core
DEPS_CHECK := $(DEPS_TEST) universal-ctags clang clang-format clang-tidy cppcheck libclang-rt-dev

# ---- flags

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 \
    -Wimplicit-fallthrough -Wswitch-enum
GCC_WARNINGS := -Wduplicated-cond -Wlogical-op -Wnull-dereference

FLAGS_release := -O2 -g
FLAGS_debug := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
    -fno-sanitize-recover=undefined
FLAGS_tsan := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
FLAGS_cov := -O0 -g --coverage
FLAGS_fuzz := $(FLAGS_debug) -fsanitize=fuzzer-no-link
ifndef FLAGS_$(MODE)
$(error MODE is one of release, debug, tsan, cov, fuzz)
endif

# Nothing here may fail before the packages are there: `make deps` reads this file too.
BLAS_DIR := $(shell $(CC) -print-multiarch 2>/dev/null)/openblas-serial
ifneq ($(wildcard /usr/lib/$(BLAS_DIR)),)
BLAS_CFLAGS := -I/usr/include/$(BLAS_DIR)
BLAS_LIBS := -L/usr/lib/$(BLAS_DIR) -lopenblas
else
BLAS_CFLAGS := $(shell pkg-config --cflags-only-I openblas 2>/dev/null)
BLAS_LIBS := $(shell pkg-config --libs openblas 2>/dev/null)
endif
# Drawings are left out where Graphviz is not installed.
CGRAPH := $(shell pkg-config --exists libcgraph 2>/dev/null && echo libcgraph)
PACKAGES := lua5.4 jansson zlib ncursesw $(CGRAPH) tre
MPI_CFLAGS := $(shell pkg-config --cflags-only-I ompi-c 2>/dev/null)
PACKAGE_CFLAGS := $(shell pkg-config --cflags-only-I $(PACKAGES) 2>/dev/null) $(BLAS_CFLAGS) \
    $(MPI_CFLAGS)
LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) $(BLAS_LIBS) -lpthread -lm -ldl
TEST_LIBS := -lcmocka -lvterm

# Other systems, each a room that can be left out: core/peers/peers.c lists those that are built in.
ALL_PEERS := $(sort $(patsubst core/peers/%/peer.c,%,$(wildcard core/peers/*/peer.c)))
PEERS = $(ALL_PEERS)
WITHOUT := $(filter-out $(PEERS),$(ALL_PEERS))

DIALECT := -std=c11 -D_GNU_SOURCE -I. $(patsubst -I%,-isystem%,$(PACKAGE_CFLAGS)) $(WITHOUT:%=-DWITHOUT_%)
DATADIR := -DDIMSCOPE_DATADIR='"$(PREFIX)/share/dimscope"'
# All of it can be in a library: the program calls its own functions directly all the same.
CFLAGS := $(FLAGS_$(MODE)) -fPIC -fno-semantic-interposition
COMPILE = $(CC) $(DIALECT) $(WARNINGS) $(CFLAGS) $(OWN_CFLAGS) $(COMPARISONS)
LDFLAGS := -Wl,--as-needed

# Says the short of a command; V=1 says all of it.
quiet = $(if $(V),,@echo "  $(1)";)

# One answer on every machine: a*b+c is two roundings in the kernels that verify others.
$(BUILD)/core/run/kernels/%.o $(BUILD)/core/run/classical/%.o: OWN_CFLAGS := -ffp-contract=off
# The faces alone know where the shipped policies and machines are installed.
$(BUILD)/tui/%.o $(BUILD)/viz/%.o $(BUILD)/scripts/%.o: OWN_CFLAGS := $(DATADIR)

# A fuzzer follows comparisons where text and bytes are read. Elsewhere they take a third of its time, and
# so in files of these rooms that read none.
READERS := core/base core/model core/space core/session core/peers scripts
READ_NOTHING := core/base/arena core/base/intern core/base/memory core/base/names core/base/text core/space/dim_part \
    core/space/opspace scripts/sandbox/lua_state
ifeq ($(MODE),fuzz)
$(BUILD)/%.o: COMPARISONS := -fno-sanitize-coverage=trace-cmp
$(READERS:%=$(BUILD)/%/%.o): COMPARISONS :=
$(READ_NOTHING:%=$(BUILD)/%.o): COMPARISONS := -fno-sanitize-coverage=trace-cmp
endif

# ---- what is built

# What sees MPI and CUDA is in libraries of their own, loaded when asked for; what an op is on a
# device sees neither.
DEVICE_SOURCES := $(wildcard core/run/cuda/device_*.c core/run/cuda/gen_*.c)
MPI_SOURCES := $(if $(MPI_CFLAGS),$(wildcard core/run/mpi/*.c))
PLUGIN_SOURCES := $(MPI_SOURCES) $(filter-out $(DEVICE_SOURCES),$(wildcard core/run/cuda/*.c))
LEFT_OUT := $(WITHOUT:%=core/peers/%/%) $(WITHOUT:%=scripts/peers/%.c)
CORE_SOURCES := $(filter-out core/run/mpi/% $(PLUGIN_SOURCES) $(LEFT_OUT),$(wildcard core/*/*.c core/*/*/*.c))
FACE_SOURCES := $(filter-out tui/main.c viz/$(if $(CGRAPH),dot_absent.c,dot.c) $(LEFT_OUT),\
    $(wildcard tui/*/*.c tui/*/*/*.c viz/*.c viz/*/*.c scripts/*.c scripts/*/*.c))
SOURCES := $(CORE_SOURCES) $(PLUGIN_SOURCES) $(FACE_SOURCES) $(wildcard tui/main.c)
HEADERS := $(filter-out $(if $(MPI_CFLAGS),,core/run/mpi/%),\
    $(wildcard core/*/*.h core/*/*/*.h tui/*/*.h tui/*/*/*.h viz/*.h viz/*/*.h scripts/*.h scripts/*/*.h))
FUZZ_SOURCES := $(filter-out $(if $(MPI_CFLAGS),,tests/fuzz/fuzz_mpi.c),$(wildcard tests/fuzz/fuzz_*.c))
TEST_SOURCES := $(wildcard tests/unit/*.c tests/bench/*.c tests/fakecuda/*.c tests/gpu/*.c) $(FUZZ_SOURCES) \
    $(if $(MPI_CFLAGS),$(wildcard tests/mpi/*_steps.c))
TEST_HEADERS := $(wildcard tests/unit/*.h tests/bench/*.h tests/fuzz/*.h tests/fakecuda/*.h)

object = $(patsubst %.c,$(BUILD)/%.o,$(1))
CORE_OBJECTS := $(call object,$(CORE_SOURCES))
FACE_OBJECTS := $(call object,$(FACE_SOURCES))
MAIN_OBJECT := $(call object,$(wildcard tui/main.c))
MPI_OBJECTS := $(call object,$(MPI_SOURCES))
MPI_STEPS := $(if $(MPI_SOURCES),$(BUILD)/mpi/test_steps $(BUILD)/mpi/bench_steps)
# A test that includes a system that is left out is not built.
NEEDS_ALL := $(if $(WITHOUT),$(shell tests/needs_peers.sh $(WITHOUT)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(filter-out $(NEEDS_ALL),\
    $(wildcard tests/unit/test_*$(T)*.c)))
FUZZERS := $(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=%)

ARCHIVES := $(BUILD)/faces.a $(BUILD)/core.a
PROGRAM := $(if $(MAIN_OBJECT),$(if $(filter build/release,$(BUILD)),dimscope,$(BUILD)/dimscope))
MPI_PLUGIN := $(if $(MPI_SOURCES),$(dir $(PROGRAM))dimscope_mpi.so)

.PHONY: deb dist all mpi cuda test-gpu bench-gpu build-tests run-tests deps deps-test deps-check demo test check
.PHONY: differential deps-differential fakes format format-check lint lint-changed lint-files figures map print fuzz fuzz-each fuzz-all bench golden install clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/core.a $(PROGRAM) $(MPI_PLUGIN)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,cc $<)$(COMPILE) -MMD -MP -c $< -o $@

# A changed flag, or a source that came or went, changes one of these and so what depends on it.
keep_text = @mkdir -p $(@D); echo '$(subst ','\'',$(1))' | cmp -s - $@ || \
    echo '$(subst ','\'',$(1))' >$@
$(BUILD)/flags: FORCE
	$(call keep_text,$(CC) $(DIALECT) $(CFLAGS))
$(BUILD)/datadir: FORCE
	$(call keep_text,$(DATADIR))
$(BUILD)/core.list: FORCE
	$(call keep_text,$(CORE_OBJECTS))
$(BUILD)/faces.list: FORCE
	$(call keep_text,$(FACE_OBJECTS))

$(FACE_OBJECTS) $(MAIN_OBJECT): $(BUILD)/datadir
$(BUILD)/core.a: $(CORE_OBJECTS)
$(BUILD)/faces.a: $(FACE_OBJECTS)
$(ARCHIVES): %.a: %.list
	@rm -f $@
	$(call quiet,ar $@)ar qcs $@ $(filter %.o,$^)

# What the tests link, once for all of them: with copies of their own they took five times the disk. A
# test is built again when a header that it includes changes, and not for what is behind the header.
TESTED := $(BUILD)/libdimscope.so
LINK_TESTED := $(TESTED) -Wl,-rpath,'$$ORIGIN/..'
$(TESTED): $(ARCHIVES)
	$(call quiet,ld $@)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,--whole-archive $(ARCHIVES) \
	    -Wl,--no-whole-archive $(LIBS) -o $@

# Runners that are loaded call the functions of core by name.
EXPORT_CORE = -rdynamic -Wl,--whole-archive $(BUILD)/core.a -Wl,--no-whole-archive
dimscope $(BUILD)/dimscope: $(MAIN_OBJECT) $(ARCHIVES)
	$(call quiet,ld $@)$(CC) $(CFLAGS) $(LDFLAGS) $(MAIN_OBJECT) $(BUILD)/faces.a $(EXPORT_CORE) $(LIBS) -o $@

dimscope_mpi.so $(BUILD)/dimscope_mpi.so: $(MPI_OBJECTS)
	$(call quiet,ld $@)$(CC) $(CFLAGS) $(LDFLAGS) -shared $^ $(shell pkg-config --libs ompi-c) -o $@
$(BUILD)/mpi/%: tests/mpi/%.c $(MPI_OBJECTS) $(BUILD)/flags | $(TESTED)
	@mkdir -p $(@D)
	$(call quiet,cc $<)$(COMPILE) $(LDFLAGS) -MMD -MP -MF $@.d -MT $@ $< \
	    $(filter-out %/runner.o,$(MPI_OBJECTS)) $(LINK_TESTED) $(LIBS) $(shell pkg-config --libs ompi-c) -o $@
mpi: all
	@$(if $(MPI_PLUGIN),,echo "Open MPI is not here: make deps, or apt install libopenmpi-dev openmpi-bin")

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/flags | $(TESTED)
	@mkdir -p $(@D)
	$(call quiet,cc $<)$(COMPILE) $(LDFLAGS) -MMD -MP -MF $@.d -MT $@ $< $(LINK_TESTED) $(OWN_LIBS) $(LIBS) $(TEST_LIBS) -o $@

# What is loaded, and the CUDA that is none, with the plugin that calls it in fake/.
# A library's own functions are called by it, whatever else that is loaded has their names.
OWN_NAMES := -Wl,-Bsymbolic
FAKE_SOURCES := $(wildcard tests/fakecuda/*.c)
CUDA_SOURCES := $(filter core/run/cuda/%,$(PLUGIN_SOURCES))
FAKES := $(BUILD)/libfakecuda.so $(if $(CUDA_SOURCES),$(addprefix $(BUILD)/fake/,dimscope_cuda.so bench_gpu))
loaded_object = $(call object,$(1))
$(call loaded_object,$(FAKE_SOURCES)): OWN_CFLAGS := -DFAKECUDA_ROOT='"$(CURDIR)"'
fakes: $(FAKES)
$(BUILD)/libfakecuda.so: $(call loaded_object,$(FAKE_SOURCES))
	$(call quiet,ld $@)$(CC) $(CFLAGS) $(OWN_NAMES) -shared -Wl,-soname,$(@F) $^ -lm -ldl -lpthread -o $@
$(BUILD)/fake/dimscope_cuda.so: $(call loaded_object,$(CUDA_SOURCES)) $(BUILD)/libfakecuda.so
	@mkdir -p $(@D)
	$(call quiet,ld $@)$(CC) $(CFLAGS) $(OWN_NAMES) -shared $^ -Wl,-rpath,'$$ORIGIN/..' -o $@
$(BUILD)/tests/test_fake%: OWN_LIBS := $(BUILD)/libfakecuda.so -Wl,-rpath,'$$ORIGIN/..'
$(filter $(BUILD)/tests/test_fake%,$(UNIT_TESTS)): $(BUILD)/libfakecuda.so
$(filter $(BUILD)/tests/test_cuda%,$(UNIT_TESTS)): | $(FAKES)
-include $(patsubst %.o,%.d,$(call loaded_object,$(FAKE_SOURCES) $(CUDA_SOURCES)))

# ---- the true CUDA, where its toolkit is; the driver's libcuda is not linked, cudart loads it

CUDA_HOME ?= /usr/local/cuda
CUDA_DIR := -L$(CUDA_HOME)/lib64
CUDA_NEEDS := cudart cublasLt nvrtc nccl
CUDA_PLUGIN := $(dir $(PROGRAM))dimscope_cuda.so
$(CUDA_PLUGIN): $(call loaded_object,$(CUDA_SOURCES))
	$(call quiet,ld $@)$(CC) $(CFLAGS) $(OWN_NAMES) -shared $^ $(CUDA_DIR) -Wl,-rpath,$(CUDA_HOME)/lib64 \
	    $(addprefix -l,$(CUDA_NEEDS)) -o $@
cuda:
	@missing=; for library in $(CUDA_NEEDS); do \
	    $(CC) -shared $(CUDA_DIR) -l$$library -o /dev/null 2>/dev/null || missing="$$missing lib$$library"; \
	done; \
	if [ -z "$$missing" ]; then $(SUBMAKE) all $(CUDA_PLUGIN); \
	else echo "not built: no$$missing in $(CUDA_HOME)/lib64 (CUDA_HOME says where the toolkit is)"; fi
# Figures, of a GPU or, as a dry run, of the CUDA that is none.
CUDA_LIBRARIES := $(CUDA_DIR) -Wl,-rpath,$(CUDA_HOME)/lib64 $(addprefix -l,$(CUDA_NEEDS))
$(BUILD)/bench_gpu: BENCH_LIBRARIES = $(CUDA_LIBRARIES)
$(BUILD)/fake/bench_gpu: BENCH_LIBRARIES = $(BUILD)/libfakecuda.so -Wl,-rpath,'$$ORIGIN/..'
$(BUILD)/fake/bench_gpu: $(BUILD)/fake/dimscope_cuda.so
$(BUILD)/bench_gpu $(BUILD)/fake/bench_gpu: tests/gpu/bench_gpu.c $(ARCHIVES) $(call loaded_object,$(CUDA_SOURCES))
	@mkdir -p $(@D)
	$(call quiet,cc $<)$(COMPILE) $(LDFLAGS) $< $(call loaded_object,core/run/cuda/blas.c core/run/cuda/device.c) \
	    $(BUILD)/faces.a $(EXPORT_CORE) $(BENCH_LIBRARIES) $(LIBS) $(TEST_LIBS) -o $@
test-gpu: cuda
	@DIMSCOPE=$(addprefix ./,$(PROGRAM)) tests/gpu/run.sh test
bench-gpu: cuda
	@[ ! -e $(CUDA_PLUGIN) ] || $(SUBMAKE) $(BUILD)/bench_gpu
	@DIMSCOPE=$(addprefix ./,$(PROGRAM)) BENCH=$(BUILD)/bench_gpu tests/gpu/run.sh bench

BENCH_SOURCES := $(wildcard tests/bench/*.c)
$(BUILD)/bench: $(BENCH_SOURCES) $(ARCHIVES) $(BUILD)/flags
	$(call quiet,cc $<)$(COMPILE) $(LDFLAGS) $(BENCH_SOURCES) $(ARCHIVES) $(LIBS) -o $@

# A rank with MPI that is none, in the fuzzer.
FUZZ_MPI := $(filter-out %/watch.o,$(MPI_OBJECTS))
$(BUILD)/fuzz_mpi: $(FUZZ_MPI)
$(BUILD)/fuzz_mpi: OWN_OBJECTS := $(FUZZ_MPI)
$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(ARCHIVES) $(BUILD)/flags
	$(call quiet,cc $<)$(COMPILE) -fsanitize=fuzzer $(LDFLAGS) -MMD -MP -MF $@.d -MT $@ $< $(OWN_OBJECTS) $(ARCHIVES) $(LIBS) -o $@

-include $(patsubst %.o,%.d,$(CORE_OBJECTS) $(FACE_OBJECTS) $(MAIN_OBJECT) $(MPI_OBJECTS))
-include $(wildcard $(BUILD)/tests/*.d $(BUILD)/mpi/*.d $(BUILD)/*.d)

# ---- packages: installs what is missing, and is silent when nothing is

define install_missing
@command -v dpkg >/dev/null || { echo "not Debian; needed here: $(1)"; exit 0; }; \
missing=; \
for package in $(1); do \
    dpkg -s $$package 2>/dev/null | grep -q '^Status: install ok installed' || \
        missing="$$missing $$package"; \
done; \
[ -n "$$missing" ] || exit 0; \
echo "installing:$$missing"; \
root=; [ "$$(id -u)" = 0 ] || root=sudo; \
$$root apt-get -qq update && \
$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    -o Dpkg::Use-Pty=0 $$missing >/dev/null
endef

deps:
	$(call install_missing,$(DEPS_RUN))
deps-test:
	$(call install_missing,$(DEPS_TEST))
deps-check:
	$(call install_missing,$(DEPS_CHECK))
deps-differential:
	$(call install_missing,$(DEPS_DIFFERENTIAL))

# ---- exports, held against the systems they are for

PART =
differential: deps-differential
	@$(SUBMAKE) all
	@DIMSCOPE=$(addprefix ./,$(PROGRAM)) tests/differential/run.sh $(PART)

# ---- first look

demo: deps
	@$(SUBMAKE) all
	./dimscope samples/models/gpt2.onnx -m dp=2,tp=4 -p scripts/policies/megatron.lua
	@[ -t 1 ] || { set -x; \
	./dimscope run samples/models/tiny-gpt.onnx -m dp=2,tp=4 -p scripts/policies/megatron.lua --verify; }

# ---- tests; what did not build is a failure, and the rest runs all the same

test: deps-test
	@built=yes; $(SUBMAKE) -k build-tests || built=no; $(SUBMAKE) -s run-tests BUILT=$$built

build-tests: all $(FAKES) $(UNIT_TESTS) $(MPI_STEPS)

run-tests:
	@BUILT=$(BUILT) WITHOUT="$(WITHOUT)" DIMSCOPE=$(addprefix ./,$(PROGRAM)) tests/run.sh $(BUILD) $(T)

check: deps-check
	@$(SUBMAKE) format-check
	@$(SUBMAKE) lint
	@$(SUBMAKE) test MODE=release T=
	@$(SUBMAKE) test MODE=debug T=
	@$(SUBMAKE) fuzz-each SECONDS=10

golden: deps-test
	@$(SUBMAKE) all
	@DIMSCOPE=$(addprefix ./,$(PROGRAM)) tests/golden/run.sh --rewrite $(T)

# In a make of its own: what can be built depends on packages that the one before installed.
fuzz-each:
	@for name in $(FUZZERS); do $(SUBMAKE) fuzz F=$$name || exit 1; done

fuzz: deps-check
ifeq ($(filter $(F),$(FUZZERS)),)
	@echo "make fuzz F=name, where name is one of: $(FUZZERS)"; exit 1
else
	@$(SUBMAKE) MODE=fuzz build/fuzz/fuzz_$(F)
	@mkdir -p build/fuzz/corpus/$(F)
	build/fuzz/fuzz_$(F) -max_total_time=$(SECONDS) -timeout=60 -artifact_prefix=build/fuzz/ \
	    -verbosity=0 -print_final_stats=1 -entropic=0 -detect_leaks=0 build/fuzz/corpus/$(F) $(wildcard tests/fuzz/corpus/$(F))
endif

fuzz-all: deps-check
	@$(SUBMAKE) MODE=fuzz $(FUZZERS:%=build/fuzz/fuzz_%)
	@tests/fuzz/all.sh $(SECONDS) $(FUZZERS)

bench: deps
	@$(SUBMAKE) MODE=release build/release/bench $(patsubst $(BUILD)/%,build/release/%,$(MPI_STEPS))
	@build/release/bench >build/bench.tsv; status=$$?; \
	tests/mpi/bench.sh build/release/mpi/bench_steps >>build/bench.tsv; \
	[ -z "$(IOPDDL)" ] || tests/bench/iopddl.py $(IOPDDL) >>build/bench.tsv; cat build/bench.tsv; exit $$status

# ---- looks and rules

format: deps-check
	clang-format -i $(SOURCES) $(HEADERS) $(TEST_SOURCES) $(TEST_HEADERS)

format-check:
	@clang-format --dry-run -Werror $(SOURCES) $(HEADERS) $(TEST_SOURCES) $(TEST_HEADERS)

# All checks of the source, or the slow ones only on what the last commits changed (.ci/run).
lint: deps-check
	@tests/lint/run.sh all
lint-changed:
	-@$(MAKE) -s deps-check
	@tests/lint/run.sh changed

# What each tool earns, in seconds of one core on 40 files:
#   gcc -O2 8: its warnings follow values. -fanalyzer 10 more: leaks of memory and files, so only on
#     sources that call malloc() or open(); elsewhere memory is an arena's and it found nothing true.
#   clang's warnings and clang-tidy's checks 5, in one pass. clang's analyzer 110, and what it found
#     along calls through five functions was never true here; 22 in its shallow mode.
#   cppcheck 4, one header alone 0.04.
LINT_SOURCES = $(SOURCES)
LINT_TESTS = $(TEST_SOURCES)
lint-files: $(patsubst %.c,build/lint/%.o,$(LINT_SOURCES)) $(patsubst %.c,build/lint/%.tidy,$(LINT_SOURCES)) \
    $(patsubst %.c,build/lint/%.clang,$(LINT_TESTS)) $(patsubst %.h,build/lint/%.alone,$(HEADERS))

LINT_FLAGS = $(DIALECT) $(DATADIR) $(WARNINGS) -Werror
LINT_RETURNS = $(if $(filter core/base/error.c,$<),,-include tests/lint/returns.h)
LINT_DEPENDS = -MMD -MP -MF $@.d -MT $@
TIDY_FLAGS := --quiet --warnings-as-errors='*' \
    $(addprefix --extra-arg=,-Xclang -analyzer-config -Xclang mode=shallow)
HOLDS_RESOURCES := [^a-z_](m?alloc|calloc|realloc|free|f?d?open|popen|opendir|socket|pipe|mmap|mkstemp)\(
build/lint/%.o: %.c
	@mkdir -p $(@D)
	@gcc $(LINT_FLAGS) $(GCC_WARNINGS) $(LINT_RETURNS) $$(grep -qE '$(HOLDS_RESOURCES)' $< && echo -fanalyzer) \
	    -O2 $(LINT_DEPENDS) -c $< -o $@
# After the object, whose dependencies are its own; how it came to a finding is in the log.
build/lint/%.tidy: %.c build/lint/%.o .clang-tidy
	@clang-tidy $(TIDY_FLAGS) $< -- $(LINT_FLAGS) $(LINT_RETURNS) >$@.log 2>&1 || \
	    { grep -A 2 -E '(error|warning): ' $@.log; echo "how it comes to it: $@.log"; exit 1; }
	@touch $@
build/lint/%.clang: %.c
	@mkdir -p $(@D)
	@clang $(LINT_FLAGS) $(LINT_DEPENDS) -fsyntax-only $<
	@touch $@
build/lint/%.alone: %.h
	@mkdir -p $(@D)
	@printf '#include "$<"\nextern int not_empty;\n' | gcc $(LINT_FLAGS) $(LINT_DEPENDS) -x c -fsyntax-only -
	@touch $@

-include $(patsubst %,%.d,$(wildcard $(patsubst %.c,build/lint/%.o,$(SOURCES)) \
    $(patsubst %.c,build/lint/%.clang,$(TEST_SOURCES)) $(patsubst %.h,build/lint/%.alone,$(HEADERS))))

# The size of the source and of what a file sees; the index of headers, from their first lines.
figures:
	@tests/lint/figures.sh
map:
	@tests/lint/map.sh $(HEADERS)

# For scripts: the value of a variable here.
print:
	@echo $($(LIST))

# ---- for users

SHARE := $(DESTDIR)$(PREFIX)/share
DATA := $(SHARE)/dimscope
install: all
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DATA)" "$(SHARE)/man/man1" "$(SHARE)/man/man5" \
	    "$(SHARE)/man/man7" "$(SHARE)/bash-completion/completions" \
	    "$(SHARE)/zsh/site-functions" "$(SHARE)/fish/vendor_completions.d"
	install -m 755 dimscope "$(DESTDIR)$(PREFIX)/bin/dimscope"
	for plugin in dimscope_*.so; do \
	    [ ! -f $$plugin ] || install -D -m 755 $$plugin "$(DESTDIR)$(PREFIX)/lib/dimscope/$$plugin"; \
	done
	find scripts samples -type f ! -name '*.[ch]' ! -name '*.so' ! -path 'scripts/package/*' ! -name '*.pyc' -exec install -D -m 644 {} "$(DATA)/{}" \;
	install -D -m 644 core/run/dimscope_kernel.h "$(DESTDIR)$(PREFIX)/include/dimscope_kernel.h"
	install -D -m 644 samples/native/embedding.c "$(DATA)/samples/native/embedding.c"
	for page in README.md ARCHITECTURE.md LICENSE; do \
	    [ ! -f $$page ] || install -D -m 644 $$page "$(SHARE)/doc/dimscope/$$page"; \
	done
	./dimscope help --man 1 >"$(SHARE)/man/man1/dimscope.1"
	./dimscope help --man 5 >"$(SHARE)/man/man5/dimscope.5"
	./dimscope help --man 7 >"$(SHARE)/man/man7/dimscope-lua.7"
	./dimscope help --man glossary >"$(SHARE)/man/man7/dimscope-glossary.7"
	./dimscope help lua --annotations >"$(DATA)/dimscope.lua"
	./dimscope help --completion bash >"$(SHARE)/bash-completion/completions/dimscope"
	./dimscope help --completion zsh >"$(SHARE)/zsh/site-functions/_dimscope"
	./dimscope help --completion fish >"$(SHARE)/fish/vendor_completions.d/dimscope.fish"

# A package for this Debian or Ubuntu, and the source as one file; equal trees give equal bytes.
DEB := build/deb
deb: deps
	$(call install_missing,dpkg-dev)
	@$(SUBMAKE) all PREFIX=/usr
	@rm -rf $(DEB); $(SUBMAKE) install PREFIX=/usr DESTDIR=$(CURDIR)/$(DEB)/root >/dev/null
	@scripts/package/deb.sh $(DEB)
dist:
	@mkdir -p build
	@name=dimscope-$$(sed -n 's/.*DIMSCOPE_VERSION "\(.*\)"/\1/p' core/base/version.h); \
	git archive --prefix=$$name/ HEAD | gzip -9n >build/$$name.tar.gz && echo build/$$name.tar.gz

clean:
	rm -rf build dimscope dimscope_*.so
