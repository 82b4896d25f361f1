# The two commands of the README, and a few for developers.
JOBS ?= 2
BUILD := build/release
DEMO_OUT ?= demo

PACKAGES := g++ cmake ninja-build ccache libopenblas-dev liblapacke-dev libcli11-dev \
            nlohmann-json3-dev libfmt-dev libpng-dev libjpeg-dev libgtest-dev zlib1g-dev

.PHONY: demo test build tool configure setup test-sanitize test-threads fuzz \
        check-all bench bench-peers format check-format docs clean

## Simulate dependent data, fit it with and without the dependence, draw the picture.
demo: tool
	$(BUILD)/kinflow demo --out $(DEMO_OUT) --overwrite

## Build and run every test.
test: build
	ctest --preset release

build: configure
	@cmake --build --preset release -j $(JOBS)

tool: configure
	@cmake --build --preset release -j $(JOBS) --target kinflow_cli

configure: setup
	@cmake --preset release $(if $(wildcard $(BUILD)/build.ninja),> /dev/null)

## Install what is missing (Debian and its relatives) and check that OpenBLAS is in use.
setup:
	@cmake/setup.sh $(PACKAGES)

## Every test under the address and undefined-behaviour sanitizers. FOLDERS='data core' takes
## the tests of some folders of the library.
FOLDERS ?=
test-sanitize: setup
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS) $(if $(FOLDERS),--target $(addprefix test_,$(FOLDERS)))
	ctest --preset dev $(if $(FOLDERS),-R '^($(subst $() ,|,$(strip $(FOLDERS))))$$')

## Trainings, streams and association studies under the thread sanitizer.
test-threads: setup
	cmake --preset thread
	cmake --build --preset thread -j $(JOBS)
	ctest --preset thread

## Show every reader random input for FUZZ_SECONDS each (needs clang). READERS='table zip'
## takes some of those in tests/fuzz/CMakeLists.txt.
FUZZ_SECONDS ?= 180
READERS ?=
fuzz: setup
	@cmake/setup.sh clang libclang-rt-dev
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	FUZZ_SECONDS=$(FUZZ_SECONDS) ctest --preset fuzz -j $(JOBS) \
	  $(if $(READERS),-R '^($(subst $() ,|,$(strip $(READERS))))$$')

## All of the above, for a night: a step that fails does not keep the others from running.
check-all: setup
	@tests/check_all.sh test test-sanitize test-threads fuzz

## Speed of the parts of a training step and of whole epochs.
bench: setup
	@cmake/setup.sh libbenchmark-dev
	@cmake --preset release -DKINFLOW_BENCHMARKS=ON > /dev/null
	@cmake --build --preset release -j $(JOBS) --target benchmark_engine
	$(BUILD)/benchmarks/benchmark_engine

## kinflow in turn with PyTorch, zuko, nflows and normflows; writes its section of
## docs/benchmarks.md. The libraries take several gigabytes below build/.
PEERS := build/peers
bench-peers: setup $(PEERS)/installed
	@cmake --preset release -DKINFLOW_BENCHMARKS=ON > /dev/null
	@cmake --build --preset release -j $(JOBS) --target benchmark_on_request
	TORCHINDUCTOR_CACHE_DIR=$(CURDIR)/$(PEERS)/compiled $(PEERS)/bin/python \
	  benchmarks/peers/compare.py $(BUILD)/benchmarks/benchmark_on_request \
	  --page docs/benchmarks.md

# python3-dev has the headers that compiled nets include.
$(PEERS)/installed: benchmarks/peers/requirements.txt | setup
	@cmake/setup.sh python3-venv python3-dev
	python3 -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

## API pages of the public headers, in build/docs/html; a warning is an error.
docs: setup
	@cmake/setup.sh doxygen
	@mkdir -p build/docs
	KINFLOW_HEADERS="$$(cmake -P cmake/PublicHeaders.cmake)" doxygen docs/Doxyfile
	@echo build/docs/html/index.html

# Other versions format in other ways.
CLANG_FORMAT ?= clang-format-14
SOURCES = set -o pipefail; git ls-files '*.h' '*.cpp' '*.cu' '*.cuh'
format check-format: SHELL := /bin/bash
format:
	$(SOURCES) | xargs -r $(CLANG_FORMAT) -i

check-format: setup
	@cmake/setup.sh $(CLANG_FORMAT)
	$(SOURCES) | xargs -r $(CLANG_FORMAT) --dry-run --Werror

clean:
	rm -rf build
