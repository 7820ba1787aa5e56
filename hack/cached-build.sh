# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0

# cached_build links binaries, which the tools of the go.mod in the current folder are, into a folder. A cold build takes
# some minutes, so the result is kept outside the clone, under a hash of all that goes into it: a second clone, or a
# second run, only links. The caller has a function build_into, which makes the binaries in the folder that it is given.
#
# cached_build WHAT FOLDER BINARY...
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
  # The rename is the commit: a folder under its final name is whole. When another build was first, its folder stays
  # and ours is dropped.
  mv -T "$work/bin" "$cached" 2>/dev/null || [[ -x $cached/$1 ]]
  echo "Built in $SECONDS s." >&2
}
