#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the core controllers of Cluster API and clusterctl (the tools of the go.mod beside this script) and links them into the directory
# given as the one argument, with the CustomResourceDefinitions of the same version in a directory cluster-api-crds.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh DIRECTORY}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../cached-build.sh
source ../modules.sh

build_into() {
  echo "Building Cluster API: once, some minutes, kept in $root" >&2
  ../go-build.sh "packages compiled" -trimpath -ldflags "-s -w" -o "$1/cluster-api-controllers" sigs.k8s.io/cluster-api/core
  ../go-build.sh "packages compiled" -trimpath -ldflags "-s -w" -o "$1/clusterctl" sigs.k8s.io/cluster-api/cmd/clusterctl
}

cached_build cluster-api "$destination" cluster-api-controllers clusterctl

crds=$destination/cluster-api-crds
rm -rf "$crds"
mkdir "$crds"
install -m 644 "$(module_dir . sigs.k8s.io/cluster-api)"/core/config/crd/bases/*.yaml "$crds/"
