// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

import {render} from 'preact'
import {useEffect, useRef} from 'preact/hooks'
import {Backends} from './backends.jsx'
import {Deorbits} from './deorbit.jsx'
import {List} from './list.jsx'
import {LostNodes} from './lostnodes.jsx'
import {NetworkPage} from './network.jsx'
import {ObjectPage} from './object.jsx'
import {Overview} from './overview.jsx'
import {Heading} from './parts.jsx'
import {connected, follow, live, overview, path} from './state.js'

const pages = [['/', 'Overview'], ['/list', 'Objects'], ['/backends', 'Backends'], ['/deorbit', 'Deorbit'], ['/lost-nodes', 'Lost nodes'], ['/network', 'Network']]

function NoPage({address}) {
  return <><Heading>No such page</Heading><p>The console has no page <code>{address}</code>. <a href="#/">Go to the overview</a></p></>
}

function Page() {
  const [address, query] = path.value.split('?')
  if (address.startsWith('/object/')) return <ObjectPage key={address} id={address.slice('/object/'.length)} />
  switch (address) {
    case '/backends': return <Backends key={address} query={new URLSearchParams(query)} />
    case '/deorbit': return <Deorbits key={address} />
    case '/lost-nodes': return <LostNodes key={address} />
    case '/network': return <NetworkPage key={address} query={new URLSearchParams(query)} />
    case '/list': return <List query={new URLSearchParams(query)} />
    case '/': return <Overview key="/" query={new URLSearchParams(query)} />
    default: return <NoPage key={address} address={address} />
  }
}

function SearchBox() {
  const box = useRef()
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return
      event.preventDefault()
      box.current.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  const address = () => `#/list?${new URLSearchParams({q: box.current.value})}`
  const show = (event) => {
    event.preventDefault()
    location.hash = address()
  }
  // What is typed on the page of the search is no page of its own to go back to.
  const refine = () => path.value.startsWith('/list') && location.replace(address())
  return (
    <form role="search" onSubmit={show}>
      <input ref={box} type="search" aria-label="Search all kinds by namespace and name" aria-keyshortcuts="/" placeholder="Search ( / )" onInput={refine} />
    </form>
  )
}

function skip(event) {
  event.preventDefault()
  document.querySelector('main').focus()
}

function App() {
  const address = path.value.split('?')[0]
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <header>
        <span class="brand">Groundskeeper</span>
        <nav aria-label="Pages"><ul>{pages.map(([to, title]) => <li key={to}><a href={`#${to}`} aria-current={address === to ? 'page' : undefined}>{title}</a></li>)}</ul></nav>
        <SearchBox />
        <span class="cluster">
          <span class={`dot ${live.value ? 'live' : ''}`} /> {live.value ? 'live' : 'not current'}
          {[overview.value?.context, overview.value?.user, overview.value?.cluster].filter(Boolean).map((text) => ` · ${text}`)}
          {overview.value?.actions && ' · changes are possible'}
        </span>
      </header>
      <div role="status" aria-live="polite">
        {!connected.value && <p class="banner">The console does not respond: is <code>kubectl groundskeeper console</code> still running? What is shown may be out of date.</p>}
      </div>
      <main id="main" tabIndex={-1}><Page /></main>
    </>
  )
}

follow()
render(<App />, document.body)
