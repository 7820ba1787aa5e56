#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the page of "kubectl groundskeeper console" into the directory given as the one argument, with the versions of
# pkg/plugin/console/page/package-lock.json. No package may run scripts. Without network it needs the cache of npm.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
destination=${1:?usage: build.sh DIRECTORY}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cd pkg/plugin/console/page
npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --silent
node build.mjs "$built"
# A failed build leaves what was there.
find "$destination" -mindepth 1 -delete
cp "$built"/* "$destination"/
