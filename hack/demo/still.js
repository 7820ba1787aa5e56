// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Replaces the page by a copy that does not change any more, with the same ages, addresses, times and IDs in each run.
(() => {
  const copy = document.body.cloneNode(true)
  const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT)
  const ids = new Map()
  while (texts.nextNode()) {
    texts.currentNode.data = texts.currentNode.data
      .replace(/\d+ (seconds|minutes)/g, '5 seconds')
      .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:6443')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '2026-01-01T12:00:00Z')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
        if (!ids.has(id)) ids.set(id, `00000000-0000-4000-8000-${String(ids.size + 1).padStart(12, '0')}`)
        return ids.get(id)
      })
  }
  document.documentElement.replaceChild(copy, document.body)
  document.activeElement?.blur()
  return true
})()
