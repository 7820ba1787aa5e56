#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Fails unless the image of an archive is signed with a key: verify-image.sh IMAGE.tar PUBLIC_KEY. The signature is in IMAGE.sig.tar
# beside it. It requires openssl and jq, and neither cosign nor a network. PUBLIC_KEY (PEM) is from where you trust it.
set -o errexit -o nounset -o pipefail
image=${1:?usage: verify-image.sh IMAGE.tar PUBLIC_KEY}
key=${2:?usage: verify-image.sh IMAGE.tar PUBLIC_KEY}
signature=${image%.tar}.sig.tar
[[ -e $signature ]] || { echo "$image is not signed: there is no $signature" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# blob DIGEST: a blob of the signature's archive, which has to have its digest.
blob() {
  tar --extract --to-stdout --file "$signature" "blobs/sha256/${1#sha256:}" >"$work/blob"
  sha256sum --check --status <<<"${1#sha256:}  $work/blob"
  cat "$work/blob"
}

digest=$(tar --extract --to-stdout --file "$image" index.json | jq --exit-status --raw-output '.manifests[0].digest')
manifest=$(tar --extract --to-stdout --file "$signature" index.json | jq --exit-status --raw-output '.manifests[0].digest')
layer=$(blob "$manifest" | jq --exit-status '.layers[0]')
blob "$(jq --exit-status --raw-output .digest <<<"$layer")" >"$work/payload"
jq --exit-status --raw-output '.annotations["dev.cosignproject.cosign/signature"]' <<<"$layer" | base64 --decode >"$work/signature"

if openssl pkey -pubin -in "$key" -noout -text | grep --quiet ED25519; then
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$work/payload" -sigfile "$work/signature" >/dev/null
else
  openssl dgst -sha256 -verify "$key" -signature "$work/signature" "$work/payload" >/dev/null
fi || { echo "the signature of $image is not one of $key" >&2; exit 1; }
signed=$(jq --exit-status --raw-output '.critical.image."docker-manifest-digest"' "$work/payload")
[[ $signed == "$digest" ]] || { echo "the signature is of another image: $signed, not $digest" >&2; exit 1; }
# The archive is the image only if its blobs have their digests.
while IFS= read -r name; do
  tar --extract --to-stdout --file "$image" "$name" | sha256sum --check --status <(echo "${name##*/}  -") ||
    { echo "$image: $name has another digest" >&2; exit 1; }
done < <(tar --list --file "$image" | grep '^blobs/sha256/.')
echo "$image is $digest, signed with $key"
