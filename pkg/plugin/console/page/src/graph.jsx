// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// A graph in layers: a resource is left of those that it refers to. The table below it has the same data.
import {levels} from './parts.jsx'

const size = {width: 236, height: 40} // an id that is cut fits, and a kind in bold
const gap = {x: 70, y: 12}

// layout gives each node a layer by the longest way to it, and a place in it near its neighbours.
export function layout(nodes, edges) {
  const outgoing = new Map(nodes.map((n) => [n.id, []]))
  const incoming = new Map(nodes.map((n) => [n.id, []]))
  for (const {from, to} of edges) {
    outgoing.get(from).push(to)
    incoming.get(to).push(from)
  }
  const layer = new Map()
  const walking = new Set() // a cycle ends where it began
  const depth = (id) => {
    if (layer.has(id)) return layer.get(id)
    if (walking.has(id)) return 0
    walking.add(id)
    const own = Math.max(-1, ...incoming.get(id).map(depth)) + 1
    walking.delete(id)
    layer.set(id, own)
    return own
  }
  const layers = []
  for (const n of nodes) (layers[depth(n.id)] ??= []).push(n.id)
  const place = new Map()
  const settle = (ids) => ids.forEach((id, i) => place.set(id, i - ids.length / 2))
  layers.forEach(settle)
  const mean = (ids, id) => (ids.length ? ids.reduce((sum, other) => sum + place.get(other), 0) / ids.length : place.get(id))
  for (let sweep = 0; sweep < 4; sweep++) {
    const neighbours = sweep % 2 ? outgoing : incoming
    for (const ids of sweep % 2 ? [...layers].reverse() : layers) {
      const wish = new Map(ids.map((id) => [id, mean(neighbours.get(id), id)]))
      ids.sort((a, b) => wish.get(a) - wish.get(b))
      settle(ids)
    }
  }
  const most = Math.max(1, ...layers.map((ids) => ids.length))
  const position = new Map()
  layers.forEach((ids, column) => ids.forEach((id, i) => position.set(id, {
    x: column * (size.width + gap.x) + 4, y: (i + (most - ids.length) / 2) * (size.height + gap.y) + 4,
  })))
  return {position, width: layers.length * (size.width + gap.x) - gap.x + 8, height: most * (size.height + gap.y) - gap.y + 8}
}

const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

export function Graph({nodes, edges}) {
  const {position, width, height} = layout(nodes, edges)
  return (
    <figure class="scroll" tabIndex={0} role="region" aria-label="Graph">
      <svg class="graph" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Graph of the resources; the table below has the same data">
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0L8,4L0,8z" /></marker></defs>
        {edges.map(({from, to}) => {
          const a = position.get(from)
          const b = position.get(to)
          const [x1, y1, x2, y2] = [a.x + size.width, a.y + size.height / 2, b.x, b.y + size.height / 2]
          return <path key={`${from} ${to}`} class="edge" d={`M${x1},${y1}C${x1 + 40},${y1} ${x2 - 40},${y2} ${x2},${y2}`} marker-end="url(#arrow)" />
        })}
        {nodes.map((n) => {
          const {x, y} = position.get(n.id)
          return (
            <g key={n.id} class={`resource ${levels[n.state] ?? 'elsewhere'} ${n.own ? 'own' : ''}`}>
              <rect x={x} y={y} width={size.width} height={size.height} rx="6"><title>{`${n.id}\n${n.owner || ''}\n${n.message || ''}`}</title></rect>
              <text x={x + 8} y={y + 16} class="kind">{short(`${n.kind}${n.state && n.state !== 'Synced' ? ` · ${n.state}` : ''}`, 25)}</text>
              <text x={x + 8} y={y + 32}>{short(n.name, 27)}</text>
            </g>
          )
        })}
      </svg>
    </figure>
  )
}
