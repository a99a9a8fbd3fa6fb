// The command palette: every screen, every job, and any id that is pasted.
import type { JobList } from '@carillon/contract/job.ts'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useDeferredValue, useId, useState } from 'react'
import { useGet } from '../api/hooks.ts'
import { Dialog } from '../components/dialog.tsx'
import { destinations } from './destinations.ts'

const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

interface Choice {
  name: string
  hint: string
  to: string
  search?: Record<string, string>
}

export function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState('')
  const [index, setIndex] = useState(0)
  const listId = useId()
  const navigate = useNavigate()
  const q = useDeferredValue(text.trim())
  const jobs = useGet<JobList>('/jobs', { query: { q, limit: 8 }, enabled: q !== '', keep: true })
  const choices = choose(text.trim(), q === '' ? [] : (jobs.data?.jobs ?? []))
  const current = Math.min(index, choices.length - 1)
  const go = (choice: Choice | undefined) => {
    if (choice === undefined) return
    onClose()
    void navigate({ to: choice.to, search: (choice.search ?? {}) as never })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') go(choices[current])
    else if (step !== undefined) setIndex((current + step + choices.length) % Math.max(1, choices.length))
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        className="input palette-input"
        aria-label="Screen, job or id"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={choices[current] === undefined ? undefined : `${listId}-${current}`}
        placeholder="Screen, job or id"
        maxLength={255}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setIndex(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={listId} className="palette-list" aria-label="Where to">
        {choices.map((choice, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
          <div
            key={choice.name + choice.to}
            id={`${listId}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === current}
            onClick={() => go(choice)}
          >
            <span>{choice.name}</span>
            <span className="dim">{choice.hint}</span>
          </div>
        ))}
      </div>
      {choices.length === 0 && <p className="dim">Nothing has this name.</p>}
    </Dialog>
  )
}

function choose(
  text: string,
  jobs: readonly { job_id: string; name: string; key: string | null }[],
): Choice[] {
  const wanted = text.toLowerCase()
  const screens = [...destinations, { name: 'New job', to: '/jobs/new', key: 'jobs' }]
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .map(({ name, to, key }) => ({ name, hint: key, to }))
  const ids = idPattern.test(text)
    ? [
        { name: `Execution ${text}`, hint: 'id', to: `/executions/${text}` },
        { name: `Job ${text}`, hint: 'id', to: `/jobs/${text}` },
        { name: `Graph run ${text}`, hint: 'id', to: `/graphs/${text}` },
      ]
    : []
  const found = jobs.map(({ job_id, name, key }) => ({ name, hint: key ?? 'job', to: `/jobs/${job_id}` }))
  const errors =
    wanted === ''
      ? []
      : [
          {
            name: `Search executions for "${text}"`,
            hint: 'executions',
            to: '/executions',
            search: { q: text },
          },
        ]
  return [...ids, ...screens, ...found, ...errors]
}
