// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {Heading, Level, Limited, Problem, Skeleton, Time, useData} from './parts.jsx'
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
      {!data && !error && <Skeleton />}
    </>
  )
}

function Nodes({data}) {
  const {nodes = [], volumes = []} = data
  const kept = volumes.filter((v) => v.reason)
  const about = (name) => data.findings?.filter((f) => f.name === name) ?? []
  return (
    <>
      {data.problems.map((p) => <Problem key={p}>{p}</Problem>)}
      {about('deletions').map((f) => <Problem key={f.message}>{f.message}</Problem>)}
      {data.dryRun && <p>Dry run: nothing is deleted.</p>}
      {data.acknowledged && <p>Up to {data.acknowledged} missing nodes are acknowledged.</p>}
      {data.confirmed && nodes.length > 0 && <p><Time at={data.confirmed} prefix="Confirmed to be missing " />.</p>}
      {!nodes.length && !data.problems.length && <p>No node with local volumes of this cluster is missing.</p>}
      {nodes.map((n) => <Node node={n} findings={about(`node/${n.name}`)} volumes={volumes.filter((v) => v.nodes?.includes(n.name))} waiting={data.waiting} key={n.name} />)}
      {about('nodes').map((f) => <p key={f.message}>{f.message}.</p>)}
      {kept.length > 0 && (
        <section class="panel">
          <h2>Volumes that are retained</h2>
          <Limited name="Volumes that are retained" items={kept} columns={['Volume', 'Claim', 'Why']}>
            {(v) => <tr key={v.name}><td>{v.name}</td><td>{v.claim}</td><td>{about(`pv/${v.name}`).map((f) => <><Level level={f.level} /> {f.message}</>)}</td></tr>}
          </Limited>
        </section>
      )}
      {about('volumes').map((f) => <p key={f.message}>{f.message}</p>)}
    </>
  )
}

function Node({node, findings, volumes, waiting}) {
  const pods = volumes.flatMap((v) => waiting[v.claim] || [])
  return (
    <section class="panel">
      <h2>{node.name}</h2>
      {findings.map((f) => <p key={f.message} title={`Since ${new Date(node.since).toLocaleString()}`}><Level level={f.level} /> {f.message}</p>)}
      {volumes.length > 0 && (
        <Limited name={`Volumes of ${node.name}`} items={volumes} columns={['Volume', 'Claim', 'Deletion of the volume', 'Deletion of the claim']}>
          {(v) => <tr key={v.name}><td>{v.name}</td><td>{v.claim}</td><td><Deletion due={v.volumeDue} kept={v.volumeKept} /></td><td><Deletion due={v.claimDue} kept={v.claimKept} /></td></tr>}
        </Limited>
      )}
      {pods.length > 0 && <p>Pods that wait: {pods.join(', ')}</p>}
    </section>
  )
}

const Deletion = ({due, kept}) => due ? <Time at={due} /> : kept ? <>retained: {kept}</> : null
