// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {Heading, Limited, Problem, Time, useData} from './parts.jsx'
import {now} from './state.js'

// The record of lost nodes is read every five seconds while the page shows it.
const interval = 5000

export function LostNodes() {
  const {data, error} = useData('/api/lost-nodes', Math.floor(now.value / interval))
  return (
    <>
      <Heading>Lost nodes</Heading>
      {error && <Problem>{error}</Problem>}
      {data && <Nodes data={data} />}
      {!data && !error && <p>Loading.</p>}
    </>
  )
}

function Nodes({data}) {
  return (
    <>
      {data.problems.map((p) => <Problem key={p}>{p}</Problem>)}
      {data.brake && <Problem>The brake is engaged, nothing is deleted: {data.brake}</Problem>}
      {data.acknowledged && <p>Up to {data.acknowledged} missing nodes are acknowledged.</p>}
      {data.confirmed && data.nodes.length > 0 && <p><Time at={data.confirmed} prefix="Confirmed to be missing " />.</p>}
      {!data.nodes.length && !data.problems.length && <p>No node with local volumes of this cluster is missing.</p>}
      {data.nodes.map((n) => (
        <section class="panel" key={n.name}>
          <h2>{n.name}</h2>
          <p>
            <Time at={n.since} prefix="Lost " />
            {n.due && (new Date(n.due) > now.value ? <>; its claims are deleted <strong><Time at={n.due} /></strong></> : <>; the deletion of its claims was due <Time at={n.due} /></>)}.
          </p>
          {n.volumes.length > 0 && (
            <Limited name={`Volumes of ${n.name}`} items={n.volumes} columns={['Volume', 'Phase', 'Class', 'Capacity', 'Claim']}>
              {(v) => <tr key={v.name}><td>{v.name}</td><td>{v.phase}</td><td>{v.class}</td><td>{v.capacity}</td><td>{v.claim}</td></tr>}
            </Limited>
          )}
          {n.waiting.length > 0 && <p>Pods that wait: {n.waiting.join(', ')}</p>}
        </section>
      ))}
    </>
  )
}
