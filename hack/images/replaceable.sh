#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Lists the files of the release in a folder, so that they can be removed: replaceable.sh FOLDER. Fails when the folder has
# anything else: where somebody downloaded a release to, or another program keeps sums of its own, more lies than ours.
# Nothing is in a folder that is empty or not there.
set -o errexit -o nounset -o pipefail
folder=${1:?usage: replaceable.sh FOLDER}
[[ -e $folder || -L $folder ]] || exit 0

refuse() {
  echo "$folder is there, and is no release that could be replaced: $1" >&2
  exit 1
}
[[ -d $folder && ! -L $folder ]] || refuse "it is no folder"
# Names with a line feed, which no release has, would look like two.
entries=$(find "$folder" -mindepth 1 -maxdepth 1 -printf '%y %f\0' | LC_ALL=C sort --zero-terminated | tr '\n\0' '?\n')
[[ -n $entries ]] || exit 0
[[ -f $folder/SHA256SUMS && ! -L $folder/SHA256SUMS ]] || refuse "it has no SHA256SUMS"

while IFS= read -r entry; do
  kind=${entry:0:1} name=${entry:2}
  case $name in
  SHA256SUMS | SHA256SUMS.sig) ;;
  *) cut -c 67- "$folder/SHA256SUMS" | grep --quiet --line-regexp --fixed-strings -- "$name" || refuse "$name is not in its SHA256SUMS" ;;
  esac
  [[ $kind == f ]] || refuse "$name is no file"
done <<<"$entries"
cut -c 3- <<<"$entries"
