# airtide. make help lists the targets; CONTRIBUTING.md tells when to use which.
SHELL := /bin/bash
GO ?= go
RELEASE ?=
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || echo +changes)
DATE ?= $(shell TZ=UTC git log -1 --date=iso-strict-local --format=%cd 2>/dev/null)
LDFLAGS := -s -w -X main.release=$(RELEASE) -X main.commit=$(COMMIT) -X main.date=$(DATE)
# grpcnotrace leaves out grpc's trace pages. Their templates call methods by name, and then the
# linker keeps every method.
TAGS := grpcnotrace
# The same sources give the same bytes in each folder, whatever the environment of the builder has.
# Without version control in the binary, files that are no part of it do not count either.
BUILD := CGO_ENABLED=0 GOFLAGS= GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOFIPS140=off \
	$(GO) build -trimpath -buildvcs=false -tags $(TAGS) -ldflags '$(LDFLAGS)'
# The time of all files in packages: that of the commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
# Without a release, a version that is older than the first one and rises with each day.
SHORT = $(or $(shell git rev-parse --short=12 HEAD 2>/dev/null),unknown)
SNAPSHOT = 0.0.0~git$(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y%m%d).$(SHORT)
ARCHS ?= amd64 arm64
OUT ?= demo-out

.DEFAULT_GOAL := build

##@ Use

.PHONY: build
build: ## the static binary for this machine
	$(BUILD) -o airtide ./cmd/airtide

.PHONY: dist
dist: build ## static binaries, .deb, .rpm, SBOM and checksums for amd64 and arm64, in dist/
	rm -rf dist
	for arch in $(ARCHS); do \
		GOOS=linux GOARCH=$$arch $(BUILD) -o dist/airtide-linux-$$arch ./cmd/airtide || exit 1; \
	done
	ARCHS='$(ARCHS)' scripts/dist $(or $(RELEASE),$(SNAPSHOT))
	ls -l dist

.PHONY: sign
sign: ## signs dist/SHA256SUMS with KEY, which is made if it is missing
	scripts/sign $(or $(KEY),$(error give the file of the key: make sign KEY=FILE))

.PHONY: install
install: build ## program, man pages, completions and units below PREFIX (/usr/local), within DESTDIR
	scripts/generate ./airtide dist/share
	scripts/install ./airtide $(or $(PREFIX),/usr/local) $(DESTDIR)

.PHONY: demo
demo: setup-run build ## four unlike terminals upload without and with sharing (OUT=demo-out)
	scripts/demo ./airtide $(OUT)

.PHONY: clean
clean: ## remove everything that make wrote, except results of experiments
	rm -rf airtide dist demo-out kernels-out

##@ Change: no root, no network

.PHONY: check
check: ## build, lint and the tests that need no root (4 minutes with empty caches, then 2)
	scripts/check

.PHONY: size
size: ## what takes the space in the binary; fails above 33 MB
	TAGS=$(TAGS) scripts/size

.PHONY: vuln
vuln: ## known vulnerabilities in what is linked (needs vuln.go.dev)
	scripts/vuln

.PHONY: lint
lint: ## format and static checks of Go, C and shell
	scripts/lint

.PHONY: generate
generate: ## write all generated files anew (needs clang)
	$(GO) generate ./...

##@ Test: root; installs missing Debian packages

.PHONY: test
test: setup ## lint and every test: real traffic and BPF, guests, other tools
	scripts/test

.PHONY: fuzz
fuzz: ## each fuzz test for a while (FUZZTIME=30s)
	scripts/fuzz $(or $(FUZZTIME),30s)

.PHONY: test-kernels
test-kernels: setup ## airtide on Debian's kernels in qemu (KERNELS='-guests 6.12' for a part)
	scripts/test-kernels $(or $(KERNELS),-page docs/results/kernels.md)

.PHONY: test-dist
test-dist: ## installs, uses and removes the .deb on a bare Debian (needs a mirror)
	$(MAKE) dist ARCHS=$(shell $(GO) env GOARCH)
	scripts/test-dist

.PHONY: test-release
test-release: ## builds everything twice in different folders: all bytes must be equal; signs it and verifies
	scripts/test-release

.PHONY: test-timewarp
test-timewarp: setup-run build ## accelerated time on Debian's kernels in qemu (an hour)
	scripts/test-timewarp ./airtide

##@ Measure: root, a quiet machine

.PHONY: bench
bench: bench-monitor bench-cell bench-congestion bench-packets ## every benchmark
	$(GO) test -tags kernel -run '^$$' -bench . -benchtime 2s \
		./internal/recording/... ./internal/view/screen ./internal/observe/...

.PHONY: bench-monitor
bench-monitor: setup build ## cost per ACK of observing, beside bpftrace, perf and ss
	$(GO) run ./test/bench/monitor -airtide ./airtide

.PHONY: bench-cell
bench-cell: setup build ## the emulated cell beside tbf: throughput, processor time, lateness
	$(GO) run ./test/bench/cell

.PHONY: bench-congestion
bench-congestion: setup build ## cost per ACK of the congestion controls beside the kernel's CUBIC
	$(GO) run ./test/bench/congestion

.PHONY: bench-packets
bench-packets: setup build ## a capture of 1 GB read by airtide, tshark and tcptrace (5 minutes)
	$(GO) run ./test/bench/packets -airtide ./airtide

.PHONY: fidelity
fidelity: setup build ## the cell beside theory, ns-3 and the papers (an hour; FIDELITY='-only udp' for a part)
	$(GO) run ./test/bench/fidelity -airtide ./airtide $(FIDELITY)

.PHONY: reproduce
reproduce: setup build ## the papers' experiments into docs/results (5.5 hours; REPRODUCE="-only 'p1-*'" for a part)
	$(GO) run ./test/bench/reproduce -airtide ./airtide $(REPRODUCE)

##@ Install

.PHONY: setup-run
setup-run: ## what the program and its demo need
	scripts/setup run

.PHONY: setup
setup: ## what tests, linters and code generation need
	scripts/setup all

.PHONY: tools
tools: ## build the linters and the test runner (no root)
	scripts/setup tools

.PHONY: help
help: ## this list
	@awk -F ':.*## ' \
		'/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST)
