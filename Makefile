# Fourfold's commands. `make` lists them.

LINT_FLAGS       ?=
FUZZTIME         ?= 30s
MINUTES          ?= 10
IMAGE_TEST_FLAGS ?=
BENCH_FLAGS      ?=

bin := $(CURDIR)/bin
# Modules of their own, so that what they need stays out of the product's.
nested := $(filter-out ./tools,$(patsubst %/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path '*/testdata/*')))

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print these targets.
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

##### Build and try

.PHONY: build
build: ## Build worker and enqueue into bin/.
	go build -trimpath -o $(bin)/ ./cmd/...

.PHONY: demo
demo: ## Run the demo: embedded Redis, simulated providers, about 15 seconds.
	go run ./cmd/worker demo

##### Test

.PHONY: deps
deps: ## Install what the tests need and this machine lacks (redis-server, gcc).
	@scripts/need redis-server gcc

.PHONY: test
test: deps ## Run the tests with the race detector, against a real Redis that they start.
	go test -race -timeout 30m ./...

.PHONY: check
check: lint vet test tidy ## Run all that a change must pass: lint, vet, test, tidy.

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: $(bin)/golangci-lint ## Run golangci-lint, gofumpt included, as .golangci.yaml says.
	@for m in . $(nested); do (set -x; cd $$m && $(bin)/golangci-lint run --allow-parallel-runners $(LINT_FLAGS) ./...) || failed=1; done; exit $${failed:-0}

.PHONY: fmt
fmt: $(bin)/golangci-lint ## Format the code with gofumpt.
	@for m in . $(nested); do (set -x; cd $$m && $(bin)/golangci-lint fmt ./...) || exit 1; done

.PHONY: tidy
tidy: ## Fail if go.mod or go.sum of any module is not tidy, or a downloaded module was changed.
	@for m in . $(nested) tools; do (set -x; cd $$m && go mod tidy -diff) || failed=1; done; exit $${failed:-0}
	go mod verify
	cd tools && go mod verify

.PHONY: fuzz
fuzz: ## Fuzz every fuzz test for FUZZTIME (30s) each.
	scripts/fuzz $(FUZZTIME)

.PHONY: e2e
e2e: deps ## Try the built programs as outsiders do: real Redis, a provider on the wire, signals and kills.
	go test -race -timeout 30m -count=1 ./internal/e2e/...

.PHONY: failover
failover: ## Play the sixteen provider faults of the public benchmark, about 15 seconds, beside the published results.
	go run ./bench/failover

.PHONY: soak
soak: deps ## Kill workers, producers and Redis for MINUTES (10) while runs go on; compare each with a pure evaluation.
	go run ./tasks/internal/soak -minutes $(MINUTES) $(SOAK_FLAGS)

.PHONY: mutants
mutants: deps ## Break the state protocol in known ways, one at a time; fail if a break passes the tests.
	go run ./tasks/internal/mutants

##### Measure

.PHONY: bench
bench: deps ## Measure beside asynq, go-workflows and River; write docs/benchmarks.md and docs/plots. Takes half an hour.
	cd bench/anchors && go run . -write $(BENCH_FLAGS)

.PHONY: bench-quick
bench-quick: deps ## The same with small sizes, in two minutes; writes nothing.
	cd bench/anchors && go run . -quick $(BENCH_FLAGS)

.PHONY: bench-test
bench-test: deps ## Test the programs that measure.
	cd bench/anchors && go test -timeout 30m ./...

.PHONY: benchstat
benchstat: deps $(bin)/benchstat ## Run the Go benchmarks and compare them with those recorded last.
	scripts/benchstat

.PHONY: bench-record
bench-record: deps ## Run the Go benchmarks and record them in bench/testdata.
	scripts/benchstat record

##### Deploy

.PHONY: manifests
manifests: ## Render the Kubernetes manifests and check them: schemas, times, security, scaling.
	cd deploy/tests && go test -timeout 30m ./...

.PHONY: schemas
schemas: ## Take the schemas that the manifests are held against from their modules anew.
	cd deploy/tests && go generate ./...

.PHONY: image
image: ## Build the image fourfold:dev with docker, podman or buildah.
	scripts/image dev

.PHONY: image-test
image-test: ## Build the image twice, compare, and run it read-only; says so where no engine is there.
	@mkdir -p dist
	scripts/image-test $(IMAGE_TEST_FLAGS)

.PHONY: dashboards
dashboards: ## Check the Datadog dashboard, monitors and SLOs: strictly, and their queries against the catalogue.
	cd deploy/datadog && go test -timeout 30m ./...

##### Supply chain

.PHONY: vulncheck
vulncheck: $(bin)/govulncheck ## Look for known vulnerabilities, offline; fail on those that tools/vulnerabilities.txt does not explain.
	scripts/vulncheck

.PHONY: sbom
sbom: $(bin)/cyclonedx-gomod ## Write an SBOM (CycloneDX) of each binary into dist/.
	mkdir -p dist
	$(bin)/cyclonedx-gomod app -json -licenses -output dist/worker.cdx.json -main cmd/worker
	$(bin)/cyclonedx-gomod app -json -licenses -output dist/enqueue.cdx.json -main cmd/enqueue

# The tools' versions are those of tools/go.mod; a change there builds them anew.
$(bin)/golangci-lint: tools/go.mod
	cd tools && go build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(bin)/govulncheck: tools/go.mod
	cd tools && go build -o $@ golang.org/x/vuln/cmd/govulncheck

$(bin)/benchstat: tools/go.mod
	cd tools && go build -o $@ golang.org/x/perf/cmd/benchstat

$(bin)/cyclonedx-gomod: tools/go.mod
	cd tools && go build -o $@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
