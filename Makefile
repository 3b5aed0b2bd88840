# airtide: make demo shows it on real traffic, make test passes every test. Both install what is missing (Debian, root).
SHELL := /bin/bash
GO ?= go
RELEASE ?=
LDFLAGS := -s -w $(if $(RELEASE),-X main.release=$(RELEASE))
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'
OUT ?= demo-out

.PHONY: setup setup-run demo test fuzz bench bench-monitor bench-cell bench-congestion fidelity reproduce test-kernels test-timewarp generate lint dist build clean

build: ## the static binary for this machine
	$(BUILD) -o airtide ./cmd/airtide

setup-run: ## what the demo needs
	scripts/setup run

setup: ## what tests and code generation need besides
	scripts/setup all

demo: setup-run build ## record a real transfer, sum it up, draw it
	scripts/demo ./airtide $(OUT)

test: setup lint ## every test
	$(GO) build ./...
	scripts/test

fuzz: setup ## each fuzz test for a while (FUZZTIME=30s); what breaks one is kept below its package's testdata/fuzz
	scripts/fuzz $(or $(FUZZTIME),30s)

test-kernels: setup ## airtide on Debian's kernels for amd64 and arm64, in qemu; table in docs/results/kernels.md, logs in kernels-out (KERNELS='-guests 6.12' does a part)
	scripts/test-kernels $(or $(KERNELS),-page docs/results/kernels.md)

test-timewarp: setup-run build ## accelerated time on Debian's kernels, in qemu (an hour); logs in kernels-out
	scripts/test-timewarp ./airtide

lint: setup
	scripts/lint

bench: bench-monitor bench-cell bench-congestion ## every benchmark
	$(GO) test -run '^$$' -bench . -benchtime 2s ./internal/recording/... ./internal/view/screen ./internal/observe/...

bench-monitor: setup build ## cost per ACK beside bpftrace, perf and ss; writes to docs/results/performance.md by hand
	$(GO) run ./test/bench/monitor -airtide ./airtide

bench-cell: setup build ## the emulated cell beside tbf: throughput, processor time, lateness
	$(GO) run ./test/bench/cell

bench-congestion: setup build ## what the congestion controls cost per ACK beside the kernel's CUBIC
	$(GO) run ./test/bench/congestion

fidelity: setup build ## the cell beside theory, ns-3 and the papers (an hour; FIDELITY='-only udp' does a part)
	$(GO) run ./test/bench/fidelity -airtide ./airtide $(FIDELITY)

reproduce: setup build ## the papers' figures, and what goes past them, into docs/results (hours; REPRODUCE='-only p1-*' does a part)
	$(GO) run ./test/bench/reproduce -airtide ./airtide $(REPRODUCE)

generate: setup ## everything that is generated and committed
	$(GO) generate ./...

dist: ## static binaries for amd64 and arm64 in dist/
	for arch in amd64 arm64; do GOOS=linux GOARCH=$$arch $(BUILD) -o dist/airtide-linux-$$arch ./cmd/airtide || exit 1; done
	ls -l dist

clean:
	rm -rf airtide dist demo-out kernels-out # results of experiments stay
