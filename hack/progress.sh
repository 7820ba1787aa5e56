#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# progress.sh WHAT COMMAND...: runs a command that takes long and says on stderr how many lines the command
# has written there, instead of the lines. A terminal gets one line that counts up; anything else (a CI log)
# gets a line every 20 seconds. When the command fails, its last lines are shown.
set -o errexit -o nounset -o pipefail
what=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count() {
  local count=0 said=$SECONDS line
  while :; do
    if IFS= read -r -t 1 line; then
      printf '%s\n' "$line" >>"$log"
      count=$((count + 1))
    elif (($? <= 128)); then # the end of the input; above, a second without a line: linking takes many
      break
    fi
    if [[ -t 2 ]]; then
      printf '\r\033[K  %d %s (%d s)' "$count" "$what" "$SECONDS" >&2
    elif ((SECONDS - said >= 20)); then
      said=$SECONDS
      printf '  %d %s (%d s)\n' "$count" "$what" "$SECONDS" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

{ "$@" 2>&1 >&3 3>&- | count; } 3>&1 || {
  echo "$1 failed; its last lines:" >&2
  tail -n 30 "$log" >&2
  exit 1
}
