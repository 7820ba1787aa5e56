#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the linker's flags that stamp the version and the commit into a binary: the same for "make build" and for the images of a
# commit. The length of an abbreviated commit depends on the clone, unless it is given.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
stamp=groundskeeper.io/groundskeeper/pkg/version
echo "-X $stamp.version=$(git describe --tags --abbrev=12 --dirty 2>/dev/null) -X $stamp.commit=$(git rev-parse --short=12 HEAD 2>/dev/null)"
