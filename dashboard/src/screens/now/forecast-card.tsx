// How many slots lie ahead, ten minutes each, for 24 hours: a strip that is darker where more come together.
import type { ForecastReply } from '@carillon/contract/forecast.ts'
import { useEffect, useRef, useState } from 'react'
import { JobLink } from '../../components/links.tsx'
import { Card } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatTime, plural } from '../../lib/format.ts'
import { readColour, useThemeName } from '../../lib/media.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'

const heightPx = 44
/** A bucket stands out when it has so many times the slots of an average one. */
const peakShare = 1.25

export function ForecastCard({ forecast }: { forecast: ForecastReply }) {
  const { counts, peaks, complete, from, step_seconds: step } = forecast
  const [pointed, setPointed] = useState<number | null>(null)
  const mode = useStore(timeMode)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const mean = total / Math.max(1, counts.length)
  const high = peaks.filter(({ count }) => count > mean * peakShare)
  const startMs = Date.parse(from)
  const clockMode = mode === 'UTC' ? 'UTC' : 'local'
  const at = (index: number) => formatTime(startMs + index * step * 1_000, clockMode, startMs)
  const said =
    pointed === null
      ? `${plural(total, 'slot')} in the next ${Math.round((counts.length * step) / 3_600)} hours`
      : `${at(pointed)} to ${at(pointed + 1)}: ${plural(counts[pointed] ?? 0, 'slot')}`
  return (
    <Card title="Next 24 hours" aside={<span className="dim">{said}</span>}>
      {!complete && <p className="dim">Not all jobs were looked at: there are more slots than these.</p>}
      <Strip counts={counts} label={`${said}, by ${Math.round(step / 60)} minutes`} onPoint={setPointed} />
      <p className="strip-scale dim">
        {[0, 0.25, 0.5, 0.75].map((share) => (
          <span key={share}>{at(Math.round(counts.length * share)).slice(-9)}</span>
        ))}
        <span>{at(counts.length).slice(-9)}</span>
      </p>
      {total > 0 && high.length === 0 && (
        <p className="dim">
          It is spread evenly: about {plural(Math.round(mean), 'slot')} in each {Math.round(step / 60)}{' '}
          minutes.
        </p>
      )}
      {high.length > 0 && (
        <ul className="item-list">
          {high.slice(0, 3).map((peak) => (
            <li key={peak.at}>
              <span className="item-main">
                <span className="item-title">
                  <span>
                    Peak <Time at={peak.at} />
                  </span>
                  <span className="number">{plural(peak.count, 'slot')}</span>
                </span>
                <span className="dim">
                  {peak.jobs.slice(0, 3).map((job, index) => (
                    <span key={job.job_id}>
                      {index > 0 && ', '}
                      <JobLink id={job.job_id}>{job.name}</JobLink>
                    </span>
                  ))}
                  {peak.jobs.length > 3 && ` and ${formatCount(peak.jobs.length - 3)} more`}
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function Strip(props: { counts: readonly number[]; label: string; onPoint(index: number | null): void }) {
  const { counts, label, onPoint } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const themeName = useThemeName()
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew in the colours of the theme
  useEffect(() => {
    const element = canvas.current
    if (element === null) return
    const draw = () => drawStrip(element, counts)
    draw()
    const observer = new ResizeObserver(draw)
    observer.observe(element)
    return () => observer.disconnect()
  }, [counts, themeName])
  return (
    <canvas
      ref={canvas}
      className="strip"
      role="img"
      aria-label={label}
      style={{ height: heightPx }}
      onPointerMove={(event) => {
        const box = event.currentTarget.getBoundingClientRect()
        const index = Math.floor(((event.clientX - box.left) / box.width) * counts.length)
        onPoint(index >= 0 && index < counts.length ? index : null)
      }}
      onPointerLeave={() => onPoint(null)}
    />
  )
}

// The height says how many, by square root, so that one slot beside a thousand is still seen; the darkness tells the
// fullest from the emptiest, so that small differences are.
function drawStrip(element: HTMLCanvasElement, counts: readonly number[]): void {
  const ratio = window.devicePixelRatio || 1
  const width = element.clientWidth
  element.width = Math.round(width * ratio)
  element.height = Math.round(heightPx * ratio)
  const context = element.getContext('2d')
  if (context === null) return
  context.scale(ratio, ratio)
  context.fillStyle = readColour('--bg-2')
  context.fillRect(0, 0, width, heightPx)
  const most = Math.max(1, ...counts)
  // The first is partly over.
  const least = Math.min(most, ...counts.slice(1))
  const step = width / counts.length
  context.fillStyle = readColour('--accent')
  counts.forEach((count, index) => {
    if (count === 0) return
    const share = Math.sqrt(count / most)
    context.globalAlpha = 0.35 + 0.65 * Math.max(0, (count - least) / Math.max(1, most - least))
    const height = Math.max(3, share * heightPx)
    context.fillRect(index * step, heightPx - height, Math.max(1, step - 1), height)
  })
}
