#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# If ovsdb-server and ovn-northd are not installed, unpacks Debian's packages, and the libraries that are missing, below _output, and prints
# that directory. No service is started.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

packages=(openvswitch-switch ovn-central ovn-host)
root=$PWD/_output/tools/ovn
if command -v ovsdb-server >/dev/null && command -v ovn-northd >/dev/null && [[ -e /usr/share/ovn/ovn-nb.ovsschema ]]; then exit; fi
if [[ ! -x $root/usr/bin/ovn-northd ]]; then
  ((EUID == 0)) || { echo "OVN is not installed, and only root can download what is missing: apt-get install ${packages[*]}" >&2; exit 1; }
  rm -rf "$root" && mkdir -p "$root" "$root.archives/partial"
  apt=(apt-get -o DPkg::Lock::Timeout=600 -o "Dir::Cache::archives=$root.archives" -o Acquire::Retries=3 -qq)
  download=("${apt[@]}" install --download-only --no-install-recommends -y "${packages[@]}")
  "${download[@]}" >/dev/null 2>&1 || { "${apt[@]}" update && "${download[@]}" >/dev/null; } >&2
  for archive in "$root.archives"/*.deb; do dpkg-deb -x "$archive" "$root"; done
  rm -rf "$root.archives"
fi
echo "$root"
