#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Draws the previews of the dashboards in docs/drawings, with the data that a test of a local control plane leaves in Prometheus.
# Requires what test.sh requires.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

PANELS=$(mktemp)
export PANELS
trap 'rm -f "$PANELS"' EXIT
hack/monitoring/test.sh
go -C hack/monitoring run ./preview "$PANELS" ../../artifacts/monitoring/dashboards ../../docs/drawings
go -C hack/monitoring test -count 1 ./preview
