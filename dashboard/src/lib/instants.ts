// Sentences of the server name instants as on the wire, in UTC. On a page each is shown on the clock that the person
// chose, with its zone: the same digits never mean two instants.
import { clockOf, formatClock, type TimeMode, zoneName } from './format.ts'

export type Part = { text: string } | { instant: string }

const pattern = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)/g

/** The sentence in parts, each a text or an instant. */
export function splitInstants(sentence: string): Part[] {
  const parts: Part[] = []
  let end = 0
  for (const { 0: instant, index } of sentence.matchAll(pattern)) {
    if (Number.isNaN(Date.parse(instant))) continue
    if (index > end) parts.push({ text: sentence.slice(end, index) })
    parts.push({ instant })
    end = index + instant.length
  }
  if (end < sentence.length) parts.push({ text: sentence.slice(end) })
  return parts
}

/** "23:20:00 CET": an instant within a sentence, where "3 min ago" would not fit. */
export function formatInstantInText(instant: string, mode: TimeMode, nowMs: number): string {
  const clock = clockOf(mode)
  return `${formatClock(new Date(instant), clock, nowMs)} ${zoneName(clock, Date.parse(instant))}`
}

/** For titles and labels, which cannot hold elements. */
export function withInstants(sentence: string, mode: TimeMode, nowMs: number): string {
  return splitInstants(sentence)
    .map((part) => ('text' in part ? part.text : formatInstantInText(part.instant, mode, nowMs)))
    .join('')
}
