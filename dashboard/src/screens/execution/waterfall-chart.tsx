// The picture of the attempts: waiting hatched, running in the colour of its outcome, the pause before the next thin.
import type { Execution } from '@carillon/contract/execution.ts'
import { Card } from '../../components/page.tsx'
import { Status, statusColour } from '../../components/status.tsx'
import { formatDuration } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { endedStatuses } from '../../live/told-execution.ts'
import { type Bar, waterfallOf } from './waterfall.ts'

/** More than these are left out of the picture, the oldest first. */
const barsMax = 50
const widthUnits = 1_000
const barWidthMin = 3

export function WaterfallCard({ execution }: { execution: Execution }) {
  const isEnded = endedStatuses.includes(execution.status)
  return (
    <Card title="Attempts" aside={<Legend />}>
      {isEnded ? <Picture execution={execution} nowMs={0} /> : <MovingPicture execution={execution} />}
    </Card>
  )
}

function MovingPicture({ execution }: { execution: Execution }) {
  return <Picture execution={execution} nowMs={useNow()} />
}

function Legend() {
  return (
    <span className="dim waterfall-legend">
      <span className="swatch swatch-queue" /> queued <span className="swatch swatch-run" /> ran{' '}
      <span className="swatch swatch-backoff" /> backed off
    </span>
  )
}

function Picture({ execution, nowMs }: { execution: Execution; nowMs: number }) {
  const { bars, lengthMs } = waterfallOf(execution, nowMs)
  if (bars.length === 0) return <p className="dim">No attempt was made.</p>
  const shown = bars.slice(-barsMax)
  return (
    <>
      {bars.length > shown.length && (
        <p className="dim">
          The latest {barsMax} of {bars.length} attempts.
        </p>
      )}
      <ol className="waterfall">
        {shown.map((bar) => (
          <li key={bar.attempt}>
            <span className="waterfall-name">
              {bar.attempt} <Status status={bar.outcome} />
            </span>
            <svg
              className="waterfall-bar"
              viewBox={`0 0 ${widthUnits} 20`}
              preserveAspectRatio="none"
              aria-hidden="true"
              focusable="false"
            >
              <BarShapes bar={bar} lengthMs={lengthMs} />
            </svg>
            <span className="waterfall-figures">{figuresOf(bar)}</span>
            {bar.error !== null && <span className="waterfall-error dim">{bar.error}</span>}
          </li>
        ))}
      </ol>
      <p className="waterfall-scale dim">
        <span>0</span>
        <span>{formatDuration(lengthMs)}</span>
      </p>
    </>
  )
}

function BarShapes({ bar, lengthMs }: { bar: Bar; lengthMs: number }) {
  const x = (ms: number) => (ms / lengthMs) * widthUnits
  const startMs = bar.startMs ?? bar.endMs
  const runX = Math.min(x(startMs), widthUnits - barWidthMin)
  return (
    <>
      <rect
        className="bar-queue"
        x={x(bar.readyMs)}
        y="6"
        width={Math.max(0, runX - x(bar.readyMs))}
        height="8"
      />
      {bar.startMs !== null && (
        <rect
          x={runX}
          y="2"
          width={Math.max(barWidthMin, x(bar.endMs) - runX)}
          height="16"
          style={{ fill: statusColour(bar.outcome) }}
        />
      )}
      {bar.backoffEndMs !== null && (
        <rect
          className="bar-backoff"
          x={x(bar.endMs)}
          y="9"
          width={x(bar.backoffEndMs - bar.endMs)}
          height="2"
        />
      )}
    </>
  )
}

function figuresOf(bar: Bar): string {
  const parts = [`queued ${formatDuration(bar.queueMs)}`]
  if (bar.runMs !== null) parts.push(`ran ${formatDuration(bar.runMs)}`)
  if (bar.backoffEndMs !== null) parts.push(`backed off ${formatDuration(bar.backoffEndMs - bar.endMs)}`)
  return parts.join(' · ')
}
