// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {Heading, Level, Limited, Problem, Time, duration, href, label} from './parts.jsx'
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
            <span class="took">{s.startedAt && end ? duration(end - new Date(s.startedAt)) : s.state}</span>
          </li>
        )
      })}
    </ol>
  )
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

export function Deorbits() {
  const running = sorted.value.filter((row) => row.deorbit)
  const klusters = overview.value?.checked.find((c) => c.name === 'Klusters')
  const finished = overview.value?.finished ?? []
  return (
    <>
      <Heading>Deorbit</Heading>
      {klusters?.problem && <Problem>{klusters.problem}</Problem>}
      {!running.length && !klusters?.problem && <p>No Kluster is being deleted.</p>}
      {running.map((row) => (
        <section class="panel" key={row.key}>
          <h2><a href={href(row.key)}>{label(row)}</a> <Level level={row.deorbit.failing ? 'Warning' : 'InProgress'} /></h2>
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
    </>
  )
}
