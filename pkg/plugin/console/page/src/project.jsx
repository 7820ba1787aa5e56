// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {listOf} from './list.jsx'
import {Problem, Time} from './parts.jsx'
import {now} from './state.js'

const width = 900
const margin = 20

// The life of a Project as a line, with now on it. Points that are close to each other get labels at different heights.
function Life({points}) {
  const times = [...points.map((p) => +new Date(p.at)), now.value]
  const from = Math.min(...times)
  const span = Math.max(...times) - from || 1
  const x = (t) => margin + ((t - from) / span) * (width - 2 * margin)
  const end = x(now.value)
  return (
    <figure>
      <svg class="life" viewBox={`0 0 ${width} 80`} role="img" aria-label="Life of the Project; the list below has the dates">
        <line x1={margin} y1="25" x2={end} y2="25" class="past" />
        <line x1={end} y1="25" x2={width - margin} y2="25" class="future" />
        <line x1={end} y1="10" x2={end} y2="40" class="now" />
        {points.map((p) => <circle key={p.name} cx={x(+new Date(p.at))} cy="25" r="6" class={/delet/.test(p.name) ? 'end' : ''}><title>{p.name}</title></circle>)}
        {points.map((p, i) => {
          const at = x(+new Date(p.at))
          return <text key={p.name} x={at} y={i % 2 ? 72 : 54} text-anchor={at < 100 ? 'start' : at > width - 100 ? 'end' : 'middle'}>{p.name}</text>
        })}
      </svg>
      <figcaption>
        <ol class="points">{points.map((p) => <li key={p.name}>{p.name} <Time at={p.at} /></li>)}</ol>
      </figcaption>
    </figure>
  )
}

export function Project({p}) {
  const roles = new Map()
  for (const m of p.members) for (const role of m.roles) roles.set(role, [...(roles.get(role) ?? []), `${m.name} (${m.kind})`])
  return (
    <>
      <h2>Life</h2>
      <Life points={p.life} />
      {p.remedy && <p><strong>What saves it:</strong> {p.remedy}</p>}
      <h2>Project</h2>
      <dl>
        <dt>Namespace</dt><dd>{p.namespace ? <a href={listOf({namespace: p.namespace})}>{p.namespace}</a> : 'none yet'}</dd>
        {p.owner && <><dt>Owner</dt><dd>{p.owner}</dd></>}
        {p.purpose && <><dt>Purpose</dt><dd>{p.purpose}</dd></>}
        {p.description && <><dt>Description</dt><dd>{p.description}</dd></>}
        {[...roles].map(([role, members]) => <><dt>{role}</dt><dd>{members.join(', ')}</dd></>)}
        {p.contents.map((c) => <><dt>{c.kind}</dt><dd>{c.problem ? `unknown: ${c.problem}` : <a href={listOf({kind: c.kind, namespace: p.namespace})} aria-label={`${c.count} ${c.kind}`}>{c.count}</a>}</dd></>)}
      </dl>
      <h2>Quota</h2>
      {p.quotasProblem && <Problem>{p.quotasProblem}</Problem>}
      {p.quotas.length > 0 ? (
        <ul class="quotas">{p.quotas.map((q) => (
          <li key={q.resource}><label for={`quota-${q.resource}`}>{q.resource}</label><progress id={`quota-${q.resource}`} max="100" value={q.percent} class={q.percent >= 90 ? 'full' : ''} /><span>{q.used} of {q.hard}</span></li>
        ))}</ul>
      ) : !p.quotasProblem && <p>The namespace has no quota.</p>}
    </>
  )
}
