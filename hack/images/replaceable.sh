#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Lists the files of the release in a directory, so that they can be removed: replaceable.sh DIRECTORY. Fails when the directory has
# anything else: a directory of downloads, or one with the checksums of another program, also has other files. Nothing is listed
# for a directory that is empty or does not exist.
set -o errexit -o nounset -o pipefail
directory=${1:?usage: replaceable.sh DIRECTORY}
[[ -e $directory || -L $directory ]] || exit 0

reject() {
  echo "$directory exists, and is no release that could be replaced: $1" >&2
  exit 1
}
[[ -d $directory && ! -L $directory ]] || reject "it is no directory"
# Names with a line feed, which no release has, would look like two.
entries=$(find "$directory" -mindepth 1 -maxdepth 1 -printf '%y %f\0' | LC_ALL=C sort --zero-terminated | tr '\n\0' '?\n')
[[ -n $entries ]] || exit 0
[[ -f $directory/SHA256SUMS && ! -L $directory/SHA256SUMS ]] || reject "it has no SHA256SUMS"

while IFS= read -r entry; do
  kind=${entry:0:1} name=${entry:2}
  case $name in
  SHA256SUMS | SHA256SUMS.sig) ;;
  *) cut -c 67- "$directory/SHA256SUMS" | grep --quiet --line-regexp --fixed-strings -- "$name" || reject "$name is not in its SHA256SUMS" ;;
  esac
  [[ $kind == f ]] || reject "$name is no file"
done <<<"$entries"
cut -c 3- <<<"$entries"
