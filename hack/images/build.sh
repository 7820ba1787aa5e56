#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds an OCI archive for each server of cmd/ into the folder given as the one argument: <name>.tar with the image
# localhost/<name>:<version>, or the commit where there is no version; and pause.tar, localhost/pause:1, for the local
# node. No daemon, no registry and no base image is needed.
#
# The same commit, Go and buildah make the same bytes: nothing in an archive depends on the time, the folder or the
# machine's certificates. All times are that of the commit, or SOURCE_DATE_EPOCH.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh FOLDER}
command -v buildah >/dev/null || {
  echo "images are built by buildah, which is not there: apt-get install --no-install-recommends buildah" >&2
  exit 1
}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

source=https://groundskeeper.io/groundskeeper
commit=$(git rev-parse HEAD)
# The length of an abbreviated commit depends on the clone, unless it is given.
version=$(git describe --tags --always --abbrev=12 --dirty)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/etc"

# Static, and without what differs between two folders.
stamp=groundskeeper.io/groundskeeper/pkg/version
tags=$(git describe --tags --abbrev=12 --dirty 2>/dev/null || true)
CGO_ENABLED=0 hack/progress.sh "packages compiled for the images" go build -v -trimpath -buildvcs=false \
  -ldflags "-s -w -buildid= -X $stamp.version=$tags -X $stamp.commit=${commit:0:12}" -o "$work/bin/" ./cmd/groundskeeper-... ./hack/images/pause
go -C hack/images/roots run . >"$work/etc/ca-certificates.crt"

# A storage of its own: what else buildah has on the machine is not touched.
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
export BUILDAH_ISOLATION=chroot

image() { # NAME VERSION FILES...: each file as FROM:TO
  local name=$1 tag=$2 container layout=$work/layout file
  shift 2
  container=$(buildah from scratch)
  for file in "$@"; do
    buildah copy --quiet --chown 0:0 --chmod 0555 "$container" "${file%%:*}" "${file##*:}" >/dev/null
  done
  buildah config --user 65532:65532 --workingdir / --entrypoint "[\"/$name\"]" --cmd '' \
    --label "org.opencontainers.image.title=$name" --label "org.opencontainers.image.version=$tag" \
    --label "org.opencontainers.image.source=$source" --label "org.opencontainers.image.revision=$commit" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
  rm -rf "$layout"
  buildah commit --quiet --rm --timestamp "$epoch" --format oci "$container" "oci:$layout:localhost/$name:$tag" >/dev/null
  # buildah's own archive would have the time of today.
  tar --create --file "$work/$name.tar" --directory "$layout" --format=gnu --sort=name --mtime="@$epoch" --mode=a+rX,u+w,go-w \
    --owner=0 --group=0 --numeric-owner blobs index.json oci-layout
  mv "$work/$name.tar" "$destination/$name.tar"
  echo "$destination/$name.tar  localhost/$name:$tag"
}

for main in cmd/groundskeeper-*/; do # the plugin of kubectl runs where kubectl does
  name=$(basename "$main")
  image "$name" "$version" "$work/bin/$name:/$name" "$work/etc/ca-certificates.crt:/etc/ssl/certs/ca-certificates.crt"
done
image pause 1 "$work/bin/pause:/pause"
