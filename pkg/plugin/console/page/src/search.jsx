// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {Heading, Level, Limited, Problem, href, useData} from './parts.jsx'
import {overview, touched} from './state.js'

export function Search({query}) {
  const text = query.get('q') ?? ''
  const {data, error} = useData(`/api/search?${new URLSearchParams({q: text})}`, touched.value)
  const unknown = overview.value?.checked.filter((c) => c.problem) ?? []
  return (
    <>
      <Heading>Search</Heading>
      {unknown.map((c) => <Problem key={c.name}>{c.name}: {c.problem}</Problem>)}
      {error && <Problem>{error}</Problem>}
      {data && <p role="status">{data.total} {data.total === 1 ? 'object' : 'objects'}{text && ` with ${text}`}{data.total > data.found.length && `, the first ${data.found.length} are shown`}.</p>}
      {data?.found.length > 0 && (
        <Limited name="Objects" items={data.found} columns={['Kind', 'Object', 'State', 'Findings']}>
          {(f) => <tr key={f.key}><td>{f.kind}</td><td><a href={href(f.key)}>{f.label}</a></td><td>{f.state}</td><td><Level level={f.level} /></td></tr>}
        </Limited>
      )}
    </>
  )
}
