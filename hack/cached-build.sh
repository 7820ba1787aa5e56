# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0

# cached_build links binaries, which the tools of the go.mod in the current directory are, into a directory. A cold build takes
# some minutes, so the result is kept outside the clone, under a hash of all its inputs: a second clone, or a
# second run, only links. The caller has a function build_into, which makes the binaries in the directory that it is given.
#
# cached_build WHAT DIRECTORY BINARY...
cached_build() {
  local what=$1 destination=$2 script=$0 library=${BASH_SOURCE[0]} key name
  shift 2
  # Without cgo no C compiler is needed, and the binaries depend on no library of the machine.
  export CGO_ENABLED=0 GOFLAGS= GOWORK=off
  key=$({ cat go.mod go.sum "$(basename "$script")" "../$(basename "$library")"; go version; } | git hash-object --stdin)
  root=${XDG_CACHE_HOME:-$HOME/.cache}/groundskeeper/$what
  cached=$root/$key
  [[ -x $cached/${!#} ]] || build_cached "${!#}"

  # A file that is the cached one already is left alone. The rename never touches the file that a running process was
  # started from.
  for name in "$@"; do
    [[ $destination/$name -ef $cached/$name ]] || cmp -s "$cached/$name" "$destination/$name" || {
      ln -f "$cached/$name" "$destination/.$name.new" 2>/dev/null || cp "$cached/$name" "$destination/.$name.new"
      mv -f "$destination/.$name.new" "$destination/$name"
    }
  done
}

build_cached() {
  mkdir -p "$root"
  work=$(mktemp -d "$root/.building-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  build_into "$work/bin"
  # The rename is the commit: a directory under its final name is whole. When another build was first, its directory remains and
  # this one is discarded.
  mv -T "$work/bin" "$cached" 2>/dev/null || [[ -x $cached/$1 ]]
  echo "Built in $SECONDS s." >&2
}
