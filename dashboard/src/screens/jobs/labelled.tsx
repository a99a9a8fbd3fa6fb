// A field with its name above it. The name is the label's text alone, so that it can be found by it.
import { type ReactNode, useId } from 'react'

export function Labelled({ label, children }: { label: ReactNode; children(id: string): ReactNode }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  )
}
