#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests the alerts with Debian's promtool, the dashboards with Grafana's types, and both with a real Prometheus that scrapes a
# local control plane. Requires _output/bin (make build kubernetes). If promtool and prometheus are not installed, Debian's
# package is unpacked below _output.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools=$PWD/_output/tools/prometheus
if command -v promtool >/dev/null && command -v prometheus >/dev/null; then
  promtool=$(command -v promtool)
  prometheus=$(command -v prometheus)
else
  promtool=$tools/usr/bin/promtool
  prometheus=$tools/usr/bin/prometheus
  if [[ ! -x $promtool ]]; then
    rm -rf "$tools" && mkdir -p "$tools"
    (
      cd "$tools"
      apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }
      dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb
    )
  fi
fi

"$promtool" check rules artifacts/monitoring/alerts/groundskeeper.rules.yaml
"$promtool" test rules hack/monitoring/alerts_test.yaml

# The example for a Prometheus without the operator. Debian's Prometheus has no service discovery for Kubernetes.
config=$(mktemp)
trap 'rm -f "$config"' EXIT
sed -e 's#/etc/prometheus/groundskeeper.rules.yaml#'"$PWD"'/artifacts/monitoring/alerts/groundskeeper.rules.yaml#' \
  -e 's#/var/run/secrets/.*/token#/dev/null#' -e 's#/etc/prometheus/groundskeeper/ca.crt#/dev/null#' \
  -e 's/^  kubernetes_sd_configs:$/  static_configs:/' -e 's/^  - {role: .*}$/  - {targets: ["localhost:1"]}/' \
  artifacts/monitoring/prometheus/scrape.yaml >"$config"
"$promtool" check config "$config"

for directory in dashboards prometheus-operator rbac; do
  _output/bin/kubectl kustomize "artifacts/monitoring/$directory" >/dev/null
done

packages=./...
[[ -z ${PANELS:-} ]] || packages=. # preview.sh draws the previews with the data of this run, and tests them then
(cd hack/monitoring && go vet ./... && go test -count 1 "$packages")
PROMETHEUS=$prometheus go test -count 1 -timeout 10m -run '^TestMetrics$' ./test/integration
