// A card of numbers, each with its unit and its meaning in one line.
import type { ReactNode } from 'react'
import { Card } from '../../components/page.tsx'

interface More {
  unit?: string
  /** Something to look at. */
  isBad?: boolean
}

interface FigureCardProps {
  title: string
  aside?: ReactNode
  /** By name: the value and its meaning. */
  figures: Readonly<Record<string, readonly [value: ReactNode, note: ReactNode, more?: More]>>
  /** Below the numbers. */
  children?: ReactNode
}

export function FigureCard({ title, aside, figures, children }: FigureCardProps) {
  return (
    <Card title={title} aside={aside}>
      <dl className="figures">
        {Object.entries(figures).map(([label, [value, note, { unit = '', isBad = false } = {}]]) => (
          <div key={label} className={isBad ? 'figure bad' : 'figure'}>
            <dt>{label}</dt>
            <dd className="figure-value">
              {value}
              {unit !== '' && <span className="figure-unit"> {unit}</span>}
            </dd>
            <dd className="figure-note">{note}</dd>
          </div>
        ))}
      </dl>
      {children}
    </Card>
  )
}
