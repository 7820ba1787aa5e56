#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the chart by Helm into its own kube-apiserver, without controllers and nodes, upgrades it, and fails unless
# "helm uninstall" is denied until it was confirmed, and keeps what holds data. test.sh BIN: the directory with etcd,
# kube-apiserver and kubectl ("make kubernetes").
set -o errexit -o nounset -o pipefail
bin=$(cd "${1:?usage: test.sh BIN}" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
processes=()
# Terminated gracefully, one would wait for the other.
trap 'kill -KILL "${processes[@]}" 2>/dev/null; { wait; } 2>/dev/null; rm -rf "$work"' EXIT

fail() { echo "$*" >&2; exit 1; }
# reserve VARIABLE: sets it to a port of loopback that no process listens on. As long as this script or a child of it lives, no
# other test is given that port: test/plane locks the same files.
reserve() {
  local dir=${TMPDIR:-/tmp}/groundskeeper-ports-$UID number lock
  mkdir -p "$dir"
  while :; do
    number=$((20000 + RANDOM % 10000))
    exec {lock}>"$dir/$number"
    flock --nonblock "$lock" && ! (exec 3<>"/dev/tcp/127.0.0.1/$number") 2>/dev/null && break
    exec {lock}>&-
  done
  printf -v "$1" %s "$number"
}

go build -o "$work/helm" helm.sh/helm/v4/cmd/helm
reserve etcd_port
reserve peer_port
reserve port
etcd=http://127.0.0.1:$etcd_port
"$bin/etcd" --data-dir "$work/etcd" \
  --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "http://127.0.0.1:$peer_port" \
  --unsafe-no-fsync >"$work/etcd.log" 2>&1 &
processes+=($!)
openssl genrsa -out "$work/key" 2048 2>/dev/null
echo "admin,admin,1,system:masters" >"$work/tokens"
"$bin/kube-apiserver" --etcd-servers "$etcd" --bind-address 127.0.0.1 --secure-port "$port" --cert-dir "$work/certs" \
  --token-auth-file "$work/tokens" --authorization-mode RBAC --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$work/key" \
  --service-account-signing-key-file "$work/key" --disable-admission-plugins ServiceAccount >"$work/kube-apiserver.log" 2>&1 &
processes+=($!)
export KUBECONFIG=$work/kubeconfig HELM_CACHE_HOME=$work/cache HELM_CONFIG_HOME=$work/config HELM_DATA_HOME=$work/data
"$bin/kubectl" config set-cluster c --server "https://127.0.0.1:$port" --insecure-skip-tls-verify >/dev/null
"$bin/kubectl" config set-credentials c --token admin >/dev/null
"$bin/kubectl" config set-context c --cluster c --user c >/dev/null
"$bin/kubectl" config use-context c >/dev/null

for ((i = 0; ; i++)); do
  "$bin/kubectl" get --raw /readyz >/dev/null 2>&1 && "$bin/kubectl" get namespace default >/dev/null 2>&1 && break
  ((i < 240)) || { tail "$work"/*.log >&2; fail "kube-apiserver is not ready"; }
  sleep 0.5
done

chart=../../charts/groundskeeper
helm() { "$work/helm" "$@"; }
installed() { "$bin/kubectl" get "$@" --ignore-not-found --output name; }

helm install groundskeeper "$chart" >"$work/notes"
grep --quiet "is installed in groundskeeper-system (single-replica)" "$work/notes" || fail "notes: $(cat "$work/notes")"
[[ -n $(installed deployment/groundskeeper-apiserver --namespace groundskeeper-system) ]] || fail "nothing was installed"
for mode in high-availability external-etcd; do
  helm template groundskeeper "$chart" --no-hooks --set "mode=$mode" --set features.discovery.enabled=true,features.kluster.enabled=true |
    "$bin/kubectl" apply --server-side --force-conflicts --dry-run=server --filename - >/dev/null || fail "mode $mode is rejected"
done

helm upgrade groundskeeper "$chart" --set namespaces.create=false,apiServices.create=false,controllerManager.replicas=2,features.kluster.enabled=true >/dev/null
replicas=$("$bin/kubectl" get deployment groundskeeper-controller-manager --namespace groundskeeper-system --output jsonpath='{.spec.replicas}')
[[ $replicas == 2 ]] || fail "the upgrade changed nothing"
[[ -n $(installed clusterrole/groundskeeper-kluster-controllers) ]] || fail "the feature has no permissions"
[[ -n $(installed namespace/groundskeeper-system) ]] || fail "the upgrade took the namespace"
[[ -n $(installed apiservice/v1.midonet.org) ]] || fail "the upgrade unregistered an API that is served"
! helm upgrade groundskeeper "$chart" --reset-values --set mode=external-etcd >"$work/mode" 2>&1 || fail "an upgrade changed the mode"
grep --quiet "but the installation has single-replica" "$work/mode" || fail "change of the mode: $(cat "$work/mode")"
helm upgrade groundskeeper "$chart" --dry-run=server --reset-values --set mode=external-etcd,allowModeChange=true >/dev/null || fail "the mode cannot be changed"
helm upgrade groundskeeper "$chart" --reset-values >/dev/null # without, those of before stay
[[ -z $(installed clusterrole/groundskeeper-kluster-controllers) ]] || fail "the permissions of the feature remain when it is disabled"

# The policy takes effect a moment after its creation. After a denial all objects still exist; Helm records the release as
# "uninstalling" until it is rolled back to itself, or really uninstalled.
for ((i = 0; ; i++)); do
  "$bin/kubectl" create clusterrole groundskeeper-helm-uninstall --verb get --resource pods --dry-run=server >/dev/null 2>&1 || break
  ((i < 240)) || fail "the policy is not in force"
  sleep 0.5
done
! helm uninstall groundskeeper >"$work/uninstall" 2>&1 || fail "it was uninstalled without being confirmed"
grep --quiet "nothing was uninstalled" "$work/uninstall" || fail "helm uninstall: $(cat "$work/uninstall")"
for object in apiservice/v1.midonet.org validatingwebhookconfiguration/groundskeeper clusterrole/groundskeeper-apiserver; do
  [[ -n $(installed "$object") ]] || fail "$object was uninstalled"
done
helm rollback groundskeeper 3 >/dev/null
[[ $(helm list --output json) == *'"status":"deployed"'* ]] || fail "the release has changed: $(helm list)"
helm upgrade groundskeeper "$chart" >/dev/null

"$bin/kubectl" annotate namespace groundskeeper-system confirmation.gardener.cloud/deletion=true >/dev/null
helm uninstall groundskeeper >"$work/uninstall" 2>&1 || fail "helm uninstall: $(cat "$work/uninstall")"
selector=(--selector app.kubernetes.io/part-of=groundskeeper)
left=$(installed apiservices,validatingwebhookconfigurations,validatingadmissionpolicies,clusterroles,clusterrolebindings "${selector[@]}")
left+=$(installed deployments,services,configmaps --namespace groundskeeper-system "${selector[@]}")
[[ -z $left ]] || fail "helm uninstall left $left"
for object in namespace/groundskeeper-system namespace/gimbal-discovery; do
  [[ -n $(installed "$object") ]] || fail "helm uninstall took $object"
done
[[ -n $(installed pvc/groundskeeper-etcd --namespace groundskeeper-system) ]] || fail "helm uninstall took the volume"

# What "kubectl groundskeeper uninstall" removes before leaves nothing for which Helm would be denied.
helm install groundskeeper "$chart" >/dev/null
"$bin/kubectl" delete namespace groundskeeper-system --wait=false >/dev/null
"$bin/kubectl" get --raw /api/v1/namespaces/groundskeeper-system | sed 's/"finalizers":\["kubernetes"\]/"finalizers":[]/' |
  "$bin/kubectl" replace --raw /api/v1/namespaces/groundskeeper-system/finalize --filename - >/dev/null
for ((i = 0; ; i++)); do
  helm uninstall groundskeeper >"$work/uninstall" 2>&1 && break
  ((i < 60)) || fail "helm uninstall without the namespace: $(cat "$work/uninstall")"
  sleep 0.5
done
echo "installed, upgraded, denied uninstallation, uninstalled"
