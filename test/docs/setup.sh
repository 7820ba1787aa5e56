# shellcheck shell=bash disable=SC2154
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Functions for the comments "run before" of the documentation: they create what the commands of a page require. What they
# created is deleted after the page.

undo=()

# later COMMAND...: run it after the page; the last one is run first.
later() { undo=("$(printf '%q ' "$@")" "${undo[@]}"); }
trap 'unset -f kubectl; KUBECONFIG=$administrator; for command in "${undo[@]}"; do eval "$command" >/dev/null 2>&1 || true; done; wait' EXIT

# rehearse: from here on, the commands of the page change nothing. The server checks each change as in a dry run, in which the fields of the
# page replace those of the plane, such as URLs of webhooks. What waits for pods does not wait: this plane has none.
rehearse() {
  performing=$(declare -f kubectl)
  kubectl() {
    case $1 in
      apply) command kubectl "$@" --dry-run=server --server-side --force-conflicts --field-manager=groundskeeper-local-plane ;;
      create | delete) command kubectl "$@" --dry-run=server ;;
      wait | rollout) ;;
      *) command kubectl "$@" ;;
    esac
  }
}

# perform: end a rehearsal.
perform() { eval "$performing"; }

# pods: the pods of the page are the processes of this plane. What kubectl exec starts is run here, and requests to a forwarded port, or
# to a pod through kube-apiserver, are sent to the process.
pods() {
  kubectl() {
    case " $* " in
      " port-forward "*) ;;
      " exec "*)
        while [[ $1 != -- ]]; do shift; done
        "${2#/}" "${@:3}"
        ;;
      *" /api/v1/namespaces/groundskeeper-system/pods/http:"*/proxy/*) command curl --fail --silent --show-error "http://$MANAGER/${3##*/proxy/}" ;;
      *) command kubectl "$@" ;;
    esac
  }
  curl() {
    local arguments=("${@/#https:\/\/localhost:8443/https://$APISERVER}")
    command curl --fail --silent --show-error "${arguments[@]/#http:\/\/localhost:2720/http://$DEBUGGING}"
  }
  openssl() { command openssl "${@/#localhost:8443/$APISERVER}"; }
  groundskeeper-apiserver() {
    local argument arguments=()
    for argument; do
      case $argument in
        --embedded-etcd-dir=* | --etcd-servers=*) arguments+=("--embedded-etcd-dir=$ETCD") ;;
        --etcd-*file=*) ;;
        --encryption-provider-config=*) arguments+=("--encryption-provider-config=encryption.yaml") ;;
        *) arguments+=("$argument") ;;
      esac
    done
    command groundskeeper-apiserver "${arguments[@]}"
  }
}

# signing: keys get no passphrase, and make only parses its arguments.
signing() {
  mkdir -p "$HOME/.ssh"
  ssh-keygen() { if [[ $1 == -t ]]; then command ssh-keygen -q -N '' "$@"; else command ssh-keygen "$@"; fi; }
  make() { command make --dry-run --directory "$(readlink --canonicalize artifacts)/.." "$@" >/dev/null; }
}

# signed: a release of one file, signed with the key of the page.
signed() {
  echo image >image.tar
  sha256sum image.tar >SHA256SUMS
  command ssh-keygen -q -Y sign -f "$HOME/.ssh/groundskeeper-release" -n groundskeeper-release SHA256SUMS
  echo "release@groundskeeper.io namespaces=\"groundskeeper-release\" $(cut -d' ' -f1,2 "$HOME/.ssh/groundskeeper-release.pub")" >allowed_signers
}

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

# allowed ARGUMENTS...: wait for a permission, as for kubectl auth can-i: RBAC follows its objects with a delay.
allowed() {
  local end=$((SECONDS + 60))
  until kubectl auth can-i --quiet "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# as USER [ROLE]: the commands of this block are those of a member of the Project shop who is allowed to change it, or of a user with a
# role of the whole installation: administrators or viewers.
as() {
  if [[ $# == 2 ]]; then
    kubectl create clusterrolebinding "$1" --clusterrole="gardener.cloud:system:$2" --user="$1" --dry-run=client -o yaml | kubectl apply -f -
    later kubectl delete clusterrolebinding "$1"
    allowed list projects.core.gardener.cloud --as "$1"
  else
    allowed patch projects.core.gardener.cloud/shop --as "$1"
  fi
  kubectl config view --minify --raw --flatten -o json | jq --arg user "$1" '.users[0].user.as = $user' >"$HOME/$1.kubeconfig"
  export KUBECONFIG="$HOME/$1.kubeconfig"
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
  allowed create klusters.kubernikus.sap.cc --namespace garden-shop --as amy
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

# condition TYPE ARGUMENTS...: set a condition of an object to True once it exists, as a program would that this plane lacks.
condition() {
  local type=$1
  shift
  command kubectl wait --for=create --timeout=60s "$@" >/dev/null
  command kubectl patch "$@" --subresource=status --type=merge --patch '{"status":{"conditions":[
    {"type":"'"$type"'","status":"True","reason":"Synced","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}' >/dev/null
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

# discoverer NAME: the Secret of a backend and a discoverer that has connected with it, and new.kubeconfig for another one.
discoverer() {
  command kubectl create secret generic "$1" --namespace gimbal-discovery
  later kubectl delete secret "$1" --namespace gimbal-discovery
  command kubectl create deployment "$1-discoverer" --namespace gimbal-discovery --image=groundskeeper-discoverer --replicas=0
  later kubectl delete deployment "$1-discoverer" --namespace gimbal-discovery
  command kubectl patch deployment "$1-discoverer" --namespace gimbal-discovery --subresource=status --type=merge --patch '{"status":{"observedGeneration":1}}'
  condition CredentialsValid "dbe/$1" --namespace gimbal-discovery
  command kubectl config view --minify --raw --flatten >new.kubeconfig
}

# discovered NAME: a backend that the page creates, with its Secret, is discovered, and deleted after the page.
discovered() {
  condition Discovered "dbe/$1" --namespace gimbal-discovery &
  later kubectl delete secret "$1" --namespace gimbal-discovery
  later kubectl delete dbe "$1" --namespace gimbal-discovery --timeout=60s
}

# by_hand NAME: the discoverer that the page starts for a backend runs until the end of the page, which continues once it has compared the
# cluster, this one, with itself.
by_hand() {
  backend=$1
  command kubectl config view --minify --raw --flatten | tee here.kubeconfig >"$backend.kubeconfig"
  groundskeeper-discoverer() {
    command groundskeeper-discoverer "$@" --prometheus-listen-address=127.0.0.1:0 &
    later kill $!
    later kubectl delete services,endpointslices --all-namespaces --selector gimbal.projectcontour.io/backend="$backend"
    command kubectl wait "dbe/$backend" --namespace gimbal-discovery --for=condition=Discovered --timeout=60s
  }
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

# kinds GROUP KIND...: the types of another system, which its objects have.
kinds() {
  local group=$1 kind
  shift
  for kind; do
    command kubectl create -f - <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${kind,,}s.$group}
spec:
  group: $group
  scope: Namespaced
  names: {plural: ${kind,,}s, singular: ${kind,,}, kind: $kind, listKind: ${kind}List}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
END
    later kubectl delete crd "${kind,,}s.$group"
  done
  command kubectl wait --for=condition=Established crd --all
}

# namespace NAME: a namespace.
namespace() {
  kubectl create namespace "$1"
  later kubectl delete namespace "$1" --timeout=60s
}
