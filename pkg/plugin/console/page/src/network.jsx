// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {useState} from 'preact/hooks'
import {Heading, Limited, Problem, Skeleton, State, href, levels, useData} from './parts.jsx'
import {now} from './state.js'
import {Graph} from './graph.jsx'

// The Translations of one object are read every five seconds while the page shows them.
const interval = 5000

export function NetworkPage({query}) {
  const kind = query.get('kind') ?? ''
  const name = query.get('name') ?? ''
  const namespace = query.get('namespace') ?? ''
  return (
    <>
      <Heading>Network</Heading>
      <Selection key={`${kind}/${namespace}/${name}`} kind={kind} object={namespace ? `${namespace}/${name}` : name} />
      {name ? <Network query={new URLSearchParams({kind, namespace, name})} title={`${kind} ${namespace ? `${namespace}/` : ''}${name}`} /> : <p>Select a Service, a Node or a Pod to see what it became in the backend network.</p>}
    </>
  )
}

function Selection({kind, object}) {
  const [selected, setSelected] = useState({kind: kind || 'Service', object})
  const show = (event) => {
    event.preventDefault()
    const [first, second] = selected.object.trim().split('/')
    const [namespace, name] = selected.kind === 'Node' ? ['', second ?? first] : second === undefined ? ['default', first] : [first, second]
    location.hash = `/network?${new URLSearchParams({kind: selected.kind, namespace, name})}`
  }
  return (
    <form onSubmit={show} class="actions">
      <select aria-label="Kind" value={selected.kind} onChange={(e) => setSelected({...selected, kind: e.target.value})}>
        {['Service', 'Node', 'Pod'].map((k) => <option key={k}>{k}</option>)}
      </select>
      <input aria-label="Namespace and name" placeholder={selected.kind === 'Node' ? 'NAME' : 'NAMESPACE/NAME'} value={selected.object} onInput={(e) => setSelected({...selected, object: e.target.value})} />
      <button type="submit">Show</button>
    </form>
  )
}

function Network({query, title}) {
  const {data, error} = useData(`/api/network?${query}`, Math.floor(now.value / interval))
  if (!data) return error ? <Problem>{error}</Problem> : <Skeleton />
  const wrong = data.nodes.filter((n) => levels[n.state] === 'warning').length
  return (
    <>
      {error && <Problem>{error} What is shown is from before.</Problem>}
      {data.problems.map((p) => <Problem key={p}>{p}</Problem>)}
      <h2>{title}</h2>
      {data.translations === 0 && <p>It has no Translation.</p>}
      {data.nodes.length > 0 && (
        <>
          <p>{data.nodes.length} resources{wrong > 0 && <>, <strong>{wrong} {wrong === 1 ? 'needs' : 'need'} attention</strong></>}. An arrow leads to what a resource refers to.
            Resources of the {title.split(' ')[0]} have a thick border, those of {data.neighbours.length} connected objects and of the whole cluster a thin one.
            {data.omitted > 0 && ` ${data.omitted} more objects are connected to it and not shown.`}</p>
          <Graph nodes={data.nodes} edges={data.edges} />
          <Limited name="Resources" items={data.nodes} columns={['State', 'Kind', 'Name', 'Made of', 'Translation', 'Message']}>
            {(n) => (
              <tr key={n.id}>
                <td><State state={n.state} /></td><td>{n.kind}</td><td>{n.name}</td><td>{n.owner || (n.translation ? 'the cluster' : '')}</td>
                <td>{n.translation && <a href={href(n.translation)}>{n.translation.split('/').slice(1).join('/')}</a>}</td><td>{n.message}</td>
              </tr>
            )}
          </Limited>
        </>
      )}
    </>
  )
}
