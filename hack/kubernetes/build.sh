#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds kube-apiserver, kube-controller-manager, kubectl and etcd (the tools of the go.mod beside this
# script) and links them into the folder given as the one argument.
#
# A cold build takes some minutes, so the result is kept outside the clone, under a hash of all that goes
# into it: a second clone, or a second run, only links.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh FOLDER}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

# Without cgo no C compiler is needed, and the binaries depend on no library of the machine.
export CGO_ENABLED=0 GOFLAGS= GOWORK=off

key=$({ cat go.mod go.sum "$(basename "${BASH_SOURCE[0]}")"; go version; } | git hash-object --stdin)
root=${XDG_CACHE_HOME:-$HOME/.cache}/groundskeeper/kubernetes
cached=$root/$key

build() {
  mkdir -p "$root"
  local version major minor stamp=k8s.io/component-base/version
  work=$(mktemp -d "$root/.building-XXXXXX")
  trap 'rm -rf "$work"' EXIT

  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  echo "Building Kubernetes $version: once, some minutes, kept in $root" >&2
  ../progress.sh "modules downloaded" go list -deps tool >"$work/packages"

  # Clients compare versions: without the stamp every client takes the server for a v0.0.0.
  ../progress.sh "of at most $(wc -l <"$work/packages") packages compiled" \
    go build -v -trimpath -o "$work/bin/" \
    -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor" tool
  mv "$work/bin/server" "$work/bin/etcd"

  # The rename is the commit: a folder under its final name is whole. When another build was first, its
  # folder stays and ours is dropped.
  mv -T "$work/bin" "$cached" 2>/dev/null || [[ -x $cached/etcd ]]
  echo "Built in $SECONDS s." >&2
}

[[ -x $cached/etcd ]] || build

# A file that is the cached one already is left alone. The rename never touches the file that a running
# process was started from.
for name in kube-apiserver kube-controller-manager kubectl etcd; do
  [[ $destination/$name -ef $cached/$name ]] || cmp -s "$cached/$name" "$destination/$name" || {
    ln -f "$cached/$name" "$destination/.$name.new" 2>/dev/null || cp "$cached/$name" "$destination/.$name.new"
    mv -f "$destination/.$name.new" "$destination/$name"
  }
done
