#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds binaries of Kubernetes (tools of the go.mod beside this script) and links them into a directory:
#
#   build.sh DIRECTORY         kube-apiserver, kube-controller-manager, kubectl and etcd
#   build.sh DIRECTORY node    kubelet, kube-proxy and kube-scheduler, which a node with pods needs besides
set -o errexit -o nounset -o pipefail
usage="usage: build.sh DIRECTORY [node]"
destination=${1:?$usage}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../cached-build.sh

case ${2:-} in
'')
  binaries=(kube-apiserver kube-controller-manager kubectl etcd)
  packages=(k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl} go.etcd.io/etcd/server/v3)
  ;;
node)
  binaries=(kubelet kube-proxy kube-scheduler)
  packages=("${binaries[@]/#/k8s.io/kubernetes/cmd/}")
  ;;
*)
  echo "$usage" >&2
  exit 2
  ;;
esac

build_into() {
  local version major minor stamp=k8s.io/component-base/version
  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  echo "Building Kubernetes $version: once, some minutes, kept in $root" >&2
  # With the product's flags and versions, what both need of Kubernetes is compiled once.
  GOFLAGS=$(sed -n 's/^export GOFLAGS += //p' ../../Makefile)
  # Without inlining, which takes a sixth of the compiler's time: what serves no request of the API, so that comparisons with
  # kube-apiserver's own kinds stay fair. None of these packages is also one of Groundskeeper's.
  local package
  for package in kubernetes/pkg/{controller,kubelet,scheduler,volume} kubernetes/cmd/kube-controller-manager kubectl; do
    GOFLAGS+=" '-gcflags=k8s.io/$package/...=-dwarf=false -l'"
  done

  # Clients compare versions: without the stamp every client takes the server for a v0.0.0.
  ../go-build.sh "packages compiled" \
    -o "$1/" \
    -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor" "${packages[@]}"
  [[ ! -e $1/server ]] || mv "$1/server" "$1/etcd"
}

cached_build "kubernetes${2:+-$2}" "$destination" "${binaries[@]}"
