#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests that need OVN's own servers, which root.sh unpacks if they are not installed. Requires _output/bin (make build kubernetes).
# With BENCH=1 it runs the benchmarks instead, with SOAK=50 the random tests with 50 rounds.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

OVN_ROOT=$(hack/ovn/root.sh)
export OVN_ROOT
if [[ ${BENCH:-} ]]; then
  go test -count 1 -timeout 60m -run '^$' -bench . -benchtime 1x ./test/ovn
  exec go run ./test/bench -only ovn
fi
if [[ ${SOAK:-} ]]; then
  exec go test -v -count 1 -timeout 120m -run Soak ./test/ovn
fi
go test -count 1 -timeout 30m ./artifacts/examples/ovn-cni ./hack/demo ./pkg/ovsdb ./pkg/ovn ./pkg/controllers/translation/push/ovnbackend ./test/ovn ./test/ovnserver/... ./test/plane/localovn
go test -count 1 -timeout 30m -run OVN ./test/plane
go test -count 1 -timeout 30m -run 'OnOVN$' ./test/integration
