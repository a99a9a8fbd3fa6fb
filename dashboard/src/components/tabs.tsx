// Tabs: arrows move between them; only the panel that is seen is rendered.
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'

export interface Tab {
  id: string
  name: ReactNode
  panel(): ReactNode
}

interface TabsProps {
  label: string
  /** `false` is left out. */
  tabs: readonly (Tab | false)[]
  /** Given both, the tab that is seen is the caller's, in the address for example. */
  selected?: string | undefined
  onSelect?(id: string): void
}

export function Tabs({ label, tabs: given, selected, onSelect }: TabsProps) {
  const tabs = given.filter((tab) => tab !== false)
  const [own, setOwn] = useState(tabs[0]?.id)
  const base = useId()
  const current = tabs.find(({ id }) => id === (selected ?? own)) ?? tabs[0]
  if (current === undefined) return null
  const select = (id: string) => {
    setOwn(id)
    onSelect?.(id)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length]!
    select(next.id)
    document.getElementById(`${base}-${next.id}`)?.focus()
  }
  return (
    <div className="tabs">
      <div className="tab-list" role="tablist" aria-label={label}>
        {tabs.map(({ id, name }) => (
          <button
            key={id}
            id={`${base}-${id}`}
            type="button"
            role="tab"
            aria-selected={id === current.id}
            aria-controls={id === current.id ? `${base}-panel` : undefined}
            tabIndex={id === current.id ? 0 : -1}
            onClick={() => select(id)}
            onKeyDown={onKeyDown}
          >
            {name}
          </button>
        ))}
      </div>
      <div
        id={`${base}-panel`}
        role="tabpanel"
        aria-labelledby={`${base}-${current.id}`}
        className="tab-panel"
      >
        {current.panel()}
      </div>
    </div>
  )
}
