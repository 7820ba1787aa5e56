// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {useEffect, useRef, useState} from 'preact/hooks'
import {Heading, Limited, Problem, Skeleton, Unknown, href, label, useData} from './parts.jsx'
import {now, overview} from './state.js'
import {Sankey, routeOf} from './sankey.jsx'

// The console computes the flows from what it watches; the page reads them every two seconds.
const interval = 2000

const percent = (part) => `${Math.round(100 * part)} %`
const part = (r, l, which) => percent(l[which] / (r.kind ? 1 : r.links.reduce((sum, other) => sum + other.wanted, 0) || 1))

const states = {
  fails: 'requests get errors', missing: 'no such Service or port', empty: 'no ready endpoint',
  kept: 'keeps sending to it, there is no other backend', alone: 'no other backend',
}

const verb = {Maintenance: 'drained', Enabled: 'back in service'}

const address = (query) => `#/backends?${new URLSearchParams(Object.entries(query).filter(([, value]) => value))}`

export function Backends({query}) {
  const selected = {q: query.get('q') ?? '', backend: query.get('backend') ?? '', if: query.get('if') ?? '', group: query.get('group') ?? ''}
  const {data, error} = useData(`/api/flows?${new URLSearchParams(selected)}`, Math.floor(now.value / interval))
  const last = useRef() // stays while a user types, so that the field keeps the focus
  if (data) last.current = data
  const backends = overview.value?.checked.find((c) => c.name === 'DiscoveryBackends')
  return (
    <>
      <Heading>Backends</Heading>
      {backends?.problem && <Unknown checked={backends} />}
      {error && <Problem>{error}{last.current && ' What is shown is from before.'}</Problem>}
      {last.current ? <Flows data={last.current} selected={selected} /> : !error && <Skeleton />}
    </>
  )
}

function Flows({data, selected}) {
  const {backends, routes, whatIf} = data
  const [only, isolate] = useState(null)
  useEffect(() => {
    const all = (event) => event.key === 'Escape' && isolate(null)
    addEventListener('keydown', all)
    return () => removeEventListener('keydown', all)
  }, [])
  const parts = routes.flatMap((r) => r.links.map((l) => ({r, l}))).filter(({r, l}) => !only || [routeOf(r), l.service, l.backend || 'no backend'][only.column] === only.id)
  return (
    <>
      {data.problems.map((p) => <Problem key={p}>{p}</Problem>)}
      {data.notes.map((n) => <p key={n}>{n}</p>)}
      {backends.length > 0 ? <Table backends={backends} selected={selected} /> : !data.problems.length && <p>There is no DiscoveryBackend.</p>}
      {whatIf && <WhatIf w={whatIf} selected={selected} />}
      <h2>Routes{selected.backend && ` of ${selected.backend}`}</h2>
      <form role="search" aria-label="Routes" onSubmit={(e) => e.preventDefault()}>
        <input type="search" aria-label="Filter routes by kind, namespace, name and Service" placeholder="Filter routes" value={selected.q}
          onInput={(e) => location.replace(address({...selected, q: e.target.value}))} />
        {selected.backend && <> <a href={address({...selected, backend: '', if: ''})}>routes of all backends</a></>}
        {' '}<a href={address({...selected, group: selected.group ? '' : 'namespace'})}>{selected.group ? 'each route' : 'group by namespace'}</a>
        {only && <> <button type="button" onClick={() => isolate(null)}>Show all, not only {only.id || 'the others'}</button></>}
      </form>
      {routes.length === 0 ? <p>No route refers to a Service of a backend{selected.q && ` with ${selected.q}`}.</p> : (
        <>
          <p>{whatIf ? 'Widths are what each target would get.' : 'Widths are what each target gets by the weights of the routes.'} Dashed is
            what users want where that is different. {whatIf ? 'Red are requests that would get errors.' : 'Red are routes without another backend.'}
            {data.total > routes.length && ` The first ${routes.length} of ${data.total} ${selected.group ? 'namespaces' : 'routes'} are drawn.`} Select a name to see only what is connected to it.</p>
          <div class="beside">
            <Sankey data={data} only={only} isolate={isolate} />
          <Limited name="Parts of the requests" items={parts} columns={['Route', 'Service', 'Backend', 'Now', 'Wanted', whatIf ? 'Then' : 'Next', 'State']}>
            {({r, l}) => (
              <tr key={r.kind + label(r) + l.service}>
                <td>{routeOf(r)}</td><td>{l.service}</td><td>{l.backend || 'none'}</td>
                <td>{part(r, l, 'now')}</td><td>{part(r, l, 'wanted')}</td><td>{part(r, l, 'next')}</td>
                <td>{states[l.state] ?? ''}{r.lost && ' the saved weights were lost'}</td>
              </tr>
            )}
          </Limited>
          </div>
        </>
      )}
    </>
  )
}

function Table({backends, selected}) {
  return (
    <Limited name="Backends" items={backends} columns={['Backend', 'State', 'Routes', 'Without another backend', 'Progress', 'What if']}>
      {(b) => {
        const to = b.status === 'Maintenance' ? 'Enabled' : 'Maintenance'
        return (
          <tr key={b.name}>
            <td>{b.key ? <a href={href(b.key)}>{b.name}</a> : `${b.name} (does not exist)`}</td>
            <td>{b.status}{b.reason && b.reason !== 'Enabled' && `: ${b.reason}`}</td>
            <td><a href={address({q: selected.q, backend: b.name})} aria-label={`${b.routes} routes of ${b.name}`}>{b.routes}</a></td>
            <td>{b.alone}</td>
            <td>
              {b.status === 'Maintenance' && b.matching > 0 && (
                <label>{b.drained} of {b.matching} routes are drained <progress max={b.matching} value={b.drained} /> </label>
              )}
              {b.percent !== undefined && `${b.percent} % of its share. `}
              {b.reason && b.reason !== 'Enabled' && b.message}
            </td>
            <td>{b.key && <a href={address({backend: b.name, if: to})}>{b.name} were {verb[to]}</a>}</td>
          </tr>
        )
      }}
    </Limited>
  )
}

function Outcome({named, children}) {
  if (!named.count) return null
  return (
    <li>
      {named.count === 1 ? '1 route' : `${named.count} routes`} {children}: {named.names.join(', ')}{named.count > named.names.length && ` and ${named.count - named.names.length} more`}
    </li>
  )
}

function WhatIf({w, selected}) {
  const drained = w.status === 'Maintenance'
  const same = w.routes - w.fails.count - w.keeps.count - w.moves.count
  return (
    <section class="panel" aria-label="What if">
      <h2>If {w.backend} were {verb[w.status]}</h2>
      <ul>
        <Outcome named={w.fails}><strong>would return errors</strong></Outcome>
        <Outcome named={w.keeps}>would keep sending to it, because the backend keeps routes that have no other one</Outcome>
        <Outcome named={w.moves}>{drained ? 'would send to other targets' : 'would send to it as users want'}</Outcome>
        {same > 0 && <li>{same === 1 ? '1 route' : `${same} routes`} would not change.</li>}
        {w.routes === 0 && <li>No route refers to it.</li>}
      </ul>
      <p>Nothing is changed. <a href={address({q: selected.q, backend: w.backend})}>Show the routes as they are</a></p>
    </section>
  )
}
