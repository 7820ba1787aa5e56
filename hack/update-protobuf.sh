#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Generates protobuf for every API package that enables it. Needs protoc (Debian: protobuf-compiler).
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v protoc >/dev/null || { echo "protoc is missing: apt-get install protobuf-compiler" >&2; exit 1; }
export GOBIN=$PWD/_output/tools
export PATH=$GOBIN:$PATH
module=$(go list -m)
source hack/modules.sh
generator=$(module_dir hack/tools k8s.io/code-generator)
(cd "$generator" && go install ./cmd/go-to-protobuf ./cmd/go-to-protobuf/protoc-gen-gogo)
go -C hack/tools install golang.org/x/tools/cmd/goimports # go-to-protobuf runs it
gogo=$(module_dir "$generator" github.com/gogo/protobuf)

# protoc finds imports by path: a tree of links gives every package the path of its import.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/$(dirname "$module")" "$tree/k8s.io" "$tree/github.com/gogo"
ln -s "$PWD" "$tree/$module"
ln -s "$(module_dir . k8s.io/apimachinery)" "$tree/k8s.io/apimachinery"
ln -s "$(module_dir . k8s.io/api)" "$tree/k8s.io/api"
ln -s "$gogo" "$tree/github.com/gogo/protobuf"
ln -s "$gogo/protobuf/google" "$tree/google"

packages=$(grep -rl --include=doc.go '+k8s:protobuf-gen=package' pkg/apis | xargs -n1 dirname | sort | sed "s,^,$module/," | paste -sd,)
go-to-protobuf --go-header-file hack/boilerplate.go.txt --output-dir "$tree" \
  --apimachinery-packages=-k8s.io/apimachinery/pkg/util/intstr,-k8s.io/apimachinery/pkg/api/resource,-k8s.io/apimachinery/pkg/runtime/schema,-k8s.io/apimachinery/pkg/runtime,-k8s.io/apimachinery/pkg/apis/meta/v1,-k8s.io/api/core/v1,-k8s.io/api/rbac/v1 \
  --packages "$packages"
