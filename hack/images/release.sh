#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes a release of the current commit in the directory given as the one argument, whose former release it replaces:
#   <image>.tar                       an OCI archive with an image for each platform
#   kubectl-groundskeeper-<platform>  the plugin of kubectl, for Linux, macOS and Windows
#   kubectl-groundskeeper-<platform>.tar.gz, groundskeeper.krew.yaml   the same for krew, and its manifest
#   <name>.cdx.json                   the bill of materials of each of them (CycloneDX)
#   groundskeeper-<version>.tgz       the Helm chart
#   groundskeeper-artifacts.tar.gz    the kustomizations
#   groundskeeper.openvex.json        which known vulnerabilities of dependencies affect it (OpenVEX)
#   <image>.sig.tar                   the signature of the image as cosign makes it, an OCI archive
#   provenance.json, provenance.intoto.jsonl   what the files were built from (SLSA), and the same signed (DSSE)
#   SHA256SUMS, SHA256SUMS.sig        the sums of all files, and a signature of the sums
#
# SIGNING_KEY=FILE signs by ssh-keygen with a key of SSH: the private one, or the public one of a key that an agent holds.
# Without it the release is not signed. IMAGE_SIGNING_KEY=FILE, an Ed25519 or ECDSA key (PKCS #8 in PEM), signs the images and the
# provenance. PLATFORMS and IMAGES are those of build.sh; all servers for both platforms by default.
# PLUGIN_PLATFORMS are those of the plugin. DOWNLOAD_URL is where the files of the release will be, in the manifest for krew.
#
# One commit, Go and buildah make the same bytes, and so do an Ed25519 or RSA key of SSH and any key for images with the signatures.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: release.sh DIRECTORY}
key=${SIGNING_KEY:-}
[[ -z $key ]] || key=$(realpath -e "$key")
image_key=${IMAGE_SIGNING_KEY:-}
[[ -z $image_key ]] || image_key=$(realpath -e "$image_key")
"$(dirname "${BASH_SOURCE[0]}")/replaceable.sh" "$destination" >/dev/null
mkdir -p "$(dirname "$destination")"
destination=$(realpath -m "$destination")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source hack/images/stamp.sh

export PLATFORMS=${PLATFORMS:-linux/amd64 linux/arm64}
servers=(cmd/groundskeeper-*/)
servers=("${servers[@]%/}")
export IMAGES=${IMAGES:-${servers[*]##*/}} # pause is the local node's

# Beside the destination, so that the last step is a rename.
work=$(mktemp -d "$(dirname "$destination")/.release-XXXXXX")
trap 'rm -rf "$work"' EXIT
release=$work/release
mkdir "$release"

hack/images/build.sh "$release" >/dev/null
plugin_platforms=${PLUGIN_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}
for platform in $plugin_platforms; do
  build "$platform" "$work/$platform" ./cmd/kubectl-groundskeeper
  exe=
  [[ $platform != windows/* ]] || exe=.exe
  name=kubectl-groundskeeper-${platform/\//-}
  install -m 0755 "$work/$platform/kubectl-groundskeeper$exe" "$release/$name$exe"
  cp LICENSE "$work/$platform/"
  archive "$work/krew.tar" "$work/$platform" LICENSE "kubectl-groundskeeper$exe"
  gzip --no-name --best <"$work/krew.tar" >"$release/$name.tar.gz"
done
hack/krew/manifest.sh "$version" "${DOWNLOAD_URL:-$source/releases/download/$version}" "$release" >"$work/krew.yaml"
mv "$work/krew.yaml" "$release/groundskeeper.krew.yaml"

# Helm wants a semantic version. Where no tag leads to the commit, it is of none.
chart=${version#v}
[[ $chart =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$ ]] || chart=0.0.0-g$chart
cp -r charts "$work/charts"
sed -i "s/^version: .*/version: $chart/; s/^appVersion: .*/appVersion: \"$version\"/" "$work/charts/groundskeeper/Chart.yaml"
archive "$work/chart.tar" "$work/charts" groundskeeper
archive "$work/artifacts.tar" . artifacts
gzip --no-name --best <"$work/chart.tar" >"$release/groundskeeper-$chart.tgz"
gzip --no-name --best <"$work/artifacts.tar" >"$release/groundskeeper-artifacts.tar.gz"

check=(go -C hack/images/release run . --clone "$PWD" --version "$version" --commit "$commit" --epoch "$epoch" --platforms "$PLATFORMS" --programs "$plugin_platforms" --key "$image_key")
"${check[@]}" sbom "$release"
"${check[@]}" vex "$release"
[[ -z $image_key ]] || "${check[@]}" sign "$release"
"${check[@]}" provenance "$release"
(cd "$release" && LC_ALL=C sha256sum -- *) >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" "$release/"
"${check[@]}" check "$release"
[[ -z $key ]] || ssh-keygen -q -Y sign -f "$key" -n groundskeeper-release "$release/SHA256SUMS"

# It may have changed since: listed files are deleted, and the directory only when nothing else is in it.
former=$(hack/images/replaceable.sh "$destination")
[[ -z $former ]] || (cd "$destination" && xargs --delimiter='\n' rm -f -- <<<"$former")
[[ ! -e $destination ]] || rmdir "$destination"
mv "$release" "$destination"
cat "$destination/SHA256SUMS"
if [[ -n $key ]]; then
  echo "$destination is release $version, signed with $key"
else
  echo "$destination is release $version, NOT SIGNED: SIGNING_KEY names no key"
fi
