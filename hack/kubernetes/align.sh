#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# align.sh [--check]: gives the modules in this go.mod the versions that the product's go.mod has, so that "make up" compiles
# each once. With --check it changes nothing, prints the modules that differ, and fails if there are any.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# versions DIRECTORY: "module version", sorted.
versions() { go -C "$1" mod edit -json | jq --raw-output '.Require[] | .Path + " " + .Version' | LC_ALL=C sort; }
# What is replaced here, the libraries of Kubernetes, has the version of the replacement.
replaced() { go mod edit -json | jq --raw-output '.Replace[] | .Old.Path' | LC_ALL=C sort; }
differing() { LC_ALL=C join <(versions ../..) <(versions . | LC_ALL=C join -v 1 - <(replaced)) | awk '$2 != $3'; }

if [[ ${1:-} == --check ]]; then
  found=$(differing)
  [[ -z $found ]] || {
    printf 'error: modules of the product and of hack/kubernetes have different versions: run hack/kubernetes/align.sh\n%s\n' "$found" >&2
    exit 1
  }
  exit
fi

export GOFLAGS=-mod=mod
# The product's versions, unless Kubernetes requires higher ones: those are then for the product as well.
kubernetes=k8s.io/kubernetes@$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
mapfile -t modules < <(differing | awk '{print $1 "@" $2}')
((${#modules[@]} == 0)) || { go get "$kubernetes" "${modules[@]}" && go mod tidy; }
mapfile -t modules < <(differing | awk '{print $1 "@" $3}')
((${#modules[@]} == 0)) || { go -C ../.. get "${modules[@]}" && go -C ../.. mod tidy; }
exec ./align.sh --check
