#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# go-build.sh WHAT ARGUMENT...: "go build" with those arguments, which reports its progress (progress.sh) and takes as little
# CPU time as it can: cold builds are the longest wait that a newcomer has. They keep all cores busy throughout.
set -o errexit -o nounset -o pipefail
what=$1
shift

# A compiler seldom lives long enough for a garbage collection to pay. Without them it takes a tenth less time; the limit is for
# the few packages that need much memory.
export GOGC=off GOMEMLIMIT=1GiB

# Compilers with one thread take a sixteenth less than those that share the cores with each other, and one more of them than
# cores fills the gaps in which one waits for the disk. A machine with more cores keeps the defaults of Go: memory may be scarcer
# there than cores, and nproc does not know the quota of a container.
cores=$(nproc)
if ((cores <= 4)); then
  export GOMAXPROCS=1
  set -- -p $((cores + 1)) "$@"
fi
exec "$(dirname "${BASH_SOURCE[0]}")/progress.sh" "$what" go build -v "$@"
