# Two commands do everything on a bare Debian 12: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
ARGS ?=
SEED ?= 1
PROGRAM := build/release/evenkeel
SCENARIO := tests/scenarios/faults.yaml

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Install, build, start the embedded fleet and say what to try (ARGS="--for 60s")
	@exec $(PROGRAM) up $(ARGS)

.PHONY: test
test: setup-test ## Install, build, run all tests that a change must pass
	@tools/test

.PHONY: build
build: setup-build ## Build the program at build/release/evenkeel
	@tools/build release evenkeel

.PHONY: setup-build
setup-build:
	@tools/setup build

.PHONY: setup-test
setup-test:
	@tools/setup build test

.PHONY: unit
unit: setup-test ## The unit tests that a change has reached, with AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/unit

.PHONY: e2e
e2e: setup-test ## End-to-end tests; EVENKEEL_E2E_KUBECONFIG adds a cluster of your own
	@tools/build release evenkeel test_programs
	@tools/ctest -L e2e

.PHONY: sim
sim: build ## One seed of the simulator's standard scenario, verbosely (SEED=n)
	@$(PROGRAM) simulate $(SCENARIO) --seed $(SEED) --verbose --timeline build/simulation-$(SEED).csv

.PHONY: nightly
nightly: setup-test ## All that can be tested on one machine, in parts: goes on where it was interrupted (up to 3 hours)
	@tools/nightly

.PHONY: nightly-long
nightly-long: setup-test ## 10,000 seeds of each of the simulator's scenarios, half an hour of each fuzz target
	@tools/nightly --long

.PHONY: bench
bench: setup-test ## Benchmarks, with the figures that the documentation quotes
	@tools/build release evenkeel benchmarks
	@bench/run

.PHONY: pictures
pictures: setup-test build ## Renew the pictures and the samples of output in the documentation, with the program as it is
	@tools/pictures
	@python3 tests/e2e/documentation_test.py --renew

.PHONY: release
release: build setup-package ## What a release has, into build/: a tarball that needs only glibc, a Debian package, a container image, the SBOM
	@tools/release

.PHONY: deb
deb: build setup-package ## A Debian package of the program: build/evenkeel_VERSION_ARCH.deb
	@tools/deb

.PHONY: sbom
sbom: build ## What the program consists of, in SPDX: build/evenkeel.spdx.json
	@tools/sbom

.PHONY: setup-package
setup-package:
	@tools/setup package

.PHONY: format
format: setup-test ## Format the sources in place, and wrap the lines of prose
	@git ls-files '*.cc' '*.h' | xargs clang-format-19 -i
	@git ls-files '*.md' | grep -v '^docs/reference/' | xargs tools/wrap

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf build
