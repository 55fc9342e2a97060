SHELL      := /bin/bash
# The commands of the project. `make help` lists them.

GO         ?= go
BIN        := bin/cordwood
BASE_DIR   := bin/base
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT     := $(shell git rev-parse HEAD 2>/dev/null)
BRANCH     := $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null)
DATE       := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
LDBRANCH    = -X main.buildBranch=$(BRANCH)
# Every command has this flag, so that a package is compiled once for the program, the
# tests, the linters and the tools, and once more for the race detector.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)
LDFLAGS     = -s -w -X main.buildVersion=$(VERSION) -X main.buildCommit=$(COMMIT) -X main.buildDate=$(DATE) $(LDBRANCH)

# Tools are run at a pinned version and are not in go.mod. A tool with that name on
# the PATH is not used: another version may give other results.
LINTER     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOLANGCI   := $(GO) run $(LINTER)
# With -trimpath, the build cache may hold the output of cgo from another copy of the repository, and the
# linters would open the source files there. The packages with cgo are linted without the flag.
GOLANGCGO  := $(GO) run -exec 'env GOFLAGS=' $(LINTER)
CGO_PKGS   := ./proto/timerslack ./shard/query/engine/duck
BUF        := $(GO) run github.com/bufbuild/buf/cmd/buf@v1.57.2
GOTESTSUM  := $(GO) run gotest.tools/gotestsum@v1.13.0
NFPM       := $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4

# Packages have the time of the commit, and a version that starts with a number.
EPOCH      ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
DEBVERSION ?= $(shell echo '$(VERSION)' | sed 's/^v//; /^[0-9][0-9]*[.]/!s/^/0.0.0~/; y/-/~/')

# Packages whose tests run several goroutines over shared state: these run under
# the race detector, the others without it. The longest come first, so that none runs alone at the end.
RACE_PKGS  := ./shard ./shard/query/... ./shard/replica/... ./meta/... ./node/... ./router/httpapi/... ./router/query/... \
              ./router/write/... ./proto/leader ./shard/memtable/... ./shard/manifest/... ./shard/shardclient/... ./shard/handoff

# The reference implementation of VRL, which `make vrl-reference` installs. Without it TestReference is skipped.
VRL_REFERENCE := $(HOME)/.cache/cordwood/vector-vrl-1.0.11
export VRL_REFERENCE_PYTHON ?= $(wildcard $(VRL_REFERENCE)/python)

.PHONY: help build demo test check lint fmt generate generate-check race fuzz crash simulation chaos cold-chaos bench bench-e2e vrl-reference clients-test iceberg-test helm-test helm-docs kube-test licences vendor-web web-bundle web-lint web-test screenshots image deb dist dist-test package-test clean

help: ## List the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/cordwood
	@mkdir -p bin
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/cordwood

demo: build ## Start a server with data to look at; ARGS=--exit stops it again
	@$(GO) run ./deploy/demo -bin $(BIN) $(ARGS)

# Tests are linked without debug information, which saves a third of the link time, and
# with mold if it is installed, which takes half the time of ld.
MOLD       := $(shell echo 'int main(void) { return 0; }' | $(CC) -fuse-ld=mold -x c -o /dev/null - 2>/dev/null && echo -extldflags=-fuse-ld=mold)
TESTFLAGS  := -vet=off -ldflags '$(strip -s -w $(MOLD))'
# Tests of RACE_PKGS that run without the race detector: they are sequential, so that the
# detector finds nothing and takes five times as long, or they measure memory, which the
# detector uses too. `make race` runs all tests under it.
PLAIN      := ^Test(DirectConditions|DirectRows|RowsOfSegments|Newest|Merge|Alike|Counted|LeaderKilledAtEveryStep|CancelledAtEveryStep|PaceOfClocks|ExpiredOneIntervalLate|ExpireRowGroups|SparseColumns|ManyTables|Runaway|Letters|DoubleLiterals|LikeAsTheEngine)
# The packages with these tests.
PLAIN_PKGS := $$(grep -rlE --include='*_test.go' '^func $(PLAIN:^%=%)\(' $(RACE_PKGS:/...=) | xargs dirname | sort -u)

# Tests with several processes or nodes depend on the load of the machine: a test that fails
# is repeated once, alone, and the summary shows both runs. Nothing is repeated after a data
# race, or after more than three failures.
RERUN      := $(GOTESTSUM) --format pkgname-and-test-fails --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-abort-on-data-race

