# rdmakit: `make` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULE  := github.com/rdmakit/rdmakit
# Without a tag the version names the commit; without git it is just "devel".
VERSION := $(or $(shell git describe --tags --match 'v*' --dirty 2>/dev/null),$(addprefix devel+,$(shell git describe --always --dirty 2>/dev/null)),devel)
COMMIT  := $(shell git rev-parse --verify -q HEAD 2>/dev/null || true)
DATE    := $(shell git log -1 --format=%cI 2>/dev/null || true)

STAMP   := $(MODULE)/internal/version
LDFLAGS := -s -w -X $(STAMP).version=$(VERSION) -X $(STAMP).commit=$(COMMIT) -X $(STAMP).date=$(DATE)

# No cgo, except for the race detector. The linker stamps the version, so Go need not run git.
# All targets use the same flags (-trimpath), so that they share the build cache.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath

TOOL      := go tool -modfile=tools/go.mod
PLATFORMS := linux/arm64 darwin/arm64 darwin/amd64 windows/amd64
FUZZTIME  ?= 2s
# COUNTS=FILE makes the targets that run tests append "ring<TAB>passed<TAB>failed<TAB>skipped".
COUNTS    ?=
count = bin/testcount $(if $(COUNTS),-o $(COUNTS)) -name

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## install what the test rings need (root and apt; else print what is missing)
	@scripts/deps.sh
	@go mod download
	@$(TOOL) golangci-lint --version >/dev/null
	@$(TOOL) gofumpt --version >/dev/null

.PHONY: build
build: bin/rdmactl bin/rdmactl-static ## build bin/rdmactl and bin/rdmactl-static

.PHONY: bin/rdmactl
bin/rdmactl:
	go build -ldflags '$(LDFLAGS)' -o $@ ./cmd/rdmactl

.PHONY: bin/rdmactl-static
bin/rdmactl-static:
	go build -tags nodl -ldflags '$(LDFLAGS)' -o $@ ./cmd/rdmactl

# Where "make install" puts things. RDMACTL is the binary that writes its own manual pages and
# completions: for a cross-built bin/rdmactl, a build that runs on this machine.
PREFIX  ?= /usr/local
DESTDIR ?=
RDMACTL ?= bin/rdmactl

.PHONY: install
install: ## install bin/rdmactl, manual pages and completions below DESTDIR and PREFIX (/usr/local)
	@scripts/install.sh bin/rdmactl '$(RDMACTL)' '$(DESTDIR)$(PREFIX)'

.PHONY: bin/testcount
bin/testcount:
	@go build -o $@ ./internal/testkit/testcount

.PHONY: check-build
check-build: build ## run both binaries, the static one in an empty chroot
	scripts/check-build.sh bin '$(VERSION)'

# The packages with the longest tests run first, so that none of them runs alone at the end.
LONG := ./verbs/provider/roce ./internal/compat/ibdiags ./internal/cli/commands

# GOGC: the tests of commands produce much garbage in small heaps; collecting it less often saves a
# quarter of their time.
.PHONY: test
test: bin/testcount ## run the tests that need no RDMA kernel (rings 1 to 3)
	@scripts/deps.sh test
	GOGC=400 go test -timeout 15m -json $(LONG) ./... | $(count) test

# Tests with goroutines, in packages whose other tests compare output: terminals, signals, pings,
# trees that change.
MEETINGS := OnTerminal|SideBySide|Signals|TestExec|Ping|Client|Concurrent|TestUnsteadyNode|TestMachineFiles
MEET_IN  := ./internal/cli/commands ./internal/record/bundle ./internal/record/nodetree ./fabric

.PHONY: test-race
test-race: bin/testcount ## run the tests of the packages that use goroutines, with the race detector
	@scripts/deps.sh test
	export CGO_ENABLED=1; { \
		go test -race -timeout 15m -json $$(scripts/race-packages.sh) && \
		go test -race -timeout 15m -json -run '$(MEETINGS)' $(MEET_IN); \
	} | $(count) race

