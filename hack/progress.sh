#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# progress.sh WHAT COMMAND...: runs a command that takes long and reports on stderr how many lines the command
# has written there, instead of the lines. A terminal gets one line that counts up; anything else (a CI log)
# gets a line every 20 seconds. When the command fails, its last lines are shown, or one line with the cause and the remedy
# where that is a known fault of the machine.
set -o errexit -o nounset -o pipefail
what=$1
shift
command -v "$1" >/dev/null || {
  echo "error: $1 is not on the PATH$([[ $1 != go ]] || echo ": install Go $(sed -n 's/^go //p' go.mod 2>/dev/null) or later, https://go.dev/dl")" >&2
  exit 1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count() {
  local count=0 reported=$SECONDS line
  while :; do
    if IFS= read -r -t 1 line; then
      printf '%s\n' "$line" >>"$log"
      count=$((count + 1))
    elif (($? <= 128)); then # the end of the input; above, a second without a line: linking takes many
      break
    fi
    if [[ -t 2 ]]; then
      printf '\r\033[K  %d %s (%d s)' "$count" "$what" "$SECONDS" >&2
    elif ((SECONDS - reported >= 20)); then
      reported=$SECONDS
      printf '  %d %s (%d s)\n' "$count" "$what" "$SECONDS" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# known prints the cause and the remedy of a failure, when it is a known one.
known() {
  if grep --quiet "no space left on device" "$log"; then
    echo "error: the disk is full: see df -h . ${TMPDIR:-/tmp} ${GOCACHE:-$HOME/.cache}"
  elif grep --quiet -e "dubious ownership" -e "error obtaining VCS status" "$log"; then
    echo "error: the clone belongs to another user, and git rejects it: git config --global --add safe.directory '$PWD'"
  elif grep --quiet -e "requires go >= " -e "invalid go version" -e "toolchain not available" -e "download go1" "$log"; then
    echo "error: $(go version 2>/dev/null | cut -d' ' -f3) is too old: install Go $(sed -n 's/^go //p' go.mod 2>/dev/null) or later, https://go.dev/dl"
  elif grep --quiet "permission denied" "$log"; then
    echo "error: $(grep --max-count=1 "permission denied" "$log"): the file belongs to another user"
  else
    return 1
  fi
}

{ "$@" 2>&1 >&3 3>&- | count; } 3>&1 || {
  known >&2 && exit 1
  echo "$1 failed; its last lines:" >&2
  tail -n 30 "$log" >&2
  exit 1
}
