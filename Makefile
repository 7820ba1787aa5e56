# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help build build-demo build-plane kubernetes kubernetes-node images verify-images release contour cert-manager cluster-api cloud-provider-openstack generate verify \
	test test-all test-race test-race-short test-faults test-integration flakes allocations test-packaging test-monitoring test-ovn test-contour test-cert-manager test-capi test-console test-demo e2e-node \
	test-openstack console verify-console lint canary mutants bench performance soak announce demo up node-up down status clean-up

BIN := _output/bin
LDFLAGS := -s -w $(shell hack/ldflags.sh)
# Every build uses these flags, so that whatever is compiled once is compiled once: for the binaries, the images, the tests,
# and for every other clone, because -trimpath keeps the directory of the clone out of the build cache's keys. gRPC's own
# traces keep the linker from dropping unreachable code, a third of the binary. With fieldsv1string, objects with equal
# managed fields share them instead of holding a copy each. Every binary is stripped, so the compiler need not spend a twelfth of its
# time on debugging information; a debugger passes its own -gcflags.
export GOFLAGS += -trimpath -tags=grpcnotrace,fieldsv1string -gcflags=all=-dwarf=false
# As in the images: no C compiler, no library of the machine. Only the race detector needs cgo.
export CGO_ENABLED ?= 0
# By default compilers and tests with the race detector spend a sixth of their time on garbage collection, or more.
FAST := GOGC=400 GOMEMLIMIT=2GiB
LOCALPLANE := $(BIN)/localplane
FAKE_MIDONET := ./test/fakes/midonet/fake-midonet
LOCALOVN := ./test/plane/localovn
FAKE_OPENSTACK := ./test/fakes/openstack/fake-openstack

# Settings of "make up"; they are passed in the environment, because they may contain any character.
export CONFIG ?=
export APISERVER_FLAGS ?=
export MANAGER_FLAGS ?=
export MIDONET ?=
export OVN ?=

# Begins a command that needs OVN if it is requested.
UNPACK_OVN = $(if $(filter real,$(OVN)),root=$$(hack/ovn/root.sh) && OVN_ROOT=$$root )

help: ## Show the targets in groups
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-24s %s\n", $$1, $$2}' Makefile

##@ Build

build: ## Build the binaries into _output/bin
	@mkdir -p $(BIN)
	@hack/go-build.sh "packages compiled for Groundskeeper" -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/... ./hack/localplane $(FAKE_MIDONET) $(LOCALOVN)

# What "make up" starts, and the plugin of kubectl.
build-plane:
	@mkdir -p $(BIN)
	@hack/go-build.sh "packages compiled for Groundskeeper" -ldflags '$(LDFLAGS)' -o $(BIN)/ \
		./cmd/groundskeeper-apiserver ./cmd/groundskeeper-controller-manager ./cmd/kubectl-groundskeeper ./hack/localplane $(if $(MIDONET),$(FAKE_MIDONET)) $(if $(OVN),$(LOCALOVN))

build-demo:
	@mkdir -p $(BIN)
	@hack/go-build.sh "packages compiled for Groundskeeper" -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/groundskeeper-apiserver \
		./cmd/groundskeeper-controller-manager ./cmd/groundskeeper-discoverer ./cmd/kubectl-groundskeeper ./hack/demo $(FAKE_OPENSTACK)

kubernetes: ## Build kube-apiserver, kube-controller-manager, kubectl and etcd into _output/bin (once, cached)
	@hack/kubernetes/build.sh $(BIN)

kubernetes-node: ## Build kubelet, kube-scheduler and kube-proxy, and what runs a node, into _output/bin (once, cached)
	@hack/kubernetes/build.sh $(BIN) node
	@go build -o $(BIN)/ ./test/plane/localnode

images: ## Build an image of each binary into _output/images, as OCI archives
	@hack/images/build.sh _output/images

verify-images: ## Build the images of the current commit twice; fails when they differ
	@hack/images/verify.sh

release: ## Build a release into _output/release: amd64 and arm64, bills of materials, chart, sums; SIGNING_KEY=, IMAGE_SIGNING_KEY=file sign
	@hack/images/release.sh _output/release

