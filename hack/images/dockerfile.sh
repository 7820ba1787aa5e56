#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds each target of the Dockerfile by buildah, for the platform given as the one argument (the machine's without it), and
# fails unless it has the files and the configuration of the image that build.sh makes. IMAGES is that of build.sh. Needs
# root, no Docker and no registry: the image with Go that the Dockerfile begins with is made here, of the machine's own Go,
# and takes its modules and what is compiled already from the machine. What Docker's image with Go has besides is not tested.
set -o errexit -o nounset -o pipefail
platform=${1:-linux/$(go env GOARCH)}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source hack/images/stamp.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
export BUILDAH_ISOLATION=chroot

# A shell with its libraries, Go, and the files of the machine that they read.
root=$work/root
mkdir -p "$root"/{bin,tmp,etc/ssl/certs,root,usr/bin,usr/local}
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cp "$(command -v dash)" "$root/bin/sh"
cp "$(command -v mkdir)" "$root/bin/"
ldd "$(command -v dash)" "$(command -v mkdir)" | grep -o '/[^ ]*' | grep -v ':$' | sort -u | xargs cp --parents -L -t "$root"
cp -r "$(go env GOROOT)" "$root/usr/local/go"
container=$(buildah from scratch)
buildah copy --quiet "$container" "$root" / >/dev/null
rm -rf "$root"
buildah config --env PATH=/usr/local/go/bin:/bin --env GOMODCACHE=/go/pkg/mod --env GOCACHE=/go/build \
  --env "GOPROXY=$(go env GOPROXY)" "$container"
buildah commit --quiet --rm "$container" localhost/go:1 >/dev/null

servers=(cmd/groundskeeper-*/)
servers=("${servers[@]%/}")
read -r -a images <<<"${IMAGES:-${servers[*]##*/}}"
for name in "${images[@]}"; do
  PLATFORMS=$platform IMAGES=$name hack/images/build.sh "$work/ours" >/dev/null
  # Docker knows the platform that it builds on automatically, Debian's buildah does not.
  buildah build --quiet --pull-never --layers=false --platform "$platform" --target "$name" --build-arg GO_IMAGE=localhost/go:1 \
    --build-arg BUILDPLATFORM="linux/$(go env GOHOSTARCH)" \
    --build-arg VERSION="$(git describe --tags --abbrev=12 --dirty 2>/dev/null)" --build-arg COMMIT="$commit" \
    --volume "$(go env GOMODCACHE):/go/pkg/mod" --volume "$(go env GOCACHE):/go/build" --tag "localhost/$name:$version" . >/dev/null
  mkdir -p "$work/$name"
  mount=$(buildah mount "$(buildah from --quiet --pull-never "localhost/$name:$version")")
  (cd "$mount" && find . -type f -printf '%m %U:%G ' -exec sha256sum {} \; | sort -k 4) >"$work/$name/theirs"
  skopeo copy --quiet "oci-archive:$work/ours/$name.tar" "oci:$work/$name/layout:x"
  mkdir "$work/$name/files"
  for layer in $(skopeo inspect "oci:$work/$name/layout:x" --format '{{range .Layers}}{{.}} {{end}}'); do
    tar -xzf "$work/$name/layout/blobs/${layer/://}" -C "$work/$name/files"
  done
  (cd "$work/$name/files" && find . -type f -printf '%m %U:%G ' -exec sha256sum {} \; | sort -k 4) >"$work/$name/ours"
  diff "$work/$name/ours" "$work/$name/theirs" || { echo "$name: the Dockerfile makes other files than build.sh" >&2; exit 1; }
  settings='{{.OCIv1.Architecture}} {{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}'
  is=$(buildah inspect --type image --format "$settings" "localhost/$name:$version")
  [[ $is == "${platform#*/} 65532:65532 [/$name] []" ]] || { echo "$name: the configuration is $is" >&2; exit 1; }
  buildah rm --all >/dev/null
  echo "$name for $platform: as build.sh makes it"
done
