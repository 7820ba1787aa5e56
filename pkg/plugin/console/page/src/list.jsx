// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// The lists of all objects and of one kind. The console orders them, and the page reads and draws only the window that is on the
// screen: a list of 26,000 objects is as fast as one of ten.
import {useEffect, useRef, useState} from 'preact/hooks'
import {Heading, Level, Problem, Skeleton, Time, Unknown, href, label, useData} from './parts.jsx'
import {overview, touched} from './state.js'

const page = 50 // objects that are read at once, twice, so that the window is always within what was read
const heights = {wide: 37, narrow: 180} // of a row, as the style sheet has it

// The address of a list with some of its parameters changed.
function changed(query, change) {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(change)) value ? next.set(name, value) : next.delete(name)
  return `#/list${next.size ? `?${next}` : ''}`
}

export const listOf = (parameters) => changed('', parameters)

const columns = {
  kind: ['Kind', (f) => f.kind],
  namespace: ['Namespace', (f, query) => f.namespace && <a href={changed(query, {namespace: f.namespace})} tabIndex={-1}>{f.namespace}</a>],
  name: ['Name', (f) => <a href={href(f.key)} tabIndex={-1} title={label(f)}>{f.title || f.name}</a>],
  state: ['State', (f) => f.state],
  findings: ['Findings', (f) => <Level level={f.level} />],
  age: ['Age', (f) => <Time at={f.createdAt} />],
}

export function List({query}) {
  const kinds = overview.value?.checked.filter((c) => !c.other) ?? []
  const [kind, namespace, text] = ['kind', 'namespace', 'q'].map((name) => query.get(name) ?? '')
  const kindNow = kinds.find((c) => c.name === kind)
  return (
    <>
      <Heading key={kind}>{kind || 'All objects'}</Heading>
      <nav aria-label="Kinds"><ul class="tabs">
        {[{name: ''}, ...kinds].map((c) => (
          <li key={c.name}><a href={changed(query, {kind: c.name})} aria-current={c.name === kind ? 'page' : undefined}>{c.name ? `${c.name} ${c.problem ? '?' : c.count}` : 'All'}</a></li>
        ))}
      </ul></nav>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>Text <input type="search" value={text} onInput={(e) => location.replace(changed(query, {q: e.target.value}))} /></label>
        {namespace && <span>Namespace {namespace} <a href={changed(query, {namespace: ''})}>all namespaces</a></span>}
      </form>
      {(kindNow ? [kindNow] : kinds).filter((c) => c.problem).map((c) => <Unknown key={c.name} checked={{...c, problem: `${c.name}: ${c.problem}`}} />)}
      {kind && overview.value && !kindNow ? <Problem>There is no kind {kind} here.</Problem> : <Objects query={query} loading={!overview.value || kinds.some((c) => c.loading && (!kind || c.name === kind))} />}
    </>
  )
}

function Objects({query, loading}) {
  const [top, setTop] = useState(0)
  const [active, setActive] = useState(-1)
  const area = useRef()
  const [height, narrow] = useSize(area)
  const row = narrow ? heights.narrow : heights.wide
  const first = Math.floor(top / row)
  const from = Math.max(0, Math.floor(first / page - 0.5) * page)
  const parameters = new URLSearchParams(query)
  if (!parameters.has('sort')) parameters.set('sort', 'name')
  parameters.set('from', from)
  parameters.set('limit', 4 * page)
  const {data, error} = useData(`/api/search?${parameters}`, touched.value)
  const last = useRef({from: 0, found: [], total: 0}) // what was read before is drawn until the next window is here
  if (data) last.current = {from, ...data}
  const {total} = last.current
  const shown = Math.min(total - first, Math.ceil(height / row) + 1)
  const order = parameters.get('sort')
  const heads = Object.entries(columns).filter(([name]) => name !== 'kind' || !query.get('kind')).filter(([name]) => name !== 'namespace' || query.get('kind') !== 'Projects')

  useEffect(() => { // another list begins at its top
    setActive(-1)
    if (area.current) area.current.scrollTop = 0
  }, [query.toString()])
  const move = (to) => {
    const next = Math.max(0, Math.min(total - 1, to))
    setActive(next)
    const a = area.current
    if (next * row < a.scrollTop) a.scrollTop = next * row
    else if ((next + 2) * row > a.scrollTop + a.clientHeight) a.scrollTop = (next + 2) * row - a.clientHeight
  }
  const keys = (event) => {
    const step = Math.max(1, Math.floor(height / row) - 2)
    const to = {ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1, PageDown: active + step, PageUp: active - step, Home: 0, End: total - 1}[event.key]
    const object = last.current.found[active - last.current.from]
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== area.current) return
    if (to !== undefined) move(to)
    else if (event.key === 'Enter' && object) location.hash = href(object.key).slice(1)
    else return
    event.preventDefault()
  }
  const rows = []
  for (let i = first; i < first + shown; i++) rows.push([i, last.current.found[i - last.current.from]])
  if (!data && !error && !last.current.found.length || loading && !total) return <Skeleton rows={8} />
  return (
    <>
      {error && <Problem>{error}{total > 0 && ' What is shown is from before.'}</Problem>}
      <p role="status">{total} {total === 1 ? 'object' : 'objects'}{query.get('q') && ` with ${query.get('q')}`}{loading && ', others are being read'}.</p>
      <p class="narrow"><label>Order <select value={order} onChange={(e) => location.replace(changed(query, {sort: e.target.value}))}>
        {heads.flatMap(([name, [title]]) => [<option key={name} value={name}>{title}</option>, <option key={`-${name}`} value={`-${name}`}>{title}, reversed</option>])}
      </select></label></p>
      {total > 0 && (
        <div class="window" ref={area} tabIndex={0} role="region" aria-label="Objects: the arrow keys move, Enter opens" onKeyDown={keys} onScroll={(e) => setTop(e.target.scrollTop)}>
          <table role="grid" aria-label={query.get('kind') || 'All objects'} aria-rowcount={total + 1}>
            <thead><tr aria-rowindex={1}>{heads.map(([name, [title]]) => (
              <th scope="col" key={name} class={name} aria-sort={order === name ? 'ascending' : order === `-${name}` ? 'descending' : undefined}>
                <a href={changed(query, {sort: order === name ? `-${name}` : name})}>{title}{order === name ? ' ▲' : order === `-${name}` ? ' ▼' : ''}</a>
              </th>
            ))}</tr></thead>
            <tbody>
              <tr class="space" aria-hidden="true" style={{height: `${first * row}px`}} />
              {rows.map(([i, f]) => (
                <tr key={i} aria-rowindex={i + 2} aria-selected={i === active} onClick={() => setActive(i)}>
                  {heads.map(([name, [title, cell]]) => <td key={name} class={name} data-label={title}>{f ? cell(f, query) : <span class="bone" />}</td>)}
                </tr>
              ))}
              <tr class="space" aria-hidden="true" style={{height: `${Math.max(0, total - first - shown) * row}px`}} />
            </tbody>
          </table>
          <p class="hidden" role="status">{active >= 0 && last.current.found[active - last.current.from] ? `${active + 1}: ${label(last.current.found[active - last.current.from])}` : ''}</p>
        </div>
      )}
    </>
  )
}

// The height of the area of the list, and whether its rows are cards.
function useSize(area) {
  const narrow = matchMedia('(max-width: 700px)')
  const [size, setSize] = useState([innerHeight, narrow.matches])
  useEffect(() => {
    const measure = () => setSize([area.current?.clientHeight || innerHeight, narrow.matches])
    measure()
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  return size
}
