# Short names for the scripts in tools/ and the CMake presets (CMakePresets.json). `make help` lists the targets.

.DEFAULT_GOAL := build
.PHONY: help deps deps-all build run test asan tsan coverage soak bench web install uninstall deb lint format clean

help:      ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

deps:      ## install the Debian packages for building and testing; asks first on a terminal
	@tools/deps build peers shells

deps-all:  ## install also the packages for bench, soak and lint: clang 19, programs to compare with, a browser
	@tools/deps all

build: deps ## build the release binaries in build/release/bin/
	@tools/build release

run:       ## build tempo and tempod and run the demo: five daemons synchronize and lose their master; ARGS="..." for `tempo demo`
	@tools/deps run
	@tools/build release run
	@build/release/bin/tempo demo $(ARGS)
	@echo "the same in a browser: make run ARGS=--web"

test: deps ## build and run all tests: units and the daemon with sanitizers, whole programs in the release build
	@tools/test dev release

asan: deps ## run all tests, including whole programs, under the address and undefined-behaviour sanitizers
	@tools/test asan

tsan: deps ## run all tests under the thread sanitizer
	@tools/test tsan

coverage:  ## measure line coverage of the protocols: a table, and pages in build/coverage/pages
	@tools/deps build coverage
	@tools/coverage

soak: deps ## run the long simulations and tests in the release build; ONLY=packages: only tests whose names contain this
	@ONLY="$(ONLY)" tools/test soak

bench:     ## run all benchmarks one after another
	@tools/deps build bench
	@tools/build release bench
	@for program in build/release/bin/bench_*; do [ ! -x "$$program" ] || "$$program" || exit 1; done

lint:      ## run clang-format, tools/house-rules and clang-tidy; changes no file
	@tools/deps build lint
	@tools/lint

format:    ## format all sources in place
	@tools/deps lint
	@tools/lint --format

web:       ## rebuild the page of tempo-web with npm; the built files are committed, so that no other target needs npm
	@tools/web

install:   ## install what `make build` has built; PREFIX=/usr/local DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" tools/install

uninstall: ## remove what `make install` has installed; PREFIX=/usr/local DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" tools/install --remove

deb:       ## build the Debian packages in build/packages
	@tools/deps build packaging
	@tools/deb

clean:     ## remove build/
	@rm -rf build