# Tests that mostly wait for disks and elections: enough packages and tests run at the same time to
# keep two processors busy. For other tests, the number is the number of processors.
BESIDE     := -p 3 -parallel 4

# The cheapest failures come first.
test: build ## Run all tests; the linters, including vet, are separate
	$(GO) test $(TESTFLAGS) -timeout 20m $$($(GO) list ./... | grep -v '^cordwood/test/' | grep -vxFf <($(GO) list $(RACE_PKGS)))
	$(GO) test $(TESTFLAGS) -timeout 20m -run '$(PLAIN)$$' $(PLAIN_PKGS)
	@# By default, a program under the race detector sleeps for a second before it exits.
	GORACE=atexit_sleep_ms=10 $(RERUN) --packages='$(RACE_PKGS)' -- $(TESTFLAGS) -race $(BESIDE) -timeout 20m -skip '$(PLAIN)$$'
	@# Real processes; the longest come first. ./test/answers runs random statements beside them for some
	@# minutes. It is not repeated: a wrong answer never depends on the load, and the next seed differs.
	$(GO) test $(TESTFLAGS) -timeout 30m ./test/answers & answers=$$!; \
	CORDWOOD_BIN=$(CURDIR)/$(BIN) $(RERUN) --packages="./test/chaos ./test/cluster ./test/simulation $$($(GO) list ./test/... | grep -vx 'cordwood/test/\(answers\|chaos\|cluster\|simulation\)' | tr '\n' ' ')" -- $(TESTFLAGS) $(BESIDE) -timeout 20m; \
	processes=$$?; wait $$answers && exit $$processes
	$(GO) run ./deploy/demo -bin $(BIN) --exit

check: lint build ## Check before every commit: format, lint, build and short tests
	$(GO) test -short ./...

lint: ## Check formatting, import rules and protobuf, and run static checks
	$(GOLANGCGO) run $(CGO_PKGS)
	$(GOLANGCI) run $$($(GO) list -f '{{.Dir}}' ./... | grep -v $(CGO_PKGS:.%=-e '%$$'))
	cd deploy/tools && $(GOLANGCI) run --config ../../.golangci.yml ./...
	cd test/clients && $(GOLANGCI) run --config ../../.golangci.yml ./...
	cd proto && $(BUF) lint

fmt: ## Format the code
	$(GOLANGCI) fmt ./...
	cd deploy/tools && $(GOLANGCI) fmt --config ../../.golangci.yml ./...
	cd test/clients && $(GOLANGCI) fmt --config ../../.golangci.yml ./...

generate: ## Regenerate the protobuf code, the reference of VRL functions and the tables of metrics, settings and errors
	@# go run builds the plugins, which may take longer than buf's default time limit of two minutes.
	cd proto && $(BUF) generate --timeout 15m
	$(MAKE) --no-print-directory build
	$(BIN) vrl help --markdown > docs/vrl-functions.md
	$(GO) test $(TESTFLAGS) -count 1 -run 'Test(Metrics|Settings)Page' ./node ./node/config -update
	$(GO) test $(TESTFLAGS) -count 1 -run TestErrorsPage ./proto/errs -update

generate-check: generate ## Fail if the committed generated code is outdated
	git diff --exit-code -- proto docs

race: ## Run all tests under the race detector
	$(GO) test -race -timeout 20m ./...

fuzz: ## Run each fuzz target for FUZZTIME (30s), then random statements for an hour (ANSWERS=1h)
	@for p in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -h '^func Fuzz' $$p/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-30s} $$p || exit 1; done; done
	$(GO) test -count 1 -timeout 0 -v ./test/answers -run TestAnswers -for $${ANSWERS:-1h}

crash: build ## Repeatedly kill a real server, and cut its power (as root), under load (ROUNDS=100)
	CORDWOOD_BIN=$(CURDIR)/$(BIN) CORDWOOD_CRASH_ROUNDS=$${ROUNDS:-100} $(GO) test -count 1 -timeout 60m -v ./test/crash

simulation: ## Inject failures into simulated clusters in virtual time (SEEDS=200); compare a shard with a model (OPERATIONS=40000)
	$(GO) test -count 1 -timeout 60m -v ./test/simulation -seeds $${SEEDS:-200}
	$(GO) test -count 1 -timeout 60m -v ./test/model -operations $${OPERATIONS:-40000}

