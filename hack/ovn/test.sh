#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests that need OVN's own servers. Requires _output/bin (make build kubernetes). If ovsdb-server and ovn-northd are not
# installed, Debian's packages, and the libraries that are missing, are unpacked below _output; no service is started. With BENCH=1 it
# runs the benchmarks instead, with SOAK=50 the random tests with 50 rounds.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

packages=(openvswitch-switch ovn-central ovn-host)
root=$PWD/_output/tools/ovn
if ! command -v ovsdb-server >/dev/null || ! command -v ovn-northd >/dev/null || [[ ! -e /usr/share/ovn/ovn-nb.ovsschema ]]; then
  if [[ ! -x $root/usr/bin/ovn-northd ]]; then
    ((EUID == 0)) || { echo "OVN is not installed, and only root can download what is missing: apt-get install ${packages[*]}" >&2; exit 1; }
    rm -rf "$root" && mkdir -p "$root" "$root.archives/partial"
    apt=(apt-get -o DPkg::Lock::Timeout=600 -o "Dir::Cache::archives=$root.archives" -o Acquire::Retries=3 -qq)
    download=("${apt[@]}" install --download-only --no-install-recommends -y "${packages[@]}")
    "${download[@]}" >/dev/null 2>&1 || { "${apt[@]}" update && "${download[@]}" >/dev/null; }
    for archive in "$root.archives"/*.deb; do dpkg-deb -x "$archive" "$root"; done
    rm -rf "$root.archives"
  fi
  export OVN_ROOT=$root
fi
if [[ ${BENCH:-} ]]; then
  go test -count 1 -timeout 60m -run '^$' -bench . -benchtime 1x ./test/ovn
  exec go run ./test/bench -only ovn
fi
if [[ ${SOAK:-} ]]; then
  exec go test -v -count 1 -timeout 120m -run Soak ./test/ovn
fi
go test -count 1 -timeout 30m ./artifacts/examples/ovn-cni ./pkg/ovsdb ./pkg/ovn ./pkg/controllers/translation/push/ovnbackend ./test/ovn
go test -count 1 -timeout 30m -run 'OnOVN$' ./test/integration
