# Everything here needs Go, git and make, and nothing else. `make race` also needs a
# C compiler.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The same programs and results on every machine: with or without a C compiler,
# within a workspace or not.
export CGO_ENABLED := 0
export GOWORK := off

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X holdfast.dev/holdfast/internal/version.number=$(VERSION)

# The modules of this repository. Only the first is the product. tools/peers and
# tools/cosign are left out: to check them means to download all that other programs are
# made of.
MODULES := . tools tools/lint tools/manifests tools/plots tools/ui deploy/local
# What go vet and the linters look at. The main packages of deploy/local are left out:
# checking them means to load all of Kubernetes, for minutes.
CHECKED := . tools tools/manifests tools/plots tools/ui deploy/local/internal

# The commit of the sources, if git knows it: a label of the image.
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)

IMAGE ?=
# Of a release: the controller's image without a tag, where the files will be, and the
# private key of cosign. Empty: deploy.Image, https://holdfast.dev/releases/VERSION, unsigned.
REPOSITORY ?=
DOWNLOADS ?=
SIGNING_KEY ?=
TIMEOUT ?= 20m
FUZZTIME ?= 20s

##@ Use

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build controlplane ## Show what Holdfast does, on a real control plane, and clean up
	@bin/demo demo

.PHONY: up
up: build controlplane ## Start a control plane with Holdfast to play with
	@bin/demo up

.PHONY: down
down: ## Stop what `make up` started
	@if [[ -x bin/demo ]]; then bin/demo down; \
	elif [[ -e .holdfast/kubeconfig ]]; then echo 'bin/demo is missing, and stops what it started: run `make build`, then `make down` again' >&2; exit 1; \
	else echo 'Nothing is running.'; fi

##@ Build

# It says how long it will still take. With -trimpath, as all that it builds: the build
# cache keeps one copy then.
BUILD := go run -trimpath ./internal/testcluster/binaries/build

.PHONY: build
build: ## Build bin/holdfast and bin/holdfast-controller (a minute or two the first time)
	@$(BUILD) product '$(LDFLAGS)'

.PHONY: controlplane
controlplane: ## Build the local control plane (minutes the first time)
	@$(BUILD) controlplane

.PHONY: generate
generate: bin/controller-gen ## Write deepcopy, CRDs, install.yaml, the chart, docs/cli.md anew
	@$(call generate,.)

.PHONY: image
image: sbom ## Build the controller's image: bin/holdfast-controller.tar, an OCI archive
	@go -C tools/manifests run ./image -version '$(VERSION)' -revision '$(REVISION)' -o '$(CURDIR)/bin/holdfast-controller.tar'

.PHONY: push
push: ## Build the image, push it as IMAGE, and sign it with SIGNING_KEY
	@[[ -n '$(IMAGE)' ]] || { echo 'make push needs to know where to: make push IMAGE=registry.example.com/holdfast-controller:1' >&2; exit 1; }
	@$(MAKE) image
	@go -C tools/manifests run ./image -version '$(VERSION)' -revision '$(REVISION)' -push '$(IMAGE)' > bin/pushed
	@cat bin/pushed
	@[[ -z '$(SIGNING_KEY)' ]] || { $(MAKE) bin/cosign; bin/cosign sign --yes $(SIGNING) "$$(< bin/pushed)"; }

.PHONY: sbom
sbom: ## Write bin/holdfast-controller.cdx.json: modules and licenses
	@temporary=$$(mktemp -d); trap 'rm -rf "$$temporary"' EXIT; mkdir -p bin; \
	GOOS=linux GOARCH=amd64 go build -trimpath -ldflags '$(LDFLAGS)' -o "$$temporary" ./cmd/holdfast-controller; \
	go -C tools/manifests run ./sbom -version '$(VERSION)' -o '$(CURDIR)/bin/holdfast-controller.cdx.json' "$$temporary/holdfast-controller"

# Signs with a key, and asks no transparency log, authority or clock.
SIGNING = --key '$(SIGNING_KEY)' --signing-config tools/cosign/signing-config.json --trusted-root tools/cosign/trusted-root.json

.PHONY: release
release: ## Write a release to dist/ (VERSION=v1.2.3 SIGNING_KEY=cosign.key)
	@rm -rf dist
	@go -C tools/manifests run ./release -version '$(VERSION)' -o '$(CURDIR)/dist' \
		$(if $(REPOSITORY),-repository '$(REPOSITORY)') $(if $(DOWNLOADS),-downloads '$(DOWNLOADS)')
	@if [[ -z '$(SIGNING_KEY)' ]]; then echo 'dist is not signed: give SIGNING_KEY=cosign.key'; exit; fi; \
	$(MAKE) bin/cosign; \
	for file in SHA256SUMS provenance.intoto.json; do \
		bin/cosign sign-blob --yes $(SIGNING) --bundle "dist/$$file.sigstore.json" "dist/$$file"; \
	done