contour: ## Build Contour into _output/bin (once, cached)
	@hack/contour/build.sh $(BIN)

cloud-provider-openstack: ## Build the OpenStack cloud controller manager into _output/bin (once, cached)
	@hack/cloud-provider-openstack/build.sh $(BIN)

cert-manager: ## Build cert-manager into _output/bin (once, cached)
	@hack/cert-manager/build.sh $(BIN)

cluster-api: ## Build the core controllers of Cluster API into _output/bin (once, cached)
	@hack/cluster-api/build.sh $(BIN)

##@ Generate and check

generate: build ## Generate deepcopy, defaults, validation, OpenAPI, clients, protobuf, JSON schemas, the chart and pages of the reference
	hack/update-codegen.sh
	hack/update-protobuf.sh
	go -C hack/helm run . ../../artifacts ../../charts/groundskeeper
	go run ./hack/schemas artifacts/gitops/schemas
	go run ./hack/metrics
	go run ./hack/permissions
	go run ./hack/reference $(BIN) docs/reference

verify: generate ## Fail when generated code is stale
	@hack/kubernetes/align.sh --check
	@git diff --exit-code --stat -- pkg hack charts docs artifacts/gitops
	@new=$$(git ls-files --others --exclude-standard -- pkg hack charts docs artifacts/gitops); [[ -z "$$new" ]] || { echo "generated, but not in git:"; echo "$$new"; exit 1; }

lint: ## Check the code, and the language of all texts
	@hack/language.sh
	@hack/tools/build.sh _output/tools
	_output/tools/golangci-lint run

console: ## Build the page of kubectl groundskeeper console; needs Node.js and npm
	@hack/console/build.sh pkg/plugin/console/assets

verify-console: ## Fail when the committed page differs from a build of its sources; needs Node.js and npm
	@hack/console/build.sh _output/console
	@diff -r _output/console pkg/plugin/console/assets

##@ Test

test: build kubernetes ## Run what every change has to pass: unit tests, the server in process, the local control plane
	@$(FAST) hack/test.sh

test-all: test-race test-integration test-packaging test-monitoring test-ovn test-contour test-cert-manager test-capi test-console test-demo e2e-node ## Run every test that needs no OpenStack, well over an hour

test-race: build kubernetes ## Run all tests that need no control plane with the race detector
	$(FAST) CGO_ENABLED=1 go test -race $$(hack/packages.sh)

test-race-short: build ## Run the tests that "make test" runs without the race detector with it
	$(FAST) CGO_ENABLED=1 go test -short -race $$(hack/packages.sh plain)

test-faults: ## Repeat what deletes with every fault at every request
	$(FAST) go test -run '^TestEveryFault$$' ./pkg/...

test-integration: build kubernetes ## Run all tests on the local control plane, the rare ones too; RUN=pattern selects
	$(FAST) go test -p 1 -timeout 60m $(if $(RUN),-run '$(RUN)') ./test/integration

flakes: build kubernetes ## Repeat each test five times alone and five times beside a load, hours; RUN=pattern and PACKAGES= select
	go run ./hack/flakes -run '$(RUN)' $(if $(PACKAGES),$(PACKAGES),$$(hack/packages.sh concurrent) ./test/integration)

allocations: ## Fail when benchmarks of hot code allocate more than is recorded
	go run ./hack/benchmarks

test-packaging: kubernetes ## Test the Helm chart, the files for GitOps tools, and what makes and verifies releases
	go -C hack/helm test ./...
	go -C hack/images/release test ./...
	go -C hack/krew test ./...
	go -C hack/gitops test -count 1 ./... # which reads files outside of its module
	hack/helm/test.sh $(BIN)

test-monitoring: build kubernetes ## Test alerts and dashboards, with Debian's Prometheus
	@hack/monitoring/test.sh

test-ovn: build kubernetes ## Test Translations on OVN's own servers, which are unpacked below _output if they are not installed
	@hack/ovn/test.sh

test-cert-manager: build kubernetes cert-manager ## Test certificates that cert-manager makes; builds it once, some minutes
	go test -p 1 -count 1 -timeout 10m ./test/certmanager

