#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds cert-manager (the command beside this script) and links it into the directory given as the one argument, with the
# CustomResourceDefinitions of the same version in a directory cert-manager-crds.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh DIRECTORY}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../cached-build.sh
source ../modules.sh

build_into() {
  echo "Building cert-manager: once, some minutes, kept in $root" >&2
  ../go-build.sh "packages compiled" -trimpath -ldflags "-s -w" -o "$1/cert-manager" .
}

# The source counts, too.
cached_build "cert-manager-$(git hash-object main.go | head -c 12)" "$destination" cert-manager

crds=$destination/cert-manager-crds
rm -rf "$crds"
mkdir "$crds"
install -m 644 "$(module_dir . github.com/cert-manager/cert-manager)"/deploy/crds/cert-manager.io_*.yaml "$crds/"
