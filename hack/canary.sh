#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# canary.sh [VERSION]: compiles everything with a version of the Kubernetes libraries that is not released yet, and runs the unit tests
# with it. VERSION is one of k8s.io/api, such as v0.38.0-alpha.2; the newest one is the default. The clone keeps its go.mod. Programs
# that tests start are those in _output/bin. What fails is the work that the next minor version of Kubernetes will cause.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:-$(go list -m -versions k8s.io/api | awk '{print $NF}')} # in the order of versions
released=$(go list -m -f '{{.Version}}' k8s.io/api)
[[ $version != "$released" ]] || { echo "No version of k8s.io/api is newer than $released, which go.mod requires."; exit; }

mkdir -p _output/canary
cp go.mod go.sum _output/canary
export GOTOOLCHAIN=auto # they may require the next Go
export GOFLAGS="${GOFLAGS:-} -modfile=$PWD/_output/canary/go.mod -mod=mod"
# All modules that Kubernetes releases together: those of go.mod with the same version.
mapfile -t modules < <(awk -v old="$released" -v new="$version" '$1 ~ /^k8s\.io\// && $2 == old {print $1 "@" new}' go.mod)
echo "Kubernetes $version instead of $released: ${modules[*]%@*}"
go get "${modules[@]}"
go vet ./...
# shellcheck disable=SC2046 # one argument for each package
go test -short $(hack/packages.sh)
