// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// A flow in three columns: routes, Services and backends. A click on one of them isolates what is connected to it. The table beside it
// has the same data, for assistive technologies and for exact numbers.

const unit = 22 // the height of a route
const most = 1200 // that of all routes together, at which routes become thinner
const rest = 44 // that of all routes that are not drawn
const gap = 8
const label = 16 // the height of a name: names never cover each other
const bar = 10
const character = 8.6 // the width of a bold character at most, on average

// layout places the nodes, and returns bands between them.
export function layout(data) {
  const next = !!data.whatIf
  const bands = [] // from a route to a Service, which continues to its backend
  const drawn = data.routes.reduce((sum, r) => sum + r.links.reduce((all, l) => all + Math.max(l.now, l.wanted), 0), 0)
  const scale = Math.min(unit, most / drawn)
  const add = (route, title, link, size, single) => {
    // What would get errors has the width of what users want: there is nothing else to show of it.
    const lost = next && link.state === 'fails' ? size * Math.max(link.wanted, link.next) : 0
    bands.push({
      route, title, service: link.service || (link.backend ? `other Services of ${link.backend}` : 'other Services'), backend: link.backend || 'no backend',
      state: link.state, solid: lost || size * (next ? link.next : link.now), dashed: size * link.wanted, link, single,
    })
  }
  for (const r of data.routes) for (const l of r.links) add(routeOf(r), r.kind ? `${r.namespace}/${r.name}` : routeOf(r), l, scale, !!r.kind)
  const more = data.total - data.routes.length
  const sum = data.rest.reduce((all, l) => all + Math.max(l.now, l.next, l.wanted), 0)
  for (const l of data.rest) add('', `${more} more`, l, rest / sum)

  const sides = ['route', 'service', 'backend'].map((key, column) => {
    const nodes = new Map()
    for (const b of bands) {
      const node = nodes.get(b[key]) ?? {id: b[key], title: column === 0 ? b.title : b[key], column, solid: 0, dashed: 0, alone: false}
      node.solid += b.solid
      node.dashed += b.dashed
      node.alone ||= b.state === 'fails' || (!next && b.state === 'alone')
      nodes.set(b[key], node)
    }
    return nodes
  })
  // Services stand near their routes, backends near their Services.
  sides[2] = new Map([...sides[2]].sort(([a], [b]) => (a < b ? -1 : 1)))
  let height = 0
  const widest = sides.map((nodes) => Math.max(0, ...[...nodes.values()].map((n) => n.title.length * character)))
  const columns = [widest[0] + gap, widest[0] + gap + 250, widest[0] + widest[1] + 2 * gap + 400]
  for (const nodes of sides) {
    let y = gap
    for (const node of nodes.values()) {
      node.height = Math.max(node.solid, node.dashed, 4)
      const place = Math.max(node.height, label)
      node.y = y + (place - node.height) / 2
      node.x = columns[node.column]
      node.left = {solid: 0, dashed: 0}
      node.right = {solid: 0, dashed: 0}
      y += place + gap
    }
    height = Math.max(height, y)
  }
  const paths = []
  for (const b of bands) {
    for (const [from, to] of [[sides[0].get(b.route), sides[1].get(b.service)], [sides[1].get(b.service), sides[2].get(b.backend)]]) {
      for (const kind of ['solid', 'dashed']) {
        const size = b[kind]
        const y = [from.y + from.right[kind] + size / 2, to.y + to.left[kind] + size / 2]
        from.right[kind] += size
        to.left[kind] += size
        if (size === 0 || (kind === 'dashed' && Math.abs(b.dashed - b.solid) < 0.01)) continue
        paths.push({kind, size, y, x: [from.x + bar, to.x], band: b, state: next && b.state === 'alone' ? '' : b.state})
      }
    }
  }
  const order = [...sides[2].keys()]
  return {nodes: sides.flatMap((nodes) => [...nodes.values()]), paths, height, width: columns[2] + bar + gap + widest[2], colour: (backend) => `b${order.indexOf(backend) % 6}`}
}

// The name of a route, or of the routes of a namespace, by which it is isolated.
export const routeOf = (r) => (r.kind ? `${r.kind} ${r.namespace}/${r.name}` : `namespace ${r.namespace}: ${r.name}`)

const keys = ['route', 'service', 'backend']

function curve({x: [x1, x2], y: [y1, y2]}) {
  const middle = (x1 + x2) / 2
  return `M${x1},${y1.toFixed(1)}C${middle},${y1.toFixed(1)} ${middle},${y2.toFixed(1)} ${x2},${y2.toFixed(1)}`
}

// What one route sends is a part of it, what several send a number of routes.
const amount = ({single, link}, which) => (single ? `${Math.round(100 * link[which])} %` : `${Math.round(10 * link[which]) / 10} routes`)

// only is what is isolated: a column and the name in it. In SVG, attributes have their case: tabIndex would make nothing focusable.
export function Sankey({data, only, isolate}) {
  const {nodes, paths, height, width, colour} = layout(data)
  const shown = (band) => !only || band[keys[only.column]] === only.id
  const connected = new Set(paths.filter((p) => shown(p.band)).flatMap((p) => keys.map((key, column) => `${column} ${p.band[key]}`)))
  return (
    <figure class="scroll" tabIndex={0} role="region" aria-label="Flow">
      <svg class="sankey" viewBox={`0 0 ${Math.ceil(width)} ${Math.ceil(height)}`} width={Math.ceil(width)} height={Math.ceil(height)} role="group" aria-label="Flow from routes to Services and backends; the table has the same data">
        {paths.map((p, i) => (
          <path key={i} d={curve(p)} class={`${p.kind} ${p.state || colour(p.band.backend)} ${shown(p.band) ? '' : 'faint'}`} stroke-width={Math.max(p.size, 1).toFixed(1)}>
            <title>{`${p.band.title} to ${p.band.service} of ${p.band.backend}: ${amount(p.band, 'now')} now, ${amount(p.band, 'wanted')} wanted`}</title>
          </path>
        ))}
        {nodes.map((n) => {
          const selected = only?.column === n.column && only.id === n.id
          const toggle = () => isolate(selected ? null : {column: n.column, id: n.id})
          return (
            <g key={n.column + n.id} class={`node ${n.alone ? 'alone' : ''} ${!only || connected.has(`${n.column} ${n.id}`) ? '' : 'faint'}`} role="button" tabindex={0} aria-pressed={selected}
              aria-label={`Isolate ${n.id || n.title}`} onClick={toggle} onKeyDown={(e) => (e.key === 'Enter' || e.key === ' ') && (e.preventDefault(), toggle())}>
              <title>{n.id || n.title}</title>
              <rect x={n.x} y={n.y} width={bar} height={n.height.toFixed(1)} />
              <text x={n.column === 0 ? n.x - 6 : n.x + bar + 6} y={(n.y + n.height / 2).toFixed(1)} text-anchor={n.column === 0 ? 'end' : 'start'} dominant-baseline="central">{n.title}</text>
            </g>
          )
        })}
      </svg>
    </figure>
  )
}
