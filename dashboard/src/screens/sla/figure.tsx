// A number with its unit, and its meaning in one line.
import type { ReactNode } from 'react'

interface FigureProps {
  label: string
  value: ReactNode
  unit?: string
  note: ReactNode
  /** Something to look at. */
  isBad?: boolean
}

export function Figure({ label, value, unit = '', note, isBad = false }: FigureProps) {
  return (
    <div className={isBad ? 'figure bad' : 'figure'}>
      <dt>{label}</dt>
      <dd className="figure-value">
        {value}
        {unit !== '' && <span className="figure-unit"> {unit}</span>}
      </dd>
      <dd className="figure-note">{note}</dd>
    </div>
  )
}

export function Figures({ children }: { children: ReactNode }) {
  return <dl className="figures">{children}</dl>
}
