#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds what an upgrade begins with into the directory given as the one argument: images/*.tar and artifacts/ of the newest
# commit of the history that differs from the working tree in cmd/ or pkg/ and can be installed. Where there is none, as in
# a shallow clone, it is the working tree itself, as another version.
#
# All of git happens in a dedicated clone: nothing of this repository is written.
set -o errexit -o nounset -o pipefail
destination=${1:?usage: previous.sh Directory}
mkdir -p "$destination"
destination=$(cd "$destination" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export GIT_OPTIONAL_LOCKS=0
installation=artifacts/install/single-replica/kustomization.yaml

# The newest commit that will do; empty when there is none.
pick() {
  local commit
  for commit in $(git rev-list --max-count 200 HEAD); do
    git cat-file -e "$commit:$installation" 2>/dev/null || return 0 # those before it cannot be installed either
    if ! git diff --quiet "$commit" -- cmd pkg; then
      echo "$commit"
      return 0
    fi
  done
}

clone=$destination/source
commit=$(pick)
if [[ -n "$commit" ]]; then
  if [[ "$(cat "$destination/commit" 2>/dev/null)" == "$commit" ]]; then
    echo "$destination is of commit ${commit:0:12} already"
    exit 0
  fi
  rm -rf "$destination"/*
  git clone --quiet --no-checkout "$PWD" "$clone"
  git -C "$clone" checkout --quiet --detach "$commit"
else
  rm -rf "$destination"/*
  mkdir "$clone"
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [[ ! -e "$file" ]] || printf '%s\0' "$file" # one may be deleted, and not yet in a commit
  done | tar --create --null --files-from=- | tar --extract --directory "$clone"
  git -C "$clone" init --quiet
  git -C "$clone" add --all
  git -C "$clone" -c user.name=e2e -c user.email=e2e@groundskeeper.io commit --quiet --message "The same as another version"
fi
# Those that the test needs; a build.sh of before this variable makes all.
IMAGES="groundskeeper-apiserver groundskeeper-controller-manager groundskeeper-discoverer" "$clone/hack/images/build.sh" "$destination/images"
mv "$clone/artifacts" "$destination/artifacts"
rm -rf "$clone"
echo "$commit" >"$destination/commit" # the last thing: it reports that all is there
