#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the images of the current commit twice, from two clones in directories of different names and at different times,
# and fails when the archives differ. "verify.sh release" does so with a release, signed with a key that is made for it.
set -o errexit -o nounset -o pipefail
what=${1:-images}
repository=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/key"
openssl genpkey -quiet -algorithm ed25519 -out "$work/images.pem"

for clone in first a/longer/path/for/the/second; do
  git clone --quiet "$repository" "$work/$clone"
  case $what in
  images) "$work/$clone/hack/images/build.sh" "$work/$clone/out" >/dev/null ;;
  release) SIGNING_KEY=$work/key IMAGE_SIGNING_KEY=$work/images.pem "$work/$clone/hack/images/release.sh" "$work/$clone/out" >/dev/null ;;
  *) echo "usage: verify.sh [images|release]" >&2; exit 1 ;;
  esac
  (cd "$work/$clone/out" && sha256sum -- *) >"$work/$(basename "$clone").sums"
  sleep 2 # archives and layers know whole seconds
done
diff "$work/first.sums" "$work/second.sums" || {
  echo "two builds of one commit made different files" >&2
  exit 1
}
cat "$work/first.sums"
