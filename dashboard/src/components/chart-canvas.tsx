// Draws a chart with uPlot. The colours come from the current theme.
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { type Clock, clockOf, formatExact } from '../lib/format.ts'
import { readColour, useThemeName } from '../lib/media.ts'
import { timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'
import type { ChartProps } from './chart.tsx'

const axisFont = '11px system-ui, sans-serif'

export function ChartCanvas(props: ChartProps & { height: number }) {
  const { times, series, kind, unit, height, format = String } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | null>(null)
  const clock = clockOf(useStore(timeMode))
  const themeName = useThemeName()
  const shape = series.map(({ label, colour }) => `${label} ${colour}`).join()
  const latest = useRef({ series, format, times })
  latest.current = { series, format, times }

  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew with the theme and the shape; values change below
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const axis = {
      stroke: readColour('--text-2'),
      grid: { stroke: readColour('--line'), width: 1 },
      ticks: { stroke: readColour('--line'), width: 1 },
      font: axisFont,
    }
    const textOf = (index: number, at: number | null) => {
      const value = at === null ? null : latest.current.series[index]?.values[at]
      return value === null || value === undefined ? '–' : `${latest.current.format(value)} ${unit}`.trim()
    }
    const options: UPlot.Options = {
      width: element.clientWidth || 300,
      height,
      tzDate: (seconds) =>
        clock === 'UTC' ? UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') : new Date(seconds * 1_000),
      cursor: { y: false, drag: { x: false, y: false } },
      legend: { live: true },
      scales: {
        x: { range: (_plot, min, max) => widened(min, max, kind, latest.current.times) },
        y: { range: (_plot, _min, max) => [0, Math.max(1, max ?? 1) * 1.08] },
      },
      axes: [
        {
          ...axis,
          space: 70,
          size: 30,
          values: (_plot, values, _axis, _space, step) => timeLabels(values, step, clock),
        },
        {
          ...axis,
          size: (drawn, labels) => widthOf(drawn, labels),
          values: (_plot, values) => values.map((value) => latest.current.format(value)),
        },
      ],
      series: [
        { label: 'at', value: (_plot, value) => (value === null ? '–' : timeLabels([value], 1, clock)[0]!) },
        ...latest.current.series.map((one, index) => {
          const colour = readColour(one.colour)
          return {
            label: one.label,
            stroke: colour,
            width: kind === 'stacked' ? 0 : 1.5,
            points: { show: false },
            value: (_plot: UPlot, _value: number, _series: number, at: number | null) => textOf(index, at),
            ...(kind === 'stacked' && { fill: colour, paths: UPlot.paths.bars!({ size: [0.86, 40] }) }),
          }
        }),
      ],
    }
    const made = new UPlot(options, dataOf(kind, latest.current.times, latest.current.series), element)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [kind, unit, height, clock, themeName, shape])

  useEffect(() => plot.current?.setData(dataOf(kind, times, series)), [kind, times, series])
  return <div ref={box} className="chart-canvas" style={{ minHeight: height }} />
}

const axisPxMin = 40
/** Between a label and the drawing: the tick and a gap on either side. */
const tickPx = 20

/** As wide as the longest label: a label that is cut says something else ("in 40 s" for "1 min 40 s"). */
function widthOf(plot: UPlot, labels: readonly string[] | null): number {
  if (labels === null) return axisPxMin
  plot.ctx.save()
  plot.ctx.font = axisFont
  const widest = Math.max(0, ...labels.map((label) => plot.ctx.measureText(label).width))
  plot.ctx.restore()
  return Math.max(axisPxMin, Math.ceil(widest) + tickPx)
}

// Half a bar more on both sides, so that the first and the last are whole.
function widened(
  min: number,
  max: number,
  kind: ChartProps['kind'],
  times: ChartProps['times'],
): [number, number] {
  const half = kind === 'stacked' && times.length > 1 ? (times[1]! - times[0]!) / 2 : 0
  return [min - half, max + half]
}

/** The time of day, or the day where ticks are days. */
function timeLabels(values: readonly number[], stepSeconds: number, clock: Clock): string[] {
  return values.map((seconds) => {
    const exact = formatExact(seconds * 1_000, clock)
    if (stepSeconds >= 86_400) return exact.slice(5, 10)
    return stepSeconds < 60 ? `${exact.slice(11, 19)}` : exact.slice(11, 16)
  })
}

// A later series is drawn over an earlier one, so each bar reaches from the ground to the sum of itself and all after it.
function dataOf(
  kind: ChartProps['kind'],
  times: ChartProps['times'],
  series: ChartProps['series'],
): UPlot.AlignedData {
  if (kind === 'lines') return [times as number[], ...series.map(({ values }) => values as (number | null)[])]
  const sums = times.map(() => 0)
  const stacked = series.toReversed().map(({ values }) =>
    values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0)
      return sums[index]
    }),
  )
  return [times as number[], ...stacked.toReversed()]
}
