#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds golangci-lint (of the go.mod beside this script) once and links it into the directory given as the one argument.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh DIRECTORY}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../cached-build.sh

build_into() {
  echo "Building golangci-lint: once, some minutes, kept in $root" >&2
  ../go-build.sh "packages compiled" \
    -trimpath -ldflags "-s -w" -o "$1/" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
}

cached_build golangci-lint "$destination" golangci-lint