.PHONY: test-kernel
test-kernel: bin/testcount ## run the tests against a real kernel's rxe and siw in a QEMU guest (ring 4)
	@scripts/deps.sh kernel
	go test -tags kernel -count=1 -p 1 -timeout 40m -json ./integration/kernel/... | $(count) kernel

.PHONY: test-kernel-all
test-kernel-all: bin/testcount ## run all cases of ring 4, of which test-kernel runs a representative part
	@scripts/deps.sh kernel
	RDMAKIT_TEST_ALL=1 go test -tags kernel -count=1 -p 1 -timeout 90m -json ./integration/kernel/... \
		| $(count) kernel-all

.PHONY: test-cluster
test-cluster: bin/testcount ## run cluster verifications by real processes in network namespaces, with OpenSSH and Slurm (root)
	@scripts/deps.sh cluster
	go test -tags cluster -count=1 -timeout 15m -json ./integration/cluster/... | $(count) cluster

.PHONY: test-mutants
test-mutants: ## change one place of the RoCE engine at a time and check that its tests notice (MUTANTS='-n 9 -seed 2')
	@scripts/deps.sh test
	go run ./integration/mutants $(MUTANTS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (2s)
	@FUZZ_COUNTS=$(COUNTS) scripts/fuzz.sh $(FUZZTIME)

.PHONY: fuzz-smoke
fuzz-smoke: ## run the fuzz targets related to changes since FUZZ_BASE and a few others, for about 90 s
	@FUZZ_COUNTS=$(COUNTS) scripts/fuzz.sh -smoke $(FUZZTIME)

.PHONY: lint
lint: lint-go lint-mod ## check style, imports, formatting and go.mod

# golangci-lint runs go vet with the tags kernel and cluster; the files with the tag nodl need a separate run.
.PHONY: lint-go
lint-go:
	$(TOOL) golangci-lint run ./...
	@out=$$($(TOOL) gofumpt -l .); if [ -n "$$out" ]; then echo "not gofumpt-formatted (make fmt):" $$out >&2; exit 1; fi
	go vet -tags nodl $$(git grep -l --name-only 'go:build.*nodl' -- '*.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')

.PHONY: lint-mod
lint-mod:
	go mod tidy -diff
	cd tools && go mod tidy -diff

.PHONY: cross
cross: ## build for the other platforms, vet one of each system, and run the arm64 build under qemu-user
	@scripts/deps.sh cross
	@for p in $(PLATFORMS); do echo "cross $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} go build ./...; \
		[ $$p = darwin/amd64 ] || GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./...; \
	done
	@scripts/check-arm64.sh

.PHONY: test-arm64
test-arm64: ## run the tests of the packages that call C libraries for arm64 under qemu-user (CC_ARM64=COMPILER)
	@scripts/deps.sh cross
	@scripts/test-arm64.sh

.PHONY: fmt
fmt: ## format all Go files
	$(TOOL) gofumpt -w .

.PHONY: bench
bench: ## measure rdmactl env against the shell algorithm, and the data path against iperf3 and UCX; print the ratios
	@scripts/deps.sh bench
	./integration/bench/run
	./integration/bench/dataplane/run

.PHONY: picture
picture: ## record what rdmactl demo prints, and draw it for README
	go run ./internal/cli/gendocs -record internal/cli/gendocs/demo.ansi
	go run ./internal/cli/gendocs docs

.PHONY: bench-verify
bench-verify: ## score the verdicts of cluster verifications on emulated clusters, and write docs/verdicts.md; several minutes
	go run ./integration/verify -v -doc docs/verdicts.md

.PHONY: bench-fabric
bench-fabric: ## measure sweeps against infiniband-diags under ibsim, at most 25 minutes (QUICK=1: compare results only)
	@scripts/deps.sh bench
	./integration/bench/fabric/run $(if $(filter 1,$(QUICK)),-quick -limit 1m)

.PHONY: generate
generate: ## regenerate the generated files
	go generate ./...

.PHONY: check-generated
check-generated: ## fail if generate changes anything
	@scripts/check-generated.sh

.PHONY: clean
clean: ## remove what the targets above built
	rm -rf bin
