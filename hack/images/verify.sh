#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the images of the current commit twice, from two clones in folders of different names and at different times,
# and fails when the archives differ.
set -o errexit -o nounset -o pipefail
repository=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for clone in first a/longer/path/for/the/second; do
  git clone --quiet "$repository" "$work/$clone"
  "$work/$clone/hack/images/build.sh" "$work/$clone/images" >/dev/null
  (cd "$work/$clone/images" && sha256sum -- *.tar) >"$work/$(basename "$clone").sums"
  sleep 2 # archives and layers know whole seconds
done
diff "$work/first.sums" "$work/second.sums" || {
  echo "two builds of one commit made different images" >&2
  exit 1
}
cat "$work/first.sums"
