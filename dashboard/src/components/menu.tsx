// A button with a list of actions below it: arrows move, Escape closes, focus returns.
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'
import type { IconName } from './icon.tsx'

export interface MenuItem {
  name: string
  run(): void
  danger?: boolean
}

interface MenuProps {
  label: ReactNode
  /** `false` is left out. */
  items: readonly (MenuItem | false)[]
  icon?: IconName
  /** For a button that shows only its sign. */
  name?: string
}

export function Menu({ label, items, icon = 'down', name }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const menuId = useId()
  const shown = items.filter((item) => item !== false)
  useEffect(() => {
    if (!isOpen) return
    root.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    const onPointer = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', onPointer)
    return () => document.removeEventListener('pointerdown', onPointer)
  }, [isOpen])
  if (shown.length === 0) return null
  const close = () => {
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return
    const all = [...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])]
    const index = all.indexOf(document.activeElement as HTMLElement)
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) all[(index + step + all.length) % all.length]?.focus()
    else if (event.key === 'Escape') close()
    else if (event.key === 'Tab') setOpen(false)
    else return
    if (event.key !== 'Tab') event.preventDefault()
    event.stopPropagation()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its keys belong to the menu inside
    <div className="menu" ref={root} onKeyDown={onKeyDown}>
      <Button
        icon={icon}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? menuId : undefined}
        aria-label={name}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </Button>
      {isOpen && (
        <div className="menu-list" role="menu" id={menuId}>
          {shown.map((item) => (
            <button
              key={item.name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              className={item.danger === true ? 'danger' : ''}
              onClick={() => {
                close()
                item.run()
              }}
            >
              {item.name}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
