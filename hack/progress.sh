#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# progress.sh WHAT COMMAND...: runs a command that takes long and reports on stderr how many lines the command
# has written there, instead of the lines. A terminal gets one line that counts up; anything else (a CI log)
# gets a line every 20 seconds. A "go build" that takes longer than ten seconds is reported with the number of packages that it
# compiles, and the time that it still needs. When the command fails, its last lines are shown, or one line with the cause and the remedy
# where that is a known fault of the machine.
set -o errexit -o nounset -o pipefail
what=$1
shift
command -v "$1" >/dev/null || {
  echo "error: $1 is not on the PATH$([[ $1 != go ]] || echo ": install Go $(sed -n 's/^go //p' go.mod 2>/dev/null) or later, https://go.dev/dl")" >&2
  exit 1
}
log=$(mktemp)
trap 'rm -f "$log" "$log".plan*' EXIT

# planned writes to a file how many packages "go build" would compile now.
planned() {
  local file=$1
  shift
  go build -n "$@" 2>&1 | grep --count '/compile -o' >"$file.part" || true # none is an error for grep
  mv "$file.part" "$file"
}

# status prints what has been done after how many seconds, and what is left of a total, which is empty while it is not known.
status() {
  local done=$1 modules=$2 total=$3 left
  if ((done == 0 && modules > 0)); then
    echo "$modules modules downloaded ($SECONDS s)"
  elif [[ -n $total ]] && ((done >= total)); then
    echo "$done $what, linking ($SECONDS s)"
  elif [[ -z $total ]] || ((done == 0)); then
    echo "$done $what ($SECONDS s)"
  else
    left=$((SECONDS * (total - done) / done / 60))
    echo "$done of about $total $what ($SECONDS s, about $((left + 1)) min left)"
  fi
}

# count reads the lines that the command writes.
count() {
  local count=0 modules=0 total='' plan='' before=0 reported=$SECONDS line
  while :; do
    if IFS= read -r -t 1 line; then
      printf '%s\n' "$line" >>"$log"
      # A build reports the modules that it downloads, too.
      if [[ $1 == go && ${2:-} == build && $line == "go: "* ]]; then modules=$((modules + 1)); else count=$((count + 1)); fi
    elif (($? <= 128)); then # the end of the input; above, a second without a line: linking takes many
      break
    fi
    if [[ $1 == go && ${2:-} == build && -z $plan ]] && ((SECONDS >= 10 && (count > 0 || modules == 0))); then
      plan=$log.plan before=$count
      planned "$plan" "${@:3}" &
    elif [[ -z $total && -n $plan && -s $plan ]]; then
      total=$((before + $(<"$plan")))
    fi
    if [[ -t 2 ]]; then
      printf '\r\033[K  %s' "$(status "$count" "$modules" "$total")" >&2
    elif ((SECONDS - reported >= 20)); then
      reported=$SECONDS
      printf '  %s\n' "$(status "$count" "$modules" "$total")" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
  # A plan that is not complete is not needed any more.
  [[ -z $plan ]] || { kill %1 2>/dev/null || true; }
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

{ "$@" 2>&1 >&3 3>&- | count "$@"; } 3>&1 || {
  known >&2 && exit 1
  echo "$1 failed; its last lines:" >&2
  tail -n 30 "$log" >&2
  exit 1
}
