// JSON lines in, JSON lines out, in order. A bad line gets an error line and the next one is read; a line that is too
// long is thrown away as it arrives, so memory does not depend on the input.
import { once } from 'node:events'
import { compileSchedule } from '@carillon/server/domain/schedule/compile-schedule.ts'
import { readInstant } from '@carillon/server/domain/schedule/instant.ts'
import { nextSlot } from '@carillon/server/domain/schedule/next-run.ts'
import { type EpochMs, epochMs, toRfc3339 } from '@carillon/server/lib/time/epoch.ts'
import type { Io } from './io.ts'

const lineLengthMax = 4_096
const countMax = 1_000
const countDefault = 10
const known = new Set(['expr', 'tz', 'from', 'count', 'dst_gap', 'dst_fold'])

interface Asked {
  expr: string
  tz?: string
  from?: string
  count?: number
  dst_gap?: 'run_after' | 'skip'
  dst_fold?: 'first' | 'both'
}

interface LineError {
  code: string
  message: string
  field: string | null
}

type Answer = { next: string[] } | { error: LineError }

export async function answerLines(io: Pick<Io, 'stdin' | 'stdout'>, now: EpochMs): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  let tooLong = false
  const answers: string[] = []
  const take = (line: string) => {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    if (tooLong || text.length > lineLengthMax) answers.push(JSON.stringify(longLine()))
    else if (text.trim() !== '') answers.push(JSON.stringify(answerLine(text, now)))
    tooLong = false
  }
  for await (const chunk of io.stdin) {
    const lines = (
      rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
    ).split('\n')
    rest = lines.pop()!
    for (const line of lines) take(line)
    if (rest.length > lineLengthMax) {
      tooLong = true
      rest = ''
    }
    await flush(io, answers)
  }
  if (rest !== '' || tooLong) take(rest)
  await flush(io, answers)
}

async function flush({ stdout }: Pick<Io, 'stdout'>, answers: string[]): Promise<void> {
  if (answers.length === 0) return
  const text = `${answers.join('\n')}\n`
  answers.length = 0
  if (!stdout.write(text)) await once(stdout, 'drain')
}

function answerLine(line: string, now: EpochMs): Answer {
  const asked = readLine(line)
  if ('error' in asked) return asked
  const { expr, tz, from, count = countDefault, dst_gap, dst_fold } = asked
  const instant = from === undefined ? null : readInstant(from, 'from', null)
  if (instant !== null && !instant.ok) return refused(instant.error)
  const after = instant === null ? now : epochMs(Math.floor(instant.value * 1000))
  const context = { createdAt: after, ...(tz === undefined ? {} : { timezone: tz }) }
  let answer = compileSchedule(expr, context)
  if (answer.ok && (dst_gap !== undefined || dst_fold !== undefined)) {
    const choice = {
      ...(dst_gap === undefined ? {} : { dst_gap }),
      ...(dst_fold === undefined ? {} : { dst_fold }),
    }
    answer = compileSchedule({ ...answer.value.definition, ...choice }, context)
  }
  if (!answer.ok) return refused(answer.error)
  const next: string[] = []
  let slot = nextSlot(answer.value.compiled, after)
  while (slot !== null && next.length < count) {
    next.push(toRfc3339(slot))
    slot = nextSlot(answer.value.compiled, slot)
  }
  return { next }
}

function readLine(line: string): Asked | { error: LineError } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return bad('The line is not JSON.', null)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return bad('A line must be an object.', null)
  const asked = value as Record<string, unknown>
  for (const name of Object.keys(asked)) {
    if (!known.has(name)) return bad(`There is no field "${name.slice(0, 64)}".`, name.slice(0, 64))
    if (asked[name] === null) delete asked[name]
  }
  for (const name of ['expr', 'tz', 'from', 'dst_gap', 'dst_fold']) {
    if (asked[name] === undefined ? name === 'expr' : typeof asked[name] !== 'string') {
      return bad(`"${name}" must be a string.`, name)
    }
  }
  const count = asked['count']
  if (count !== undefined && !(Number.isInteger(count) && Number(count) >= 1 && Number(count) <= countMax)) {
    return bad(`"count" is 1 to ${countMax}.`, 'count')
  }
  return asked as unknown as Asked
}

function refused({ code, message, field }: LineError): Answer {
  return { error: { code, message, field } }
}

function bad(message: string, field: string | null): { error: LineError } {
  return { error: { code: 'BAD_LINE', message, field } }
}

function longLine(): Answer {
  return {
    error: { code: 'LINE_TOO_LONG', message: `A line has at most ${lineLengthMax} characters.`, field: null },
  }
}
