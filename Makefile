# The two commands of the README, and a few for developers.
JOBS ?= 2
BUILD := build/release
DEMO_OUT ?= demo

PACKAGES := g++ cmake ninja-build ccache pkg-config libtorch-dev libopenblas-dev \
            liblapacke-dev libcli11-dev nlohmann-json3-dev libfmt-dev libpng-dev \
            libgtest-dev zlib1g-dev

.PHONY: demo test build tool configure setup test-sanitize fuzz format clean

## Simulate dependent data, fit it with and without the dependence, draw the picture.
demo: tool
	$(BUILD)/kinflow demo --out $(DEMO_OUT)

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

## Every test under the address and undefined-behaviour sanitizers.
test-sanitize: setup
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev

## Check the readers with random input for FUZZ_SECONDS each (needs clang).
FUZZ_SECONDS ?= 180
fuzz:
	@cmake/setup.sh clang libclang-rt-dev
	cmake -S . -B build/fuzz -G Ninja -DKINFLOW_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo
	cmake --build build/fuzz -j $(JOBS)
	for reader in table safetensors relationship; do mkdir -p build/fuzz/corpus_$$reader && \
	  build/fuzz/tests/fuzz/fuzz_$$reader build/fuzz/corpus_$$reader \
	    tests/fuzz/seeds/$$reader -max_total_time=$(FUZZ_SECONDS) -max_len=600 \
	    -timeout=10 || exit 1; done

format:
	git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

clean:
	rm -rf build