test-capi: build kubernetes cluster-api ## Test Klusters of Cluster API with its controllers; builds them once, some minutes
	go test -p 1 -count 1 -timeout 60m ./test/capi

e2e-node: build kubernetes kubernetes-node images ## Run the tests with pods; needs root and Debian packages
	@test/e2e/previous.sh _output/previous
	go test -count 1 -timeout 10m ./test/e2e -node

test-contour: build kubernetes contour ## Test what Contour makes of routes while backends come and go
	go test -p 1 -count 1 -timeout 10m ./test/contour

test-console: build kubernetes ## Test the page of the console in Chromium while things change; needs Node.js, npm and chromium
	@npm ci --prefix test/console/browser --ignore-scripts --no-audit --no-fund --silent
	SCREENSHOTS='$(abspath $(SCREENSHOTS))' go test -p 1 -count 1 -timeout 10m ./test/console

test-openstack: build kubernetes cloud-provider-openstack cluster-api ## Run the tests with a real Keystone, Neutron, Nova, Cinder and Octavia; needs root and Debian 12
	@hack/openstack/test.sh

test-demo: build-demo kubernetes ## Test that Ctrl-C ends the demonstration at any moment
	go test -p 1 -count 1 -timeout 30m ./test/demo

canary: build kubernetes ## Compile and test with the next Kubernetes libraries, alpha versions too; LIBRARIES=v0.38.0-alpha.2 selects them
	hack/canary.sh $(LIBRARIES)

soak: build kubernetes contour ## Run the random tests with their full number of rounds
	SOAK=1000 go test -p 1 -timeout 240m -run Soak ./...

mutants: ## Break the guards of deletions one by one, and fail if no test notices; MUTANTS=regular expression of files
	go run ./hack/mutants -only '$(MUTANTS)'

##@ Measure

bench: build kubernetes ## Measure; figures on stderr, each as a line of JSON on stdout
	@go run ./test/bench

performance: build kubernetes ## Measure the API server beside a CustomResourceDefinition; ten minutes
	@go run ./test/bench -only sidebyside -lenient >/dev/null

##@ Run on this machine

announce:
	@[[ -d $${XDG_CACHE_HOME:-$$HOME/.cache}/groundskeeper/kubernetes ]] || echo "The first run compiles Groundskeeper, and then Kubernetes: 5 to 12 minutes on two cores."

up: announce build-plane kubernetes ## Start a local control plane; CONFIG=file APISERVER_FLAGS= MANAGER_FLAGS= MIDONET=fake OVN=real
	@$(UNPACK_OVN)$(LOCALPLANE) up --config "$$CONFIG" --apiserver-flags "$$APISERVER_FLAGS" --manager-flags "$$MANAGER_FLAGS" --midonet "$$MIDONET" --ovn "$$OVN"

node-up: announce build kubernetes kubernetes-node images ## As up, with a node that runs pods and discoverers; needs root and Debian packages
	@$(LOCALPLANE) up --node _output/images --config "$$CONFIG" --apiserver-flags "$$APISERVER_FLAGS" --manager-flags "$$MANAGER_FLAGS" --midonet "$$MIDONET" --ovn "$$OVN"

demo: announce build-demo kubernetes ## Show the life of a cluster in acts; AUTO=1 shows them without a pause, END=1 ends after the last, OVN=real adds one, PAGE=file writes them
	@$(UNPACK_OVN)$(BIN)/demo $(if $(AUTO),--auto) $(if $(END),--end) $(if $(OVN),--ovn) $(if $(PAGE),--page '$(PAGE)')

down: $(LOCALPLANE) ## Stop the local control plane and keep its data
	@$(LOCALPLANE) down

status: $(LOCALPLANE) ## Show the local control plane
	@$(LOCALPLANE) status

clean-up: $(LOCALPLANE) ## Stop the local control plane and delete its data
	@$(LOCALPLANE) clean-up

$(LOCALPLANE):
	@mkdir -p $(BIN)
	go build -o $@ ./hack/localplane
