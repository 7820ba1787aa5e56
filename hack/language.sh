#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that texts use the terms of docs/style.md, and have no marks of a merge. It knows terms only: what a sentence should be takes a reader.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

terms='rights|right to|authority|authorities|certificates? ends?|host clusters?|ways? in(?! (which|that)\b)|folders?'
# Names with dashes are names. These files are upstream's, or list the terms.
others=(':!LICENSE' ':!test/integration/testdata' ':!docs/reference' ':!docs/style.md' ':!docs/drawings' ':!pkg/plugin/console/assets' ':!hack/language.sh' ':!CHANGELOG.md')
found=$(git grep -nIiP "(?<![-\w/\"])($terms)(?![-\w\"])" -- "${others[@]}" | grep -vi 'unknown authority' || true)
if [[ $found ]]; then
  printf 'These texts do not use the terms of docs/style.md:\n%s\n' "$found" >&2
  exit 1
fi
# Compilers refuse them in code, nothing else does in texts.
if git grep -nE '^(<{7}|>{7}) '; then
  echo 'These lines are what a merge left: resolve them' >&2
  exit 1
fi
