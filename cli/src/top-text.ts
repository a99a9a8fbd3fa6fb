// The screen of `carillon top`, from the collected data: lines that fit the terminal, at 80 by 24 as well.
import { clean, cut, pad, widthOf } from './text.ts'
import { writeAgo, writeDuration } from './times.ts'
import { type Paint, statusCell, type Tone } from './tone.ts'
import type { Pulse } from './top-source.ts'
import { rateOf, type TopState } from './top-state.ts'

export interface TopLook {
  width: number
  height: number
  paint: Paint
  nowMs: number
  url: string
  paused: boolean
}

const steps = '▁▂▃▄▅▆▇█'
const sources = {
  stream: 'live',
  poll: 'asks every 2 s',
  lost: 'no connection, trying again',
  none: 'connecting',
} as const

export function writeTop(state: TopState, look: TopLook): string[] {
  const { width, height } = look
  const head = [headLine(state, look), countsLine(state, look), '', ...rateLines(state, look), '']
  const foot = look.paint(cut('q quit   p pause', width), 'dim')
  const room = Math.max(0, height - head.length - 1)
  const failing = failingLines(state, look)
  const failingRoom =
    failing.length === 0 ? 0 : Math.min(failing.length, Math.max(2, Math.floor(room / 2) - 1))
  const shownFailing = failing.slice(0, failingRoom)
  const gap = shownFailing.length === 0 ? [] : ['']
  const recent = recentLines(state, look, room - shownFailing.length - gap.length)
  const body = [...shownFailing, ...gap, ...recent].slice(0, room)
  return [...head, ...body, ...Array<string>(room - body.length).fill(''), foot]
}

function headLine(state: TopState, { width, paint, nowMs, url, paused }: TopLook): string {
  const last = state.pulses.at(-1)
  const age = last === undefined ? '' : `, ${writeDuration(Math.max(0, nowMs - last.atMs))} old`
  const right = `${paused ? 'paused' : sources[state.source]}${age}  ${new Date(nowMs).toISOString().slice(11, 19)} UTC`
  const left = cut(`carillon top  ${clean(url)}`, width - widthOf(right) - 2)
  const isGood = state.source === 'stream' || state.source === 'poll'
  return `${paint(pad(left, width - widthOf(right)), 'bold')}${paint(right, isGood && !paused ? 'dim' : 'warn')}`
}

function countsLine({ pulses, workers, deadLetters }: TopState, { width, paint }: TopLook): string {
  const last = pulses.at(-1)
  const plus = last?.capped === true ? '+' : ''
  const parts: [string, Tone | undefined][] = [
    [`running ${last?.running ?? 0}${plus}`, 'busy'],
    [`waiting ${last?.waiting ?? 0}${plus}`, undefined],
  ]
  if (workers !== null) {
    const { count, load, capacity } = workers
    parts.push([`workers ${count} (${load} of ${capacity})`, count === 0 ? 'bad' : undefined])
  }
  if (deadLetters !== null) {
    const { count, capped } = deadLetters
    parts.push([`dead letters ${count}${capped ? '+' : ''}`, count === 0 ? undefined : 'warn'])
  }
  const text = parts.map(([part]) => part).join('   ')
  if (widthOf(text) > width) return cut(text, width)
  return parts.map(([part, tone]) => paint(part, tone)).join('   ')
}

function rateLines(state: TopState, { width, paint }: TopLook): string[] {
  const rows = [
    ['started', 'busy'],
    ['succeeded', 'good'],
    ['failed', 'bad'],
  ] as const
  return rows.map(([field, tone]) => {
    const rate = rateOf(state, field)
    const label = `${pad(field, 10)}${pad(writeRate(rate), 8, 'right')}/s  `
    const line = sparkline(state.pulses, field, Math.max(0, Math.min(120, width - widthOf(label))))
    return `${label}${paint(line, field === 'failed' && rate === 0 ? 'dim' : tone)}`
  })
}

function writeRate(rate: number): string {
  return rate >= 100 || rate === 0 ? String(Math.round(rate)) : rate.toFixed(1)
}

/** The newest value at the right; the highest value shown has the full height. */
function sparkline(
  pulses: readonly Pulse[],
  field: 'started' | 'succeeded' | 'failed',
  width: number,
): string {
  const shown = pulses.slice(-width).map((pulse) => pulse[field] / pulse.seconds)
  const highest = Math.max(...shown, 0)
  return shown
    .map((rate) => (highest === 0 || rate === 0 ? steps[0] : steps[Math.ceil((rate / highest) * 7)]))
    .join('')
    .padStart(width)
}

function failingLines({ failing, failures }: TopState, { width, paint, nowMs }: TopLook): string[] {
  const found = failures ?? [...failing.values()]
  if (found.length === 0) return []
  const rows = found.toSorted((a, b) => b.count - a.count || b.lastMs - a.lastMs)
  const nameWidth = Math.max(8, width - 6 - 24 - 10 - 6)
  return [
    paint(cut('FAILED ATTEMPTS in the last hour', width), 'bold'),
    ...rows.map(({ jobName, errorType, count, lastMs }) => {
      const cells = [
        pad(`${count}×`, 6, 'right'),
        pad(cut(clean(jobName), nameWidth), nameWidth),
        pad(cut(errorType, 24), 24),
        pad(writeAgo(lastMs - nowMs), 10, 'right'),
      ]
      return paint(cut(cells.join('  '), width), 'bad')
    }),
  ]
}

function recentLines(state: TopState, { width, paint, nowMs }: TopLook, room: number): string[] {
  if (room < 2) return []
  const running = [...state.running.values()].toReversed()
  const half = Math.max(1, Math.floor((room - 1) / 2))
  const shownRunning = running.slice(0, Math.max(half, room - 1 - state.ended.length))
  const items = [...shownRunning, ...state.ended].slice(0, room - 1)
  const nameWidth = Math.max(8, width - 13 - 8 - 10 - 6)
  const rows = items.map((item) => {
    const { text, tone } = statusCell(item.status)
    const since = item.started_at === null ? null : nowMs - Date.parse(item.started_at)
    const took = item.finished_at === null && item.status === 'RUNNING' ? since : item.duration_ms
    const ended = item.finished_at === null ? '' : writeAgo(Date.parse(item.finished_at) - nowMs)
    const name = pad(cut(clean(item.job_name), nameWidth), nameWidth)
    const times = `${pad(took === null ? '' : writeDuration(Math.max(0, took)), 8, 'right')}  ${pad(ended, 10, 'right')}`
    return `${paint(pad(text, 13), tone)}  ${name}  ${times}`
  })
  const head = `RUNNING AND LATEST${items.length === 0 ? ': no execution yet since the start of this view' : ''}`
  return [paint(cut(head, width), 'bold'), ...rows]
}
