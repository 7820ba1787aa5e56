# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0

# module_dir prints the directory of a module that the module in another directory requires. A machine that has not downloaded
# it yet does so: "go list" alone would print nothing.
module_dir() {
  go -C "$1" mod download "$2"
  go -C "$1" list -m -f '{{.Dir}}' "$2"
}
