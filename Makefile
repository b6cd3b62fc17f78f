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
test: setup-test ## Install, build, run all tests
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
unit: setup-test ## Unit tests alone, with AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/build dev unit_tests
	@tools/build release evenkeel
	@ctest --test-dir build/release -L unit --output-on-failure

.PHONY: e2e
e2e: setup-test build ## End-to-end tests; EVENKEEL_E2E_KUBECONFIG adds a cluster of your own
	@ctest --test-dir build/release -L e2e --output-on-failure

.PHONY: sim
sim: build ## One seed of the simulator's standard scenario, verbosely (SEED=n)
	@$(PROGRAM) simulate $(SCENARIO) --seed $(SEED) --verbose --timeline build/simulation-$(SEED).csv

.PHONY: sim-long
sim-long: build ## 10,000 seeds of it
	@$(PROGRAM) simulate $(SCENARIO) --seeds 10000

.PHONY: day-long
day-long: build ## 100 seeds of the day of a fleet in examples/day
	@$(PROGRAM) simulate examples/day/day.yaml --seeds 1..100

.PHONY: bench
bench: setup-test ## Benchmarks, with the figures that the documentation quotes
	@tools/build release evenkeel benchmarks
	@bench/run

.PHONY: pictures
pictures: setup-test build ## Renew the pictures in docs/pictures
	@tools/pictures

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
format: setup-test ## Format the sources in place
	@git ls-files '*.cc' '*.h' | xargs clang-format-19 -i

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf build
