// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Changes of an object, with --actions: a button for each, then the question of the command, which has to be confirmed.
import {useEffect, useRef, useState} from 'preact/hooks'
import {Problem} from './parts.jsx'
import {read, send} from './state.js'

export function Actions({o}) {
  const [asked, setAsked] = useState(null) // what is being asked
  const [message, setMessage] = useState('')
  const [error, setError] = useState('')
  if (!o.actions?.length && !message && !error) return null
  const ask = async (action) => {
    setMessage('')
    setError('')
    try {
      setAsked({action, ...await read(`/api/action?${new URLSearchParams({action: action.name, namespace: o.namespace ?? '', name: o.name})}`)})
    } catch (e) {
      setError(e.message)
    }
  }
  const confirm = async () => {
    const {action, token, ...question} = asked
    try {
      await send('/api/action', token, {action: action.name, namespace: o.namespace ?? '', name: o.name, ...question})
      setMessage(`${action.title}: confirmed.`)
    } catch (e) {
      setError(e.message)
    }
    setAsked(null)
  }
  return (
    <>
      <p class="actions">{o.actions?.map((a) => <button type="button" key={a.name} onClick={() => ask(a)}>{a.title}…</button>)}</p>
      {error && <Problem>{error}</Problem>}
      <p role="status">{message}</p>
      {asked && <Question q={asked} confirm={confirm} cancel={() => setAsked(null)} />}
    </>
  )
}

// The dialog has the focus on Cancel, so that no key that was pressed early confirms.
function Question({q, confirm, cancel}) {
  const dialog = useRef()
  const [busy, setBusy] = useState(false)
  useEffect(() => dialog.current.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="question" onCancel={(e) => { e.preventDefault(); cancel() }}>
      {q.preview && <pre tabIndex={0} role="region" aria-label="What happens">{q.preview}</pre>}
      <h2 id="question">{q.question}</h2>
      <p class="actions">
        <button type="button" autoFocus onClick={cancel}>Cancel</button>
        <button type="button" class="confirm" disabled={busy} onClick={() => { setBusy(true); confirm() }}>Yes, {q.action.title.toLowerCase()}</button>
      </p>
    </dialog>
  )
}