chaos: build ## Inject failures of disks, files, processes and networks into real servers and clusters under load, for an hour, or ROUNDS of each (as root)
	CORDWOOD_BIN=$(CURDIR)/$(BIN) CORDWOOD_CHAOS=1 $(GO) test -count 1 -timeout 30m -v ./test/fault
	CORDWOOD_BIN=$(CURDIR)/$(BIN) CORDWOOD_CHAOS=1 $(GO) test -count 1 -timeout 60m -v -run 'TestFoundKilled|TestColdTierChaos' ./test/cluster
	CORDWOOD_BIN=$(CURDIR)/$(BIN) CORDWOOD_CHAOS=1 CORDWOOD_CHAOS_ROUNDS=$(ROUNDS) $(GO) test -count 1 -timeout 90m -v ./test/chaos

cold-chaos: build ## Write ROWS (40000000) to a bucket while nodes and the bucket are killed, compare all of them, and count the requests of queries
	CORDWOOD_BIN=$(CURDIR)/$(BIN) CORDWOOD_CHAOS=1 CORDWOOD_CHAOS_ROWS=$(or $(ROWS),40000000) $(GO) test -count 1 -timeout 90m -v -run 'TestColdTierScale$$' ./test/cluster

bench: ## Run benchmarks of the hot paths, each COUNT=6 times, in the format of benchstat
	$(GO) test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),6) \
		./proto/column ./router/pipeline/... ./router/ingest/... ./router/vrl ./router/write ./shard/...

bench-e2e: build ## Load a real server and print rows per CPU-second and the targets; ARGS='-only app -runs 3', '-nodes 3' for a cluster, '-spread' to compare queries on three nodes with one, '-tenants' for a database beside floods; BASE=commit loads a server of that commit at the same time, for ratios
	$(if $(BASE),rm -rf $(BASE_DIR) && mkdir -p $(BASE_DIR) && git archive $(BASE) | tar -x -C $(BASE_DIR) && cd $(BASE_DIR) && $(GO) build -o cordwood ./cmd/cordwood)
	$(GO) run ./test/bench -bin $(BIN) $(if $(BASE),-versus $(BASE_DIR)/cordwood) $(ARGS)

vrl-reference: ## Install the reference implementation of VRL, with which TestReference compares random programs, from PyPI
	router/vrl/testdata/install-reference.sh $(VRL_REFERENCE)

clients-test: build ## Test with real clients of other systems, which are installed below test/clients from npm, PyPI, Maven Central and Go modules; RUN=TestPostgres only those that match
	cd test/clients && CORDWOOD_BIN=$(CURDIR)/$(BIN) $(RERUN) --packages=. -- -count 1 -timeout 30m $(if $(RUN),-run '$(RUN)')

iceberg-test: build ## Read tables as Apache Iceberg with other programs, which are installed below test/clients/iceberg; ARGS=-spark also with Spark, ARGS=-quick only with a few
	cd test/clients/iceberg && CORDWOOD_BIN=$(CURDIR)/$(BIN) $(GO) test -v -count 1 -timeout 45m . -args $(ARGS)

web-test: build ## Test the page in Chromium (Debian's package chromium); skipped without it
	cd deploy/tools && CORDWOOD_BIN=$(CURDIR)/$(BIN) $(RERUN) --packages=./webtest -- -count 1 -timeout 20m

helm-test: build ## Lint the Helm chart, compare its rendering with the golden files, check its objects, alert rules and dashboards
	cd deploy/tools && CORDWOOD_BIN=$(CURDIR)/$(BIN) $(GO) test -count 1 -timeout 10m ./helmtest ./monitortest

helm-docs: ## Regenerate the chart's README, its rules and dashboards and the golden files
	cd deploy/tools && $(GO) test -count 1 -timeout 10m ./monitortest -update && $(GO) test -count 1 -timeout 10m ./helmtest -update

screenshots: build ## Make the pictures of docs/images in Chromium
	mkdir -p docs/images && cd deploy/tools && CORDWOOD_BIN=$(CURDIR)/$(BIN) WEB_SHOTS=$(CURDIR)/docs/images $(GO) test -count 1 -run TestScreenshots ./webtest

