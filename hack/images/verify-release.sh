#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Fails unless the files of a release are those that its maker signed: verify-release.sh DIRECTORY ALLOWED_SIGNERS [SIGNER].
# ALLOWED_SIGNERS is a file as ssh-keygen(1) has it, from where you trust it, and not from the directory. Take the script from
# there as well, or run its commands manually.
set -o errexit -o nounset -o pipefail
directory=${1:?usage: verify-release.sh DIRECTORY ALLOWED_SIGNERS [SIGNER]}
signers=$(realpath -e "${2:?usage: verify-release.sh DIRECTORY ALLOWED_SIGNERS [SIGNER]}")
signer=${3:-release@groundskeeper.io}
cd "$directory"

[[ -e SHA256SUMS.sig ]] || { echo "the release is not signed" >&2; exit 1; }
ssh-keygen -Y verify -f "$signers" -I "$signer" -n groundskeeper-release -s SHA256SUMS.sig <SHA256SUMS
sha256sum --check --strict --quiet SHA256SUMS
for file in * .[!.]*; do
  case $file in
  SHA256SUMS | SHA256SUMS.sig | '.[!.]*') ;;
  *) cut -c 67- SHA256SUMS | grep --quiet --line-regexp --fixed-strings -- "$file" || { echo "$file is not of the release" >&2; exit 1; } ;;
  esac
done
