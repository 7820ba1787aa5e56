// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {Heading, Level, Limited, Problem, Skeleton, Time, Unknown, duration, href, label, worst} from './parts.jsx'
import {now, overview, sorted} from './state.js'

// The stages of a Deorbit. The duration of a stage is known when the console observed its beginning and its end.
function Timeline({deorbit, of}) {
  return (
    <ol class="timeline" aria-label={`Stages of ${of}`}>
      {deorbit.stages.map((s) => {
        const end = s.endedAt ? new Date(s.endedAt) : s.state === 'current' ? now.value : null
        return (
          <li key={s.name} class={s.state} aria-current={s.state === 'current' ? 'step' : undefined}>
            <span class="stage">{s.name}</span>
            {s.state === 'current' && <Patience deorbit={deorbit} />}
            <span class="took">{s.startedAt && end ? duration(end - new Date(s.startedAt)) : s.state}</span>
          </li>
        )
      })}
    </ol>
  )
}

// How much of the time that a stage may go without progress has passed.
function Patience({deorbit: {stageTimeout, lastProgressAt, stages}}) {
  const since = lastProgressAt ?? stages.find((s) => s.state === 'current')?.startedAt
  if (!stageTimeout || !since) return null
  const waited = (now.value - new Date(since)) / 1000
  const state = waited >= stageTimeout ? 'full' : waited >= stageTimeout / 2 ? 'slow' : ''
  const text = `${duration(waited * 1000)} without progress, of ${duration(stageTimeout * 1000)} that a stage may go without`
  return <progress class={state} max={stageTimeout} value={Math.min(waited, stageTimeout)} aria-label={text} title={text} />
}

function Objects({title, of, all}) {
  if (!all?.length) return null
  return (
    <>
      <h3>{title}: {all.length}</h3>
      <Limited name={`${title} of ${of}`} items={all} columns={['Kind', 'Name', 'ID', 'Reason']}>
        {(o) => <tr key={o.kind + o.namespace + o.name + o.id}><td>{o.kind}</td><td>{o.name && label(o)}</td><td>{o.id}</td><td>{o.reason}</td></tr>}
      </Limited>
    </>
  )
}

export function Progress({deorbit, of}) {
  return (
    <>
      <p class={deorbit.failing ? 'problem' : ''}>{deorbit.message || 'Deorbit has not started yet.'}</p>
      <Timeline deorbit={deorbit} of={of} />
      <p>
        {deorbit.startedAt && <Time at={deorbit.startedAt} prefix="Started " />}
        {deorbit.lastProgressAt && <>; <Time at={deorbit.lastProgressAt} prefix="last progress " /></>}
      </p>
      {deorbit.clusterLost && <Problem>The stages inside the cluster are skipped: {deorbit.clusterLost}</Problem>}
      {deorbit.clusterRejected && <Problem>Nothing is deleted in OpenStack, because the state of the cluster is unknown: {deorbit.clusterRejected}</Problem>}
      <Objects title="Remaining" of={of} all={deorbit.remaining} />
      <Objects title="Kept as configured" of={of} all={deorbit.retained} />
    </>
  )
}

const reasons = {NoPort: 'no port has the address of the next hop', ServerDeleted: 'the server of the next hop has been deleted'}

// The orphaned routes of a Kluster, with the time of their removal.
export function Routes({gc, of}) {
  return (
    <>
      {gc.message && <p>{gc.reason}: {gc.message}</p>}
      <Limited name={`Orphaned routes of ${of}`} items={gc.orphans} columns={['Route', 'Next hop', 'Reason', 'Orphaned', 'Removal']}>
        {(r) => (
          <tr key={r.destination + r.nextHop}>
            <td>{r.destination}</td><td>{r.nextHop}</td><td>{reasons[r.reason] ?? r.reason}</td><td>{r.since && <>since <Time at={r.since} /></>}</td>
            <td>{r.removalDue ? <Time at={r.removalDue} prefix={new Date(r.removalDue) > now.value ? '' : 'due '} /> : 'none: dry run'}</td>
          </tr>
        )}
      </Limited>
      {gc.count > gc.orphans.length && <p>The first {gc.orphans.length} of {gc.count} routes are known.</p>}
    </>
  )
}

// Whether all Klusters were listed: before, there may be more.
const known = (klusters) => klusters && !klusters.loading && !klusters.problem

function RouteGC({klusters}) {
  const found = sorted.value.filter((row) => row.routeGC)
  return (
    <>
      <h2>Route GC</h2>
      {!found.length && (known(klusters) ? <p>No orphaned route is known.</p> : !klusters?.problem && <Skeleton />)}
      {found.map((row) => (
        <section class="panel" key={row.key}>
          <h3><a href={href(row.key)}>{label(row)}</a></h3>
          <Routes gc={row.routeGC} of={label(row)} />
        </section>
      ))}
    </>
  )
}

export function Deorbits() {
  const running = sorted.value.filter((row) => row.deorbit)
  const klusters = overview.value?.checked.find((c) => c.name === 'Klusters')
  const finished = overview.value?.finished ?? []
  return (
    <>
      <Heading>Deorbit</Heading>
      {klusters?.problem && <Unknown checked={klusters} />}
      {!running.length && !klusters?.problem && (known(klusters) ? <p>No Kluster is being deleted.</p> : <Skeleton />)}
      {running.map((row) => (
        <section class="panel" key={row.key}>
          <h2><a href={href(row.key)}>{label(row)}</a> <Level level={worst(row).level} /></h2>
          <Progress deorbit={row.deorbit} of={label(row)} />
        </section>
      ))}
      {finished.length > 0 && <h2>Deleted while the console ran</h2>}
      {[...finished].reverse().map((f) => (
        <section class="panel" key={f.namespace + f.name + f.at}>
          <h3>{label(f)}: <Time at={f.at} prefix="deleted " /></h3>
          <Objects title="Left over" of={label(f)} all={f.deorbit?.remaining} />
          <Objects title="Kept as configured" of={label(f)} all={f.deorbit?.retained} />
          {!f.deorbit?.remaining?.length && <p>Nothing is left over.</p>}
        </section>
      ))}
      <RouteGC klusters={klusters} />
    </>
  )
}
