#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds an OCI archive for each server of cmd/ into the directory given as the one argument: <name>.tar with the image
# localhost/<name>:<version>, or the commit where there is no version; and pause.tar, localhost/pause:1, for the local
# node. No daemon, no registry and no base image is needed.
#
# PLATFORMS="linux/amd64 linux/arm64" makes images of several platforms: an archive has an index with one of each then.
# Without it, it is one image, of the machine's architecture. IMAGES="pause groundskeeper-discoverer" makes these only.
#
# The same commit, Go and buildah make the same bytes: nothing in an archive depends on the time, the directory or the
# machine's certificates. All times are that of the commit, or SOURCE_DATE_EPOCH.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: build.sh DIRECTORY}
command -v buildah >/dev/null || {
  echo "images are built by buildah, which is not installed: apt-get install --no-install-recommends buildah" >&2
  exit 1
}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source hack/images/stamp.sh

servers=(cmd/groundskeeper-*/) # the plugin of kubectl runs where kubectl does
servers=("${servers[@]%/}")
read -r -a platforms <<<"${PLATFORMS:-linux/$(go env GOARCH)}"
read -r -a images <<<"${IMAGES:-${servers[*]##*/} pause}"

packages=()
for name in "${images[@]}"; do
  case $name in
  pause) packages+=(./hack/images/pause) ;;
  *) packages+=("./cmd/$name") ;;
  esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/etc"
for platform in "${platforms[@]}"; do
  [[ $platform == linux/* ]] || { echo "platform $platform: images of Groundskeeper are for linux" >&2; exit 1; }
  build "$platform" "$work/$platform" "${packages[@]}"
done
go -C hack/images/roots run . >"$work/etc/ca-certificates.crt"

# A dedicated storage: what else buildah has on the machine is not touched.
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
export BUILDAH_ISOLATION=chroot

# image NAME TAG PLATFORM COMMIT...: one image of the binary, which "buildah commit COMMIT..." writes.
image() {
  local name=$1 tag=$2 platform=$3 container copied=()
  shift 3
  container=$(buildah from --arch "${platform#*/}" scratch)
  copied=(--quiet --chown 0:0 --chmod 0555)
  buildah copy "${copied[@]}" "$container" "$work/$platform/$name" "/$name" >/dev/null
  [[ $name == pause ]] ||
    buildah copy "${copied[@]}" "$container" "$work/etc/ca-certificates.crt" /etc/ssl/certs/ca-certificates.crt >/dev/null
  buildah config --os linux --arch "${platform#*/}" --user 65532:65532 --workingdir / --entrypoint "[\"/$name\"]" --cmd '' \
    --label "org.opencontainers.image.title=$name" --label "org.opencontainers.image.version=$tag" \
    --label "org.opencontainers.image.source=$source" --label "org.opencontainers.image.revision=$commit" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
  # Compressed, as a registry stores layers: a push that compressed them would change the digest, which is signed.
  buildah commit --quiet --rm --timestamp "$epoch" --format oci --disable-compression=false "${@/#CONTAINER/$container}" >/dev/null
}

for name in "${images[@]}"; do
  tag=$version
  [[ $name != pause ]] || tag=1
  reference=localhost/$name:$tag
  layout=$work/layout
  rm -rf "$layout"
  if ((${#platforms[@]} == 1)); then
    image "$name" "$tag" "${platforms[0]}" CONTAINER "oci:$layout:$reference"
  else
    for platform in "${platforms[@]}"; do
      image "$name" "$tag" "$platform" --manifest "$reference" CONTAINER
    done
    buildah manifest push --quiet --all --format oci "$reference" "oci:$layout:$reference" >/dev/null
  fi
  # buildah's own archive would have the time of today.
  archive "$work/$name.tar" "$layout" blobs index.json oci-layout
  mv "$work/$name.tar" "$destination/$name.tar"
  echo "$destination/$name.tar  $reference"
done