.PHONY: clean
clean: ## Remove what was built (the control plane too)
	rm -rf bin dist

##@ Test

# Without paths in what is compiled, a clone finds in the build cache what another has
# put there, and tests find what `make build` and `make controlplane` have.
test test-packages test-modules test-long test-pure test-faults test-storm test-ui test-versions golden mutants: export GOFLAGS := -trimpath

# Two packages at a time, beside the tests of the other modules: two with a control plane keep two processors busy most
# of the time, and more are late together, and time out. The longest begins first, beside those that mostly wait; then
# come those that mostly compute. These are compiled first. `make verify` runs go vet.
LONGEST := ./pkg/controller ./pkg/program ./deploy/demo ./deploy ./internal/clitest ./internal/testcluster ./pkg/cluster

CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 4)
AT_ONCE := $(shell echo $$(($(CORES) < 4 ? 2 : $(CORES) / 2)))

.PHONY: test
test: controlplane ## Run all tests but test-faults, on a real control plane where they need one
	@status=0; \
	go list -test -export $(LONGEST) >/dev/null || status=1; \
	$(MAKE) -k -j 2 test-packages test-modules || status=1; \
	exit $$status

.PHONY: test-packages test-modules
test-packages:
	@go test -vet=off -p $(AT_ONCE) -timeout $(TIMEOUT) $(LONGEST) $$(go list ./... | grep -vxF "$$(go list $(LONGEST) ./internal/faults)")
test-modules:
	go -C deploy/local test -vet=off ./internal/...
	go -C tools/manifests test -vet=off -p 1 -count=1 -timeout $(TIMEOUT) ./... # the cache knows nothing of files outside of the module

