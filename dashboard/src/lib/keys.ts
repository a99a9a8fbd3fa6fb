// Keys of the whole page: single ones and sequences such as "g j". They are listed on the sheet that `?` shows.
import { useEffect, useRef } from 'react'

export interface KeyBinding {
  /** `?`, `/`, `mod+k`, `g j`, … */
  keys: string
  name: string
  run(): void
}

const bindings = new Set<KeyBinding>()
const sequenceMs = 1_200
let prefix = ''
let prefixAtMs = 0

export function listKeys(): KeyBinding[] {
  return [...bindings]
}

export function useKey(keys: string, name: string, run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    const binding: KeyBinding = { keys, name, run: () => latest.current() }
    bindings.add(binding)
    return () => void bindings.delete(binding)
  }, [keys, name])
}

export function startKeys(): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    const stroke = strokeOf(event)
    if (stroke === null) return
    if (
      !stroke.startsWith('mod+') &&
      (isTyping(event.target) || document.querySelector('dialog[open]') !== null)
    )
      return
    const sequence = Date.now() - prefixAtMs < sequenceMs && prefix !== '' ? `${prefix} ${stroke}` : stroke
    // The one that came last wins: a screen may take a key from the shell.
    const found =
      listKeys().findLast(({ keys }) => keys === sequence) ??
      listKeys().findLast(({ keys }) => keys === stroke)
    const begins = listKeys().some(({ keys }) => keys.startsWith(`${stroke} `))
    prefix = found === undefined && begins ? stroke : ''
    prefixAtMs = Date.now()
    if (found === undefined) return
    event.preventDefault()
    found.run()
  }
  document.addEventListener('keydown', onKeyDown)
  return () => document.removeEventListener('keydown', onKeyDown)
}

export function strokeOf(
  event: Pick<KeyboardEvent, 'key' | 'metaKey' | 'ctrlKey' | 'altKey'>,
): string | null {
  if (event.altKey || ['Shift', 'Control', 'Meta', 'Alt'].includes(event.key)) return null
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  return event.metaKey || event.ctrlKey ? `mod+${key}` : key
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}
