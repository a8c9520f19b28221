# A thin front: the work is in tools/ and in CMake (CMakePresets.json). `make help` lists the targets.

.DEFAULT_GOAL := build
.PHONY: help deps deps-all build run test asan tsan coverage soak bench lint format clean

help:      ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

deps:      ## install the Debian packages for building and testing; asks first on a terminal
	@tools/deps build peers

deps-all:  ## also what bench, soak and lint use: clang 19, rivals, a browser
	@tools/deps all

build: deps ## release binaries in build/release/bin/
	@tools/build release

run:       ## build tempo and tempod, then watch five daemons agree and lose their master; ARGS="..." is passed on
	@tools/deps run
	@tools/build release run
	@build/release/bin/tempo demo $(ARGS)

test: deps ## build and run every test: units and the daemon with sanitizers, whole programs in the release build
	@tools/test dev release

asan: deps ## every test, whole programs too, under the address and undefined-behaviour sanitizers
	@tools/test asan

tsan: deps ## every test again under the thread sanitizer
	@tools/test tsan

coverage:  ## which lines of the protocols the tests reach, as a table and as pages in build/coverage/pages
	@tools/deps build coverage
	@tools/coverage

soak: deps ## the long simulations, in the release build
	@tools/test soak

bench:     ## run every benchmark, one after another
	@tools/deps build bench
	@tools/build release bench
	@for program in build/release/bin/bench_*; do [ ! -x "$$program" ] || "$$program" || exit 1; done

lint:      ## format, clang-tidy and the house rules; changes nothing
	@tools/deps build lint
	@tools/lint

format:    ## format all sources in place
	@tools/deps lint
	@tools/lint --format

clean:     ## remove build/
	@rm -rf build
