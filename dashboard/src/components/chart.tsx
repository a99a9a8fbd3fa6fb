// A chart over time. The drawing code is loaded when the first one is shown.
import { lazy, Suspense } from 'react'
import { clockOf, zoneName } from '../lib/format.ts'
import { timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'

export interface ChartSeries {
  label: string
  /** A CSS variable such as `--succeeded`. */
  colour: string
  /** One for each point in time; null: nothing is known. */
  values: readonly (number | null)[]
}

export interface ChartProps {
  /** Describes the chart in words: a picture says nothing to people unable to see it. */
  label: string
  /** Seconds since 1970, ascending. */
  times: readonly number[]
  series: readonly ChartSeries[]
  /** Bars on top of each other, lines beside each other. */
  kind: 'stacked' | 'lines'
  unit: string
  height?: number
  format?(value: number): string
}

const ChartCanvas = lazy(() =>
  import('./chart-canvas.tsx').then((module) => ({ default: module.ChartCanvas })),
)

export function Chart(props: ChartProps) {
  const { label, height = 160, times } = props
  const clock = clockOf(useStore(timeMode))
  const zone = zoneName(clock, (times.at(-1) ?? 0) * 1_000)
  return (
    <figure className="chart" aria-label={label}>
      <figcaption className="chart-zone dim">Times in {zone}</figcaption>
      <Suspense fallback={<div style={{ height }} />}>
        <ChartCanvas {...props} height={height} />
      </Suspense>
    </figure>
  )
}
