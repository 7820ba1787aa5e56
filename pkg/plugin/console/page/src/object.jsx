// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {useEffect, useState} from 'preact/hooks'
import {Actions} from './actions.jsx'
import {Progress, Routes} from './deorbit.jsx'
import {listOf} from './list.jsx'
import {Copy, Docs, Heading, Level, Limited, Problem, Skeleton, State, Time, label, useData} from './parts.jsx'
import {Project} from './project.jsx'
import {connected, touched} from './state.js'

// A number that changes whenever the object does.
function useChanges(key) {
  const [count, setCount] = useState(0)
  const {keys, all} = touched.value
  useEffect(() => {
    if (all || keys.has(key)) setCount((n) => n + 1)
  }, [touched.value, key])
  return count
}

export function ObjectPage({id}) {
  const [kind, namespace = '', name = ''] = id.split('/') // names have no character that an address encodes
  const changes = useChanges(`${kind}/${namespace}/${name}`)
  const query = new URLSearchParams({kind, namespace, name})
  const on = `${kind}/${name}${namespace && ` -n ${namespace}`}`
  const {data, error} = useData(`/api/object?${query}`, `${changes} ${connected.value}`)
  return (
    <>
      <nav aria-label="Breadcrumbs"><ol class="crumbs">
        <li><a href="#/">Overview</a></li>
        {data && <li><a href={listOf({kind: data.kind})}>{data.kind}</a></li>}
        {namespace && <li><a href={listOf({namespace, ...data && {kind: data.kind}})}>{namespace}</a></li>}
      </ol></nav>
      <Heading>{kind} {namespace ? `${namespace}/${name}` : name}</Heading>
      {data?.title && <p>{data.title}</p>}
      <p class="actions"><Copy command={`kubectl groundskeeper why ${on}`} /><Copy command={`kubectl get ${on} -o yaml`} /></p>
      {error && <Problem>{error}{data && ' What is shown is from before.'}</Problem>}
      {data && <Details o={data} />}
      {!data && !error && <Skeleton />}
    </>
  )
}

function Details({o}) {
  return (
    <>
      <p>{o.state} · <Time at={o.createdAt} prefix="created " />{o.deletedAt && <> · <Time at={o.deletedAt} prefix="deletion requested " /></>}</p>
      <Actions o={o} />
      <h2>Why</h2>
      {o.findings?.length > 0 && <p>What to do: <Docs page={o.docs} about={o.kind} /></p>}
      {o.findings?.length ? (
        <ul class="findings">{o.findings.map((f) => (
          <li key={f.name + f.message}><Level level={f.level} /> {f.name !== o.name && `${f.kind} ${label(f)}: `}{f.message}</li>
        ))}</ul>
      ) : !o.problems && <p>Nothing blocks it.</p>}
      {o.problems?.map((p) => <Problem key={p}>{p}</Problem>)}
      {o.project && <Project p={o.project} />}
      {o.deorbit && <><h2>Deorbit</h2><Progress deorbit={o.deorbit} of={label(o)} /></>}
      {o.routeGC && <><h2>Route GC</h2><Routes gc={o.routeGC} of={label(o)} /></>}
      {o.backend && <Backend b={o.backend} name={o.name} />}
      {o.resources && (
        <>
          <h2>Resources in the backend network</h2>
          {o.owner && <p>Made of <a href={`#/network?${new URLSearchParams({kind: o.owner.kind, namespace: o.owner.namespace ?? '', name: o.owner.name})}`}>{o.owner.kind} {label(o.owner)}</a>, whose network is a graph there.</p>}
          <Limited name="Resources" items={o.resources} columns={['State', 'Kind', 'ID', 'Message']}>
            {(r) => <tr key={r.kind + r.id}><td><State state={r.state} /></td><td>{r.kind}</td><td>{r.id}</td><td>{r.message}</td></tr>}
          </Limited>
        </>
      )}
      <h2>Conditions</h2>
      {o.conditions?.length ? (
        <Limited name="Conditions" items={o.conditions} columns={['Type', 'Status', 'Reason', 'Message', 'Since']}>
          {(c) => <tr key={c.type}><td>{c.type}</td><td>{c.status}</td><td>{c.reason}</td><td>{c.message}</td><td><Time at={c.since} /></td></tr>}
        </Limited>
      ) : <p>It has no conditions yet.</p>}
      <h2>Events</h2>
      {o.eventsProblem && <Problem>{o.eventsProblem}</Problem>}
      {o.events.length > 0 ? (
        <Limited name="Events" items={o.events} columns={['Type', 'Reason', 'Message', 'Count', 'Last']}>
          {(e) => <tr key={e.at + e.reason + e.message}><td>{e.warning ? 'Warning' : 'Normal'}</td><td>{e.reason}</td><td>{e.message}</td><td>{e.count}</td><td><Time at={e.at} /></td></tr>}
        </Limited>
      ) : !o.eventsProblem && <p>There are no events.</p>}
    </>
  )
}

function Backend({b, name}) {
  return (
    <>
      <h2>Routes</h2>
      <p>Type {b.type}, {b.clusterStatus}. {b.services !== undefined && `${b.services} services, `}{b.endpoints !== undefined && `${b.endpoints} endpoints, `}{b.matching} routes.</p>
      {b.clusterStatus === 'Maintenance' && b.matching > 0 && (
        <p><label>{b.drained} of {b.matching} routes are drained <progress max={b.matching} value={b.drained} /></label></p>
      )}
      {b.alone > 0 && <Problem>{b.alone} routes have no other backend: {b.aloneNames?.join(', ')}{b.alone > (b.aloneNames?.length ?? 0) && ', …'}</Problem>}
      <p><a href={`#/backends?backend=${name}`}>Where its routes send requests</a>, <a href={`#/backends?backend=${name}&if=${b.clusterStatus === 'Maintenance' ? 'Enabled' : 'Maintenance'}`}>what if it were {b.clusterStatus === 'Maintenance' ? 'back in service' : 'drained'}</a></p>
    </>
  )
}