# Only the packages that use rapid know its flags. Seed 0 draws other input in each run.
RAPID = $$(git grep -l 'pgregory.net/rapid' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
LONG_TIMEOUT ?= 90m
LONG_CHECKS ?= 2000

.PHONY: test-long
test-long: export HOLDFAST_LONG := 1
test-long: controlplane bin/cosign ## Run all tests with whole samples: an hour or so (LONG_TIMEOUT=90m)
	go test -count=1 -timeout $(LONG_TIMEOUT) ./...
	go test -count=1 -timeout $(LONG_TIMEOUT) $(RAPID) -rapid.seed 0 -rapid.checks $(LONG_CHECKS)
	go -C deploy/local test -count=1 ./internal/...
	go -C tools/manifests test -count=1 -timeout $(LONG_TIMEOUT) ./...

# Packages whose tests start no control plane.
PURE = $$(go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... \
	| awk '$$1 ~ /\.test$$/ && !/ holdfast\.dev\/holdfast\/internal\/testcluster/ {sub(/\.test$$/, "", $$1); print $$1}')

.PHONY: test-pure
test-pure: ## Run the tests that need no control plane
	@go test $(PURE)

.PHONY: race
race: export CGO_ENABLED := 1
race: ## Run test-pure with the race detector (needs a C compiler)
	@command -v "$$(go env CC)" >/dev/null || { echo "make race needs a C compiler ($$(go env CC))" >&2; exit 1; }
	@go test -race -timeout $(TIMEOUT) $(PURE)

.PHONY: test-mysql
test-mysql: ## Run what Mysql renders on a real server (mariadb-server)
	@command -v mariadbd >/dev/null || PATH="$$PATH:/usr/sbin" command -v mariadbd >/dev/null \
		|| { echo 'make test-mysql needs mariadbd: apt install mariadb-server' >&2; exit 1; }
	go test -count=1 -tags mysqlserver ./pkg/mysql

.PHONY: test-ui
test-ui: controlplane ## Test the pages of holdfast ui in a real browser (chromium)
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { echo 'make test-ui needs a browser: apt install chromium' >&2; exit 1; }
	go -C tools/ui test -count=1 -timeout $(TIMEOUT) ./...

.PHONY: test-peers
test-peers: ## Compare pkg/tosca with OpenStack's (python3-tosca-parser)
	@/usr/bin/python3 -c 'import toscaparser' 2>/dev/null \
		|| { echo 'make test-peers needs tosca-parser: apt install python3-tosca-parser' >&2; exit 1; }
	@/usr/bin/python3 -c 'import glob, os, sys, toscaparser.elements as e; sys.exit(not glob.glob(os.path.join(os.path.dirname(e.__file__), "TOSCA_definition*.yaml")))' \
		|| { echo 'make test-peers: this package of tosca-parser (Debian'"'"'s is one) lacks toscaparser/elements/TOSCA_definition*.yaml, without which it reads nothing.' >&2; \
			echo 'The source of tosca-parser has the file: name a checkout of it, or a complete copy of the Python package, as PYTHONPATH=DIRECTORY' >&2; exit 1; }
	go test -count=1 -tags peers ./pkg/tosca -run TestPeer

FAULT_SEED ?=
FAULT_DURATION ?= 1m
FAULT_STEPS ?=
FAULT_TRIES ?= 1

.PHONY: test-faults
test-faults: controlplane ## Run the controller while everything fails (FAULT_DURATION=1m)
	@mkdir -p .holdfast/faults
	FAULT_SEED=$(FAULT_SEED) FAULT_DURATION=$(FAULT_DURATION) FAULT_STEPS=$(FAULT_STEPS) go test -v -timeout 60m \
		-count=$(FAULT_TRIES) $(if $(FAULT_STEPS),-failfast -run '^TestStorm$$') -artifacts -outputdir .holdfast/faults ./internal/faults

STORM_SEEDS ?= 1 2

.PHONY: test-storm
test-storm: controlplane ## Storms of ten minutes each, and how the controller rests after them (STORM_SEEDS="1 2")
	@mkdir -p .holdfast/faults
	@for seed in $(STORM_SEEDS); do \
		HOLDFAST_LONG=1 FAULT_SEED=$$seed go test -v -count=1 -timeout 60m -run '^TestStorm$$' -artifacts -outputdir .holdfast/faults ./internal/faults || exit 1; \
	done

KUBERNETES ?= 1.34.4 1.35.4 1.36.3 1.37.2

.PHONY: test-versions
test-versions: ## Test with other versions of Kubernetes: docs/install.md (KUBERNETES="1.34.4")
	@deploy/local/versions/test $(KUBERNETES)

.PHONY: golden
golden: ## Write the golden files anew; read the diff before you believe it
	@go test ./pkg/plan ./pkg/mysql -run TestGolden -update
	@go test ./pkg/tosca -run 'TestGolden|TestErrors' -update
	@go test ./pkg/cli ./internal/clitest -run TestScript -update
	@go -C tools/manifests test . -run TestEveryValue -update

.PHONY: mutants
mutants: controlplane ## Plant bugs, one at a time: tests must notice (MUTANTS="name…" for some)
	@go run ./internal/mutants/run $(MUTANTS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (default 20s)
	@for package in $$(git grep -lE '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u); do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$package/*_test.go | cut -c 6-); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$package; \
		done; \
	done

.PHONY: engine-report
engine-report: ## Check the measures of the architecture
	go run ./internal/architecture/report

.PHONY: bench
bench: build controlplane ## Measure the controller beside a bare client (ROWS=P5,P6 OBJECTS=100000)
	@go run ./internal/bench $(if $(ROWS),-rows '$(ROWS)') $(if $(OBJECTS),-objects '$(OBJECTS)')

PEERS := $(patsubst tools/peers/%/go.mod,bin/peers/%,$(wildcard tools/peers/*/go.mod))
SIZES ?= 200 1000

.PHONY: bench-peers
bench-peers: build controlplane $(PEERS) ## Compare with kro and others: docs/benchmarks.md (SIZES="200 1000")
	@go run ./internal/bench -peers '$(SIZES)'
	@go -C tools/plots run . '$(CURDIR)/docs/benchmarks'

bin/peers/argo-cd: tools/peers/argo-cd/main.go

# One of them has no flag for where it serves metrics: here it is no fixed port.
bin/peers/%: tools/peers/%/go.mod tools/peers/%/go.sum
	@echo 'building $@ (once, minutes)'
	@go -C tools/peers/$* build -trimpath -o '$(CURDIR)/$@' \
		-ldflags '-s -w -X sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=127.0.0.1:0' tool
	@touch $@

##@ Check

.PHONY: verify
verify: bin/controller-gen ## Check generated files, formatting and go.mod files; go vet
	@temporary=$$(mktemp -d); trap 'rm -rf "$$temporary"' EXIT; \
	$(call generate,$$temporary); \
	$(foreach file,$(GENERATED),diff -ru --exclude='*.go' --exclude=Kustomization '$(file)' "$$temporary/$(file)" || stale=1;) \
	$(foreach package,$(API_PACKAGES),diff -u '$(package)/$(DEEPCOPY)' "$$temporary/$(package)/$(DEEPCOPY)" || stale=1;) \
	if [[ -n "$${stale:-}" ]]; then echo 'generated files are out of date: run `make generate`' >&2; exit 1; fi
	@unformatted=$$(git ls-files --cached --others --exclude-standard '*.go' \
		| while read -r file; do if [[ -f $$file ]]; then echo "$$file"; fi; done | xargs gofmt -l); \
	if [[ -n "$$unformatted" ]]; then printf 'not formatted with gofmt:\n%s\n' "$$unformatted" >&2; exit 1; fi
	@git ls-files -z | xargs -0 ls -l | awk '$$5 > 1048576 {print "larger than 1 MiB: " $$9; large = 1} END {exit large}'
	@for module in $(MODULES); do echo "go mod tidy -diff in $$module"; go -C $$module mod tidy -diff; done
	@for module in $(CHECKED); do echo "go vet $$module"; go -C $$module vet ./...; done
	@$(MAKE) --no-print-directory engine-report

.PHONY: lint
lint: bin/golangci-lint ## Run the linters of .golangci.yml
	@for module in $(CHECKED); do echo "golangci-lint in $$module"; (cd $$module && "$(CURDIR)/bin/golangci-lint" run ./...); done
	@go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the programs call (asks vuln.go.dev)
	@go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./cmd/...

# Tools are programs of modules of their own, so that the product does not depend on
# what they depend on. They are built again when their versions change.

bin/controller-gen: tools/go.mod tools/go.sum
	@echo 'building $@ (once)'
	@go -C tools build -trimpath -o '$(CURDIR)/$@' sigs.k8s.io/controller-tools/cmd/controller-gen
	@touch $@

bin/cosign: tools/cosign/go.mod tools/cosign/go.sum
	@echo 'building $@ (once, minutes)'
	@go -C tools/cosign build -trimpath -ldflags '-s -w' -o '$(CURDIR)/$@' github.com/sigstore/cosign/v3/cmd/cosign
	@touch $@

bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@echo 'building $@ (once, minutes)'
	@go -C tools/lint build -trimpath -ldflags '-s -w' -o '$(CURDIR)/$@' github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

# What the chart is made of beside its templates: copies, because Helm reads nothing
# outside of a chart, and links do not survive every checkout.
CHART := deploy/helm/holdfast
CHART_FILES := $(filter-out %/kustomization.yaml,$(patsubst deploy/%,%,$(wildcard deploy/crd/*.yaml deploy/profiles/*.yaml deploy/rbac/*/*.yaml deploy/monitoring/*))) \
	admission/service-accounts.yaml ha/disruption.yaml ha/priority.yaml manager/network-policy.yaml

# What is generated, but for the deepcopy functions of each API package.
GENERATED := deploy/crd deploy/install.yaml $(CHART)/files pkg/kinds/builtin.json docs/cli.md
API_PACKAGES := $(patsubst %/doc.go,%,$(wildcard pkg/api/*/doc.go pkg/api/*/*/doc.go))
DEEPCOPY := zz_generated.deepcopy.go

# generate writes everything below the directory $(1).
define generate
$(foreach package,$(API_PACKAGES),bin/controller-gen object paths='./$(package)' output:object:dir="$(1)/$(package)";) \
bin/controller-gen crd:headerFile=tools/crd-header.txt paths=./pkg/api/... output:crd:dir="$(1)/deploy/crd"; \
directory=$$(cd "$(1)" && pwd); mkdir -p "$$directory/pkg/kinds" "$$directory/docs" "$$directory/$(CHART)/files"; \
tar -C deploy -cf - $(CHART_FILES) | tar -C "$$directory/$(CHART)/files" -xf -; \
go -C tools run ./listtypes -o "$$directory/pkg/kinds/builtin.json"; \
go run ./docs/generate > "$$directory/docs/cli.md"; \
{ echo '# Code generated by kustomize from deploy/default. DO NOT EDIT.'; \
	echo '# No public registry has the image. `make push IMAGE=registry.example.com/holdfast-controller:1`'; \
	echo '# in a checkout builds it and pushes it to one of yours: name it in the Deployment below.'; \
	go -C tools/manifests tool kustomize build ../../deploy/default; } > "$$directory/deploy/install.yaml"
endef
