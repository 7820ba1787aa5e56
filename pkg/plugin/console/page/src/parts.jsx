// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Parts that several pages share.
import {useEffect, useRef, useState} from 'preact/hooks'
import {attention, now, read} from './state.js'

export function duration(milliseconds) {
  const s = Math.max(0, Math.round(milliseconds / 1000))
  if (s >= 172800) return `${Math.floor(s / 86400)} days`
  if (s >= 7200) return `${Math.floor(s / 3600)} hours`
  if (s >= 120) return `${Math.floor(s / 60)} minutes`
  return `${s} seconds`
}

// A time relative to now, with the absolute one as a tooltip.
export function Time({at, prefix = ''}) {
  const d = new Date(at) - now.value
  return <time dateTime={at} title={new Date(at).toLocaleString()}>{prefix}{d > 0 ? `in ${duration(d)}` : `${duration(-d)} ago`}</time>
}

export function Level({level}) {
  if (level === 'Warning') return <span class="level warning">needs attention</span>
  if (level === 'InProgress') return <span class="level progress">in progress</span>
  if (level === 'Info') return <span class="level">note</span>
  return <span class="level ok">ok</span>
}

// Levels by their importance, and the most important finding of a row.
const levelsByRank = ['Info', 'InProgress', 'Warning']
export const rank = (level) => levelsByRank.indexOf(level)
export const worst = (row) => row.findings.reduce((a, b) => (rank(b.level) > rank(a.level) ? b : a))

// The states of resources in the backend network.
export const levels = {Synced: 'ok', Pending: 'progress', Deleting: 'progress', Drifted: 'warning', Failed: 'warning', NotApplicable: 'warning'}

export function State({state}) {
  return <span class={`level ${levels[state] ?? ''}`}>{state || 'elsewhere'}</span>
}

export const href = (key) => `#/object/${key}`
export const label = (o) => (o.namespace ? `${o.namespace}/${o.name}` : o.name)

// The heading of a page: it gets the focus when the address changes, so that screen readers announce the page.
export function Heading({children}) {
  attention.value // the title of the tab has it
  const heading = useRef()
  useEffect(() => {
    heading.current.focus({preventScroll: true})
    scrollTo(0, 0)
  }, [])
  useEffect(() => {
    document.title = `${attention.value ? `(${attention.value}) ` : ''}${heading.current.textContent} · Groundskeeper`
  })
  return <h1 ref={heading} tabIndex={-1}>{children}</h1>
}

// A link to a page of the documentation, which the console serves.
export function Docs({page, about}) {
  return page ? <a href={`/docs/${page}`} target="_blank" aria-label={`Docs about ${about}`}>Docs</a> : null
}

// What is shown while data is loading: neither empty nor an error.
export function Skeleton({rows = 3}) {
  return <div class="skeleton" role="status" aria-busy="true"><span class="hidden">Loading.</span>{Array.from({length: rows}, (_, i) => <span key={i} class="bone" />)}</div>
}

export function Problem({children}) {
  return <p class="problem" role="note">{children}</p>
}

// Why the state of a kind is unknown, or since when it is not current.
export function Unknown({checked: {problem, since}}) {
  return <p class="problem" role="note">{since && <>Not current: the server responded last <Time at={since} />. </>}{problem}</p>
}

// A list that renders more on request: thousands of rows would be slow.
export function Limited({name, items, step = 100, children, columns}) {
  const [limit, setLimit] = useState(step)
  const body = useRef()
  // On a phone, where the columns have no heads, each cell has its own.
  useEffect(() => {
    const used = columns.map(() => false)
    for (const row of body.current.rows) {
      [...row.cells].forEach((cell, i) => {
        cell.dataset.label = columns[i]
        used[i] ||= cell.textContent !== ''
      })
    }
    // A column in which no row has anything is not shown.
    for (const row of body.current.parentElement.rows) [...row.cells].forEach((cell, i) => (cell.hidden = !used[i]))
  })
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={name}>
        <table>
          <thead><tr>{columns.map((c) => <th scope="col" key={c}>{c}</th>)}</tr></thead>
          <tbody ref={body}>{items.slice(0, limit).map(children)}</tbody>
        </table>
      </div>
      {items.length > limit && <button type="button" onClick={() => setLimit(limit + step)}>Show more: {items.length - limit} are not shown</button>}
    </>
  )
}

// Data of the console at an address, read again when a dependency changes. The last data stays while an error is shown.
export function useData(address, dependency) {
  const [state, setState] = useState({address: null})
  const pending = useRef(null)
  const end = () => {
    const request = pending.current
    pending.current = null
    request?.abort.abort()
  }
  useEffect(() => end, [])
  useEffect(() => {
    // A change waits for the response that is on its way: aborted each time, one that takes longer than the interval would never come.
    if (pending.current?.address === address) {
      pending.current.again = true
      return
    }
    end()
    const begin = () => {
      const request = {address, abort: new AbortController(), again: false}
      const ended = (next) => {
        if (pending.current !== request) return
        pending.current = null
        setState(next)
        if (request.again) begin()
      }
      pending.current = request
      read(address, request.abort.signal).then(
        (data) => ended({address, data}),
        (error) => ended((before) => ({address, error: error.message, data: before.address === address ? before.data : undefined})),
      )
    }
    begin()
  }, [address, dependency])
  return state.address === address ? state : {}
}

// A command to run in a terminal, which a click copies.
export function Copy({command}) {
  const [copied, setCopied] = useState('')
  const copy = () => navigator.clipboard.writeText(command).then(() => setCopied('copied'), () => setCopied('the browser does not allow it'))
  return <span class="copy"><code>{command}</code> <button type="button" onClick={copy} aria-label={`Copy ${command}`}>Copy</button> <span role="status">{copied}</span></span>
}
