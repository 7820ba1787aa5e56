// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// The state of the page: what the stream reported, the address, and the time.
import {batch, computed, signal} from '@preact/signals'

export const rows = signal(new Map())
export const overview = signal(null)
export const touched = signal({keys: new Set(), all: true})
export const connected = signal(true)
export const now = signal(Date.now())
export const path = signal(location.hash.slice(1) || '/')

setInterval(() => (now.value = Date.now()), 1000)
addEventListener('hashchange', () => (path.value = location.hash.slice(1) || '/'))

// Whether what is shown is what the API server has.
export const live = computed(() => connected.value && !!overview.value && !overview.value.checked.some((c) => c.since))
// How many objects need attention.
export const attention = computed(() => (overview.value?.checked ?? []).reduce((sum, c) => sum + c.warnings, 0))

// The console reports every ten seconds that it runs.
const silence = 25_000
let last = Date.now()
setInterval(() => {
  if (Date.now() - last > silence) connected.value = false
}, 1000)

export function follow() {
  const stream = new EventSource('/api/stream')
  stream.onmessage = (event) => {
    last = Date.now()
    apply(JSON.parse(event.data))
  }
  stream.onerror = () => {
    connected.value = false
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 2000)
  }
}

function apply(delta) {
  batch(() => {
    connected.value = true
    if (delta.reset || delta.rows || delta.removed) {
      const next = delta.reset ? new Map() : new Map(rows.value)
      for (const row of delta.rows ?? []) next.set(row.key, row)
      for (const key of delta.removed ?? []) next.delete(key)
      rows.value = next
    }
    if (delta.touched || delta.tooMany) touched.value = {keys: new Set(delta.touched ?? []), all: !!delta.tooMany}
    overview.value = delta
  })
}

// Newest first.
export const sorted = computed(() => [...rows.value.values()].sort((a, b) => (a.since < b.since ? 1 : a.since > b.since ? -1 : a.key < b.key ? -1 : 1)))

// A response that ends in between, as one that is aborted, is an error and no data.
export async function read(address, signal) {
  return data(await fetch(address, {signal}))
}

// Sends a change that a user confirmed, with the token of its question.
export async function send(address, token, body) {
  return data(await fetch(address, {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Groundskeeper-Token': token}, body: JSON.stringify(body)}))
}

async function data(response) {
  if (response.ok) return response.json()
  const body = await response.json().catch(() => ({}))
  throw new Error(body.error ?? `the console responded with ${response.status}`)
}
