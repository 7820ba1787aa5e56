#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes what is generated of metrics, dashboards and alerts: docs/metrics.md and files in artifacts/monitoring.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

go run ./hack/metrics
(cd hack/monitoring && go run .)
