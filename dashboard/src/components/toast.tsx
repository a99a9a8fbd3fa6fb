// Short messages about completed actions. They disappear on their own; messages about failures stay until they are
// closed.
import { createStore, useStore } from '../lib/store.ts'
import { Button } from './button.tsx'

interface Toast {
  id: number
  text: string
  kind: 'done' | 'failed'
}

const shownMs = 5_000
const toastsMax = 4
const toasts = createStore<readonly Toast[]>([])
let lastId = 0

export function toast(text: string, kind: Toast['kind'] = 'done'): void {
  const id = ++lastId
  toasts.set([...toasts.get(), { id, text, kind }].slice(-toastsMax))
  if (kind === 'done') window.setTimeout(() => dismiss(id), shownMs)
}

export function toastError(error: unknown): void {
  toast(error instanceof Error ? error.message : String(error), 'failed')
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((one) => one.id !== id))
}

export function Toasts() {
  const shown = useStore(toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} className={`toast toast-${kind}`}>
          <span>{text}</span>
          <Button kind="quiet" icon="cross" aria-label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}
