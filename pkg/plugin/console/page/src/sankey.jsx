// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// A flow in three columns: routes, Services and backends. The table below it has the same data, so that it is one image for
// assistive technologies.

const unit = 22 // the height of a route
const rest = 44 // that of all routes that are not drawn
const gap = 8
const bar = 10
const columns = [250, 610, 900]
const width = 1100

// layout places the nodes, and returns bands between them.
export function layout(data) {
  const next = !!data.whatIf
  const bands = [] // from a route to a Service, which continues to its backend
  const add = (route, title, link, scale) => {
    // What would get errors has the width of what users want: there is nothing else to show of it.
    const lost = next && link.state === 'fails' ? scale * Math.max(link.wanted, link.next) : 0
    bands.push({
      route, title, service: link.service || (link.backend ? `other Services of ${link.backend}` : 'other Services'), backend: link.backend || 'no backend',
      state: link.state, solid: lost || scale * (next ? link.next : link.now), dashed: scale * link.wanted,
    })
  }
  for (const r of data.routes) {
    const name = `${r.namespace}/${r.name}`
    for (const l of r.links) add(`${r.kind} ${name}`, name, l, unit)
  }
  const more = data.total - data.routes.length
  const sum = data.rest.reduce((all, l) => all + Math.max(l.now, l.next, l.wanted), 0)
  for (const l of data.rest) add('', `${more} more routes`, l, rest / sum)

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
  for (const nodes of sides) {
    let y = gap
    for (const node of nodes.values()) {
      node.y = y
      node.height = Math.max(node.solid, node.dashed, 4)
      node.left = {solid: 0, dashed: 0}
      node.right = {solid: 0, dashed: 0}
      y += Math.max(node.height, 14) + gap
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
        paths.push({kind, size, y, x: [columns[from.column] + bar, columns[to.column]], backend: b.backend,
          state: next && b.state === 'alone' ? '' : b.state})
      }
    }
  }
  const order = [...sides[2].keys()]
  return {nodes: sides.flatMap((nodes) => [...nodes.values()]), paths, height, colour: (backend) => `b${order.indexOf(backend) % 6}`}
}

function curve({x: [x1, x2], y: [y1, y2]}) {
  const middle = (x1 + x2) / 2
  return `M${x1},${y1.toFixed(1)}C${middle},${y1.toFixed(1)} ${middle},${y2.toFixed(1)} ${x2},${y2.toFixed(1)}`
}

const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

export function Sankey({data}) {
  const {nodes, paths, height, colour} = layout(data)
  return (
    <figure class="scroll" tabIndex={0} role="region" aria-label="Flow">
      <svg class="sankey" viewBox={`0 0 ${width} ${Math.ceil(height)}`} width={width} height={Math.ceil(height)} role="img" aria-label="Flow from routes to Services and backends; the table below has the same data">
        {paths.map((p, i) => <path key={i} d={curve(p)} class={`${p.kind} ${p.state || colour(p.backend)}`} stroke-width={Math.max(p.size, 1).toFixed(1)} />)}
        {nodes.map((n) => (
          <g key={n.column + n.id} class={n.alone ? 'alone' : ''}>
            <rect x={columns[n.column]} y={n.y} width={bar} height={n.height.toFixed(1)} />
            <text x={n.column === 0 ? columns[0] - 6 : columns[n.column] + bar + 6} y={(n.y + n.height / 2).toFixed(1)} text-anchor={n.column === 0 ? 'end' : 'start'} dominant-baseline="central">
              {short(n.title, n.column === 0 ? 34 : 28)}<title>{n.id || n.title}</title>
            </text>
          </g>
        ))}
      </svg>
    </figure>
  )
}
