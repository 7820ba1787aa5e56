#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Generates deepcopy, defaults and declarative validation, the OpenAPI definitions and the typed clients.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOBIN=$PWD/_output/tools
module=$(go list -m)
apis=pkg/apis
generated=pkg/generated

source hack/modules.sh
generator=$(module_dir hack/tools k8s.io/code-generator)
source "$generator/kube_codegen.sh"

# validation-gen cannot read metav1.Condition as a foreign type (kubernetes/kubernetes#141765): meta/v1 is
# the first of the read-only packages and is left out here; fields of its types are marked opaque.
readonly_packages=("${KUBE_CODEGEN_READONLY_PKGS[@]}")
KUBE_CODEGEN_READONLY_PKGS=("${KUBE_CODEGEN_READONLY_PKGS[@]:1}")
kube::codegen::gen_helpers --boilerplate hack/boilerplate.go.txt "$apis"
KUBE_CODEGEN_READONLY_PKGS=("${readonly_packages[@]}")

# Without this, openapi-gen would write the names of models into the module cache.
KUBE_CODEGEN_READONLY_PKGS+=(k8s.io/api/rbac/v1)
mkdir -p _output
touch _output/generating
kube::codegen::gen_openapi --extra-pkgs k8s.io/api/rbac/v1 \
  --output-dir "$generated/openapi" --output-pkg "$module/$generated/openapi" \
  --output-model-name-file zz_generated.model_name.go \
  --report-filename hack/api-violations.list ${UPDATE_API_VIOLATIONS:+--update-report} \
  --boilerplate hack/boilerplate.go.txt "$apis"

changed=$(find "$(go list -m -f '{{.Dir}}' k8s.io/api)" -newer _output/generating -type f)
[[ -z $changed ]] || { echo "openapi-gen changed a module: $changed" >&2; exit 1; }

kube::codegen::gen_client --with-watch --with-applyconfig --prefers-protobuf \
  --applyconfig-externals k8s.io/api/rbac/v1.Subject:k8s.io/client-go/applyconfigurations/rbac/v1 \
  --output-dir "$generated" --output-pkg "$module/$generated" \
  --boilerplate hack/boilerplate.go.txt "$apis"
