#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs test/openstack against the testbed: installs its packages if they are missing, starts it and stops it again.
# Arguments go to "go test", as in: hack/openstack/test.sh -run TestOrphans. TESTBED_DIR is where the testbed is.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export TESTBED_DIR=${TESTBED_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/groundskeeper/openstack}
hack/openstack/testbed.sh installed || hack/openstack/testbed.sh install
trap 'hack/openstack/testbed.sh down' EXIT
hack/openstack/testbed.sh up
go test -count 1 -timeout 60m ./test/openstack "$@" -testbed "$TESTBED_DIR"
