# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0

# The stamp of every image and every file of a release: the commit that it was built from. Source it in the directory of the
# clone.
source=https://groundskeeper.io/groundskeeper
commit=$(git rev-parse HEAD)
# The length of an abbreviated commit depends on the clone, unless it is given.
version=$(git describe --tags --always --abbrev=12 --dirty)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

# build PLATFORM DIRECTORY PACKAGE...: static binaries, without what differs between two directories.
build() {
  local platform=$1 directory=$2
  shift 2
  mkdir -p "$directory"
  GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 hack/go-build.sh "packages compiled for $platform" \
    -trimpath -buildvcs=false -tags grpcnotrace,fieldsv1string -ldflags "-s -w -buildid= $(hack/ldflags.sh)" \
    -o "$directory/" "$@"
}

# archive FILE DIRECTORY NAME...: a tar of what is in the directory under these names, which is the same at any time.
archive() {
  local file=$1 directory=$2
  shift 2
  tar --create --file "$file" --directory "$directory" --format=gnu --sort=name --mtime="@$epoch" --mode=a+rX,u+w,go-w \
    --owner=0 --group=0 --numeric-owner "$@"
}