vendor-web: ## Build router/web/vendor, the libraries and fonts of the page, from the npm registry
	cd deploy/tools/web && npm ci --no-audit --no-fund && npm run --silent vendor

web-bundle: ## Build router/web/bundle, the scripts of the page as browsers load them; needs node
	cd deploy/tools/web && npm ci --no-audit --no-fund && npm run --silent bundle

web-lint: ## Check the scripts of the page with eslint, prettier and tsc; needs node
	cd deploy/tools/web && npm ci --no-audit --no-fund && npm run --silent lint

licences: build ## Collect the licence texts of all linked libraries in dist/licences
	@mkdir -p dist
	cd deploy/tools && $(GO) run ./release -bin $(CURDIR)/$(BIN) -licences $(CURDIR)/dist/licences

kube-test: ## Test the chart on a local Kubernetes of three nodes, which this builds and starts; needs root
	deploy/kubernetes-test/run.sh

image: licences ## Make the container image without a daemon: dist/image (OCI layout) and dist/image.tar (docker load)
	@rm -rf dist/image dist/image.tar && mkdir -p dist
	cd deploy/tools && SOURCE_DATE_EPOCH=$(EPOCH) $(GO) run ./image -bin $(CURDIR)/$(BIN) -version $(VERSION) -name cordwood:latest \
		-licences $(CURDIR)/dist/licences -oci $(CURDIR)/dist/image -tar $(CURDIR)/dist/image.tar

deb: licences ## Make the Debian package, in dist
	BIN=$(BIN) LICENCES=dist/licences ARCH=$$($(GO) env GOARCH) VERSION=$(DEBVERSION) SOURCE_DATE_EPOCH=$(EPOCH) \
		$(NFPM) package -f deploy/deb/nfpm.yaml -p deb -t dist

# The architectures that this machine has a C compiler for.
HOSTARCH   := $(shell $(GO) env GOHOSTARCH)
TRIPLE_amd64 := x86_64-linux-gnu
TRIPLE_arm64 := aarch64-linux-gnu
DIST_ARCHES  ?= $(HOSTARCH) $(foreach a,$(filter-out $(HOSTARCH),amd64 arm64),$(if $(shell command -v $(TRIPLE_$(a))-g++),$(a)))
# Where the archives go.
DIST         ?= dist/release

dist: LDBRANCH =
dist: ## Make the archives of a release with SHA256SUMS and SBOMs, in dist/release; DIST_ARCHES='amd64 arm64'
	@rm -rf $(DIST) && mkdir -p $(DIST)/build
	@# The branch is left out: the same commit gives the same bytes.
	set -e; for arch in $(HOSTARCH) $(filter-out $(HOSTARCH),$(DIST_ARCHES)); do \
	  case $$arch in $(HOSTARCH)) tools=;; amd64) tools="CC=$(TRIPLE_amd64)-gcc CXX=$(TRIPLE_amd64)-g++";; arm64) tools="CC=$(TRIPLE_arm64)-gcc CXX=$(TRIPLE_arm64)-g++";; esac; \
	  echo "building for linux/$$arch"; \
	  env $$tools CGO_ENABLED=1 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(DIST)/build/$$arch ./cmd/cordwood; \
	  (cd deploy/tools && SOURCE_DATE_EPOCH=$(EPOCH) $(GO) run ./release -bin $(abspath $(DIST))/build/$$arch -runs $(abspath $(DIST))/build/$(HOSTARCH) \
	    -version $(VERSION) -out $(abspath $(DIST))); \
	done
	cd deploy/tools && $(GO) run ./release -sums $(abspath $(DIST))
	@rm -rf $(DIST)/build; ls -l $(DIST)

dist-test: dist ## Check the archives: sums, content, that the program runs, and that a second build has the same bytes
	deploy/dist/check.sh $(DIST) $(HOSTARCH) $(VERSION)

package-test: deb ## Check the image, the Debian package, the systemd unit and this machine's archive
	cd deploy/tools && CORDWOOD_BIN=$(CURDIR)/$(BIN) $(GO) test -count 1 -timeout 5m ./image ./release
	deploy/deb/check.sh dist/cordwood_$(DEBVERSION)_$$($(GO) env GOARCH).deb
	$(MAKE) --no-print-directory dist-test DIST_ARCHES=$(HOSTARCH)

clean: ## Remove build output
	rm -rf bin dist
