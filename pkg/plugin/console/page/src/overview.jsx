// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {listOf} from './list.jsx'
import {Docs, Heading, Level, Limited, Problem, Skeleton, Time, Unknown, href, label, rank, worst} from './parts.jsx'
import {overview, sorted} from './state.js'

const levels = {Warning: 'needs attention', InProgress: 'in progress', Info: 'note'}

// The address of the overview with a filter changed: a filter without a value is none.
function filtered(query, change) {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(change)) value ? next.set(name, value) : next.delete(name)
  return `#/${next.size ? `?${next}` : ''}`
}

function Kind({checked, query}) {
  const {name, count, problem, warnings, inProgress, loading, since, other} = checked
  const selected = query.get('kind') === name
  const counted = (n, level, text) => n > 0 && <><a href={filtered(query, {kind: name, state: level})}>{n} {text}</a> </>
  return (
    <li class={`card ${problem ? 'unknown' : warnings ? 'warning' : inProgress ? 'progress' : ''}`}>
      <div class="kind">
        <a class="name" href={filtered(query, {kind: selected ? '' : name, state: ''})} aria-current={selected ? 'true' : undefined}>{name}</a>
        {other ? <span class="count">{problem ? '?' : count}</span>
          : <a class="count" href={listOf({kind: name})} aria-label={`List of ${name}: ${count}`}>{loading ? '…' : problem && !since ? '?' : count}</a>}
      </div>
      {problem ? <Unknown checked={checked} />
        : loading ? <Skeleton rows={1} />
        : <p>{counted(warnings, 'Warning', warnings === 1 ? 'needs attention' : 'need attention')}{counted(inProgress, 'InProgress', 'in progress')}
            {!warnings && !inProgress && (count ? 'ok' : 'none')}</p>}
    </li>
  )
}

// The strip with the state of the installation: what does not work is shown, what works is behind a summary.
function Health({health}) {
  if (!health) return <Skeleton rows={1} />
  const parts = (health.checked ?? []).map((c) => ({...c, failed: health.findings?.find((f) => f.kind === c.name)}))
  const ok = parts.filter((c) => !c.problem && !c.failed)
  return (
    <section class="health" aria-label="Installation">
      <ul>
        {parts.filter((c) => c.problem || c.failed).map((c) => (
          <li key={c.name}>
            <span class={`level ${c.problem ? 'unknown' : 'warning'}`}>{c.problem ? 'unknown' : 'failed'}</span> {c.name}: {c.problem || c.failed.message}
          </li>
        ))}
      </ul>
      <details>
        <summary><span class="level ok">ok</span> {ok.length} of {parts.length} parts of the installation work</summary>
        <ul>{ok.map((c) => <li key={c.name}>{c.name}</li>)}</ul>
      </details>
    </section>
  )
}

function Filters({query, rows}) {
  const namespaces = [...new Set(rows.map((row) => row.namespace).filter(Boolean))].sort()
  const set = (name) => (event) => location.replace(filtered(query, {[name]: event.target.value}))
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>State <select value={query.get('state') ?? ''} onChange={set('state')}>
        <option value="">all</option>
        {Object.entries(levels).map(([level, text]) => <option key={level} value={level}>{text}</option>)}
      </select></label>
      <label>Namespace <select value={query.get('namespace') ?? ''} onChange={set('namespace')}>
        <option value="">all</option>
        {namespaces.map((name) => <option key={name}>{name}</option>)}
      </select></label>
      <label>Text <input type="search" value={query.get('q') ?? ''} onInput={set('q')} /></label>
      {query.size > 0 && <a href="#/">Clear the filters</a>}
    </form>
  )
}

function selects(query) {
  const [kind, namespace, state] = ['kind', 'namespace', 'state'].map((name) => query.get(name))
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return (row) => {
    if (kind && row.kind !== kind || namespace && row.namespace !== namespace || state && worst(row).level !== state) return false
    const text = [row.kind, label(row), ...row.findings.map((f) => f.message)].join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  }
}

// What the strip shows in the words of "check" is left out of the other findings of "status".
const inStrip = ['Installation', 'controller manager']

const docs = {'Local volumes': 'local-volumes.md', Namespaces: 'projects.md', Policies: 'admission.md'}

// The findings that are about no object of Groundskeeper, as rows.
function others(findings = []) {
  const rows = new Map()
  for (const f of findings.filter((f) => !inStrip.includes(f.kind))) {
    const key = `${f.kind}/${f.namespace ?? ''}/${f.name}`
    const row = rows.get(key) ?? {key, kind: f.kind, namespace: f.namespace, name: f.name, findings: [], docs: docs[f.kind], other: true}
    row.findings.push(f)
    rows.set(key, row)
  }
  return [...rows.values()]
}

// An object on its page. What is recorded about local volumes is on a page of its own.
function Named({row}) {
  if (row.kind === 'Local volumes') return <a href="#/lost-nodes">{label(row)}</a>
  return row.other ? label(row) : <a href={href(row.key)}>{label(row)}</a>
}

export function Overview({query}) {
  const state = overview.value
  if (!state) return <><Heading>Overview</Heading><Skeleton rows={8} /></>
  // The most important ones first, of these the newest change.
  const all = [...others(state.others), ...sorted.value]
  const shown = all.filter(selects(query)).sort((a, b) => rank(worst(b).level) - rank(worst(a).level))
  return (
    <>
      <Heading>Overview</Heading>
      {state.namespace && <p>Only namespace <code>{state.namespace}</code>.</p>}
      <Health health={state.health} />
      {state.checked.length === 0 && <Problem>This cluster serves no kind of Groundskeeper: is it installed?</Problem>}
      <ul class="cards" aria-label="Kinds">
        {state.checked.filter((c) => !c.other || c.problem || !inStrip.includes(c.name) && (c.warnings || c.inProgress)).map((c) => <Kind key={c.name} checked={c} query={query} />)}
      </ul>
      <h2>Findings{query.get('kind') && ` about ${query.get('kind')}`}</h2>
      <Filters query={query} rows={all} />
      {shown.length === 0 ? state.checked.some((c) => c.loading) ? <Skeleton /> : <p>{query.size > 0 ? 'No finding matches the filters.' : 'There are no findings.'}</p> : (
        <Limited name="Findings" items={shown} columns={['State', 'Kind', 'Object', 'Finding', 'Changed']}>
          {(row) => (
            <tr key={row.key}>
              <td><Level level={worst(row).level} /></td>
              <td>{row.kind}</td>
              <td class="object"><Named row={row} /></td>
              <td>{worst(row).message}{row.findings.length > 1 && !row.other && <> <a href={href(row.key)} aria-label={`${row.findings.length - 1} more about ${label(row)}`}>+{row.findings.length - 1}</a></>} <Docs page={row.docs} about={label(row)} /></td>
              <td>{row.since && <Time at={row.since} />}</td>
            </tr>
          )}
        </Limited>
      )}
    </>
  )
}
