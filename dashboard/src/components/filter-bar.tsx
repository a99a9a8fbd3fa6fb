// Filters of a list. Their values are in the address, so that a link shows the same list.
import { Children, type ReactNode, useEffect, useRef, useState } from 'react'
import { useFilters } from '../lib/filters.ts'
import { useIsPhone } from '../lib/media.ts'
import { Button } from './button.tsx'
import { type Option, Select } from './field.tsx'
import { OneOf } from './one-of.tsx'
import { Status } from './status.tsx'

const typingMs = 300

interface FieldProps {
  /** Of the parameter in the address, which is that of the API. */
  name: string
  label: string
}

/** `names`: the filters that "Clear" removes. On a phone all but the first field are folded away. */
export function FilterBar({ names, children }: { names: readonly string[]; children: ReactNode }) {
  const [filters, change] = useFilters()
  const isPhone = useIsPhone()
  const set = names.filter((name) => filters[name] !== undefined)
  const isSet = set.length > 0
  const [first, ...others] = Children.toArray(children)
  return (
    <search className="filter-bar" aria-label="Filters">
      {isPhone ? (
        <>
          {first}
          {others.length > 0 && (
            <details>
              <summary>{isSet ? `Filters (${set.length} set)` : 'Filters'}</summary>
              <div>{others}</div>
            </details>
          )}
        </>
      ) : (
        children
      )}
      {isSet && (
        <Button
          kind="quiet"
          icon="cross"
          onClick={() => change(Object.fromEntries(names.map((name) => [name, undefined])))}
        >
          Clear
        </Button>
      )}
    </search>
  )
}

/** A text; `/` comes here when it is the search of the screen. */
export function FilterText({ name, label, isSearch = false }: FieldProps & { isSearch?: boolean }) {
  const [filters, change] = useFilters()
  const kept = filters[name] ?? ''
  const [text, setText] = useState(kept)
  const timer = useRef<number>(undefined)
  useEffect(() => setText(kept), [kept])
  useEffect(() => () => window.clearTimeout(timer.current), [])
  return (
    <input
      type="search"
      className="input"
      aria-label={label}
      placeholder={isSearch ? `${label}  /` : label}
      data-search={isSearch || undefined}
      maxLength={255}
      value={text}
      onChange={(event) => {
        const value = event.target.value
        setText(value)
        window.clearTimeout(timer.current)
        timer.current = window.setTimeout(() => change({ [name]: value.trim() }), typingMs)
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        // Browsers would empty the field.
        event.preventDefault()
        event.currentTarget.blur()
      }}
    />
  )
}

export function FilterSelect({ name, label, options }: FieldProps & { options: readonly Option[] }) {
  const [filters, change] = useFilters()
  return (
    <Select
      aria-label={label}
      value={filters[name] ?? ''}
      options={[{ value: '', name: `${label}: any` }, ...options]}
      onText={(value) => change({ [name]: value })}
    />
  )
}

/** One status of a few, each to be pressed; pressed again it is taken away. */
export function StatusChips({ statuses }: { statuses: readonly string[] }) {
  const [{ status: chosen }, change] = useFilters()
  return (
    <OneOf
      look="chips"
      legend="Status"
      options={statuses.map((value) => ({ value, name: <Status status={value} /> }))}
      value={chosen}
      onPress={(status) => change({ status: status === chosen ? undefined : status })}
    />
  )
}
