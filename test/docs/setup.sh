# shellcheck shell=bash disable=SC2154
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Functions for the comments "run before" of the documentation: they create what the commands of a page require. What they
# created is deleted after the page.

undo=()

# later COMMAND...: run it after the page; the last one is run first.
later() { undo=("$(printf '%q ' "$@")" "${undo[@]}"); }
trap 'for command in "${undo[@]}"; do eval "$command" >/dev/null 2>&1 || true; done' EXIT

# drop ARGUMENTS...: delete an object, with its confirmation, and without its protection and finalizers.
drop() {
  kubectl annotate --overwrite "$@" confirmation.gardener.cloud/deletion=true kubernikus.cloud.sap/termination-protection-
  kubectl delete "$@" --wait=false
  # It may be deleted already: it had no finalizer, or release removed it.
  kubectl patch "$@" --type=merge --patch '{"metadata":{"finalizers":null}}' || ! kubectl get "$@"
}

# release ARGUMENTS...: remove the finalizers of an object once it is being deleted, as a controller would that this plane lacks.
release() {
  (command kubectl wait --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=60s "$@" &&
    command kubectl patch "$@" --type=merge --patch '{"metadata":{"finalizers":null}}') >/dev/null 2>&1 &
}

# tenant: the Project shop in the namespace garden-shop, with the admins amy and bert.
tenant() {
  kubectl apply -f - <<END
apiVersion: core.gardener.cloud/v1beta1
kind: Project
metadata: {name: shop}
spec:
  namespace: garden-shop
  members:
  - {kind: User, name: amy, roles: [admin]}
  - {kind: User, name: bert, roles: [admin]}
END
  kubectl wait --for=jsonpath='{.status.phase}'=Ready project/shop --timeout=60s
  later kubectl delete namespace garden-shop --timeout=60s
  later kubectl delete project shop --timeout=60s
  later kubectl annotate --overwrite project shop confirmation.gardener.cloud/deletion=true
}

# approval: two users delete a Kluster of the Project shop that has the label stage=production.
approval() {
  kubectl patch project shop --type=merge --patch '{"spec":{"dualApprovalForDeletion":[{"resource":"klusters","selector":{"matchLabels":{"stage":"production"}}}]}}'
  kubectl wait --for=jsonpath='{.status.observedGeneration}'="$(kubectl get project shop -o jsonpath='{.metadata.generation}')" project/shop --timeout=60s
}

# kluster [STAGE]: the Kluster web of the Project shop.
kluster() {
  kubectl apply -f - <<END
apiVersion: kubernikus.sap.cc/v1
kind: Kluster
metadata: {name: web, namespace: garden-shop, labels: {stage: "${1:-}"}}
spec: {version: 1.36.3}
END
  release kluster web --namespace garden-shop
  later drop kluster web --namespace garden-shop
}

# former_klusters: the CustomResourceDefinition of the former system.
former_klusters() {
  kubectl create -f - <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: klusters.kubernikus.sap.cc}
spec:
  group: kubernikus.sap.cc
  scope: Namespaced
  names: {plural: klusters, singular: kluster, kind: Kluster, listKind: KlusterList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
END
  later kubectl delete crd klusters.kubernikus.sap.cc
}

# backend: the DiscoveryBackend us, without its Secret.
backend() {
  kubectl apply -f - <<END
apiVersion: gimbal.heptio.com/v1
kind: DiscoveryBackend
metadata: {name: us, namespace: gimbal-discovery}
cluster: {type: kubernetes, secret: us}
END
  later kubectl delete dbe us --namespace gimbal-discovery --timeout=60s
}

# translation: a Translation of a Pod, in the state in which the controller reports it.
translation() {
  kubectl apply -f - <<END
apiVersion: midonet.org/v1
kind: Translation
metadata: {name: pod.4.web-0, namespace: default}
resources: []
END
  kubectl patch translation pod.4.web-0 --subresource=status --type=merge --patch '{"status":{"conditions":[
    {"type":"Synced","status":"True","reason":"Synced","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
  release translation pod.4.web-0
  later drop translation pod.4.web-0
}

# operator_types: the types of the Prometheus operator.
operator_types() {
  local kind
  for kind in PodMonitor PrometheusRule ServiceMonitor; do
    kubectl create -f - <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${kind,,}s.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {plural: ${kind,,}s, singular: ${kind,,}, kind: $kind, listKind: ${kind}List}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
END
    later kubectl delete crd "${kind,,}s.monitoring.coreos.com"
  done
  kubectl wait --for=condition=Established crd --all
}

# namespace NAME: a namespace.
namespace() {
  kubectl create namespace "$1"
  later kubectl delete namespace "$1" --timeout=60s
}
