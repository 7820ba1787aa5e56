// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {useState} from 'preact/hooks'
import {Heading, Level, Limited, Problem, Time, Unknown, href, label} from './parts.jsx'
import {overview, sorted} from './state.js'

function Kind({checked, selected, select}) {
  const {name, count, problem, warnings, inProgress, loading, since} = checked
  return (
    <li class={`card ${problem ? 'unknown' : warnings ? 'warning' : inProgress ? 'progress' : ''}`}>
      <button type="button" aria-pressed={selected} onClick={select}>
        <span class="name">{name}</span>
        <span class="count">{loading ? '…' : problem && !since ? '?' : count}</span>
      </button>
      {problem ? <Unknown checked={checked} />
        : loading ? <p>loading</p>
        : <p>{warnings > 0 && <strong>{warnings} {warnings === 1 ? 'needs' : 'need'} attention</strong>}{warnings > 0 && inProgress > 0 && ', '}
            {inProgress > 0 && `${inProgress} in progress`}{!warnings && !inProgress && (count ? 'ok' : 'none')}</p>}
    </li>
  )
}

function Health({health}) {
  if (!health) return <p>The installation is being checked.</p>
  return (
    <ul class="health">
      {health.checked?.map((c) => {
        const failed = health.findings?.find((f) => f.kind === c.name)
        return (
          <li key={c.name}>
            {c.problem ? <span class="level unknown">unknown</span> : <span class={`level ${failed ? 'warning' : 'ok'}`}>{failed ? 'failed' : 'ok'}</span>}
            {' '}{c.name}{(c.problem || failed) && `: ${c.problem || failed.message}`}
          </li>
        )
      })}
    </ul>
  )
}

export function Overview() {
  const [only, setOnly] = useState('')
  const [warnings, setWarnings] = useState(false)
  const state = overview.value
  if (!state) return <><Heading>Overview</Heading><p>Connecting to the console.</p></>
  const shown = sorted.value.filter((row) => (!only || row.kind === only) && (!warnings || row.findings.some((f) => f.level === 'Warning')))
  const absent = state.checked.length === 0
  return (
    <>
      <Heading>Overview</Heading>
      {state.namespace && <p>Only namespace <code>{state.namespace}</code>.</p>}
      {absent && <Problem>This cluster serves no kind of Groundskeeper: is it installed?</Problem>}
      <ul class="cards" aria-label="Kinds">
        {state.checked.map((c) => <Kind key={c.name} checked={c} selected={only === c.name} select={() => setOnly(only === c.name ? '' : c.name)} />)}
      </ul>
      <h2>Findings{only && ` about ${only}`}</h2>
      <p><label><input type="checkbox" checked={warnings} onChange={(e) => setWarnings(e.target.checked)} /> only what needs attention</label></p>
      {state.policies?.map((f) => <Problem key={f.name}>{f.name}: {f.message}</Problem>)}
      {shown.length === 0 ? <p>{state.checked.some((c) => c.loading) ? 'Loading.' : 'There are no findings.'}</p> : (
        <Limited name="Findings" items={shown} columns={['Level', 'Kind', 'Object', 'Finding', 'Changed']}>
          {(row) => row.findings.map((f, i) => (
            <tr key={row.key + i}>
              <td><Level level={f.level} /></td>
              <td>{row.kind}</td>
              <td><a href={href(row.key)}>{label(row)}</a></td>
              <td>{f.message}</td>
              <td><Time at={row.since} /></td>
            </tr>
          ))}
        </Limited>
      )}
      <h2>Installation</h2>
      <Health health={state.health} />
    </>
  )
}
