#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# The first tier of tests: what "make test" runs. The parts run at the same time, because tests on control planes wait for
# processes for a fifth of the time. It ends with a table of the parts and their seconds, and fails when one of them does.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

table=$(mktemp)
trap 'rm -f "$table"' EXIT

parts=() # their processes

# part NAME COMMAND... runs a part in the background.
part() {
  local name=$1
  shift
  {
    local result=passed
    "$@" || result=FAILED
    printf '%-8s %6s  %s\n' "$result" "$SECONDS" "$name" >>"$table"
    [[ $result == passed ]]
  } &
  parts+=($!)
}

# The linters run vet, so that the tests do not. A test that hangs ends after an hour: go's own ten minutes are too short for a package on a
# machine with ten times as much to do.
plain=$(hack/packages.sh plain)
concurrent=$(hack/packages.sh concurrent)
# shellcheck disable=SC2086 # the packages are many words
{
  part "unit tests" go test -vet=off -short -timeout 1h $plain
  part "unit tests and the server in process, with the race detector" env CGO_ENABLED=1 go test -vet=off -short -race -timeout 1h $concurrent
  part "local control planes" go test -vet=off -short -p 1 -timeout 1h ./test/integration
}
status=0
for process in "${parts[@]}"; do
  wait "$process" || status=1
done
printf '\n%-8s %6s  %s\n' result seconds step
cat "$table"
printf '%-8s %6s  %s\n' "$( ((status)) && echo FAILED || echo passed)" "$SECONDS" total
exit "$status"
