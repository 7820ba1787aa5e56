#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the packages whose tests need no control plane:
#
#   packages.sh               all of them
#   packages.sh concurrent    those that start goroutines or lock, and the server in process: always tested with the race detector
#   packages.sh plain         the others
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all() { go list ./... | grep -v -e '/test/integration$' -e '/test/contour$' -e '/test/certmanager$' -e '/test/capi$' -e '/test/console$' -e '/test/demo$' | sort; }

# A go statement, the method Go of a WaitGroup or an errgroup, or a lock: what several goroutines use.
concurrent() {
  local module
  module=$(go list -m)
  {
    git ls-files --cached --others --exclude-standard -- 'pkg/*.go' 'cmd/*.go' | grep -v -e '_test\.go$' -e '^pkg/generated/' |
      xargs grep -lE '^\s+(go (func\b|[a-zA-Z_.]+\()|.*\.Go\()|sync\.(RW)?Mutex'
    echo test/inprocess/main_test.go
  } | xargs -n1 dirname | sort -u | sed "s,^,$module/,"
}

case ${1:-} in
'') all ;;
concurrent) concurrent ;;
plain) comm -23 <(all) <(concurrent) ;;
*) echo "usage: packages.sh [concurrent|plain]" >&2; exit 2 ;;
esac
