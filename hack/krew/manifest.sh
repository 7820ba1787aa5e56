#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the manifest for krew, the plugin manager of kubectl, of the archives kubectl-groundskeeper-<platform>.tar.gz in a
# directory: manifest.sh VERSION URL DIRECTORY. URL is where they will be downloaded from.
set -o errexit -o nounset -o pipefail
usage="usage: manifest.sh VERSION URL DIRECTORY"
version=${1:?$usage} url=${2:?$usage} directory=${3:?$usage}
# krew wants a semantic version. A commit without a tag has none.
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$ ]] || version=v0.0.0-g$version

cat <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: groundskeeper
spec:
  version: $version
  homepage: https://groundskeeper.io/groundskeeper
  shortDescription: See and operate Projects, Klusters, Translations and DiscoveryBackends
  description: |
    Shows what is stale, draining, deorbiting, drifting or failing, and what blocks an object or the
    deletion of a namespace; takes a backend out of service and a workload cluster down while you
    watch; checks, and removes, an installation of Groundskeeper.
  caveats: |
    For shell completion run:
      kubectl groundskeeper completion > ~/.local/bin/kubectl_complete-groundskeeper
      chmod +x ~/.local/bin/kubectl_complete-groundskeeper
  platforms:
END
shopt -s nullglob
archives=("$directory"/kubectl-groundskeeper-*.tar.gz)
((${#archives[@]} > 0)) || { echo "$directory has no archive of the plugin" >&2; exit 1; }
for archive in "${archives[@]}"; do
  name=$(basename "$archive")
  platform=${name#kubectl-groundskeeper-} platform=${platform%.tar.gz}
  exe=
  [[ $platform != windows-* ]] || exe=.exe
  sum=$(sha256sum "$archive")
  cat <<END
  - selector:
      matchLabels: {os: ${platform%-*}, arch: ${platform#*-}}
    uri: $url/$name
    sha256: ${sum%% *}
    bin: kubectl-groundskeeper$exe
END
done
