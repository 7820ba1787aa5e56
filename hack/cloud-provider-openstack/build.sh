#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the OpenStack cloud controller manager (the tool of the go.mod beside this script) and links it into the directory
# given as the one argument.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh DIRECTORY}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../cached-build.sh

build_into() {
  echo "Building the OpenStack cloud controller manager: once, some minutes, kept in $root" >&2
  ../go-build.sh "packages compiled" -trimpath -ldflags "-s -w" -o "$1/" tool
}

cached_build cloud-provider-openstack "$destination" openstack-cloud-controller-manager
