// Memory of a million compiled schedules: a million different ones, then a million jobs that share a thousand
// expressions, which must share a thousand compiled forms.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compileSchedule } from '@carillon/server/domain/schedule/compile-schedule.ts'
import type { CompiledSchedule } from '@carillon/server/domain/schedule/next-run.ts'
import { epochMs } from '@carillon/server/lib/time/epoch.ts'

const million = 1_000_000
const goalMb = 200
const zones = ['UTC', 'America/New_York', 'Europe/London', 'Asia/Kolkata', 'Australia/Lord_Howe']
const days = [
  '* * *',
  '* * 1-5',
  '1,15 * *',
  'L * *',
  '15W * *',
  '* * FRI#2',
  '13 * 5',
  '* 3 *',
  '*/5 * *',
  '1 */3 *',
]

export function measureMemory(): void {
  const context = { createdAt: epochMs(Date.UTC(2026, 0, 1)) }
  const compile = (cron_expression: string, timezone: string): CompiledSchedule => {
    const answer = compileSchedule({ type: 'CRON', cron_expression, timezone }, context)
    if (!answer.ok) throw new Error(`${cron_expression}: ${answer.error.message}`)
    return answer.value.compiled
  }
  const clock = (i: number) => `${i % 60} ${Math.floor(i / 60) % 60} ${Math.floor(i / 3_600) % 24}`
  const different = (i: number) =>
    compile(`${clock(i)} ${days[Math.floor(i / 86_400) % days.length]}`, zones[Math.floor(i / 864_000)]!)
  const equal = (i: number) => compile(`${clock(i % 1_000)} * * *`, 'America/New_York')

  const before = heapMb()
  const distinct = fill(different)
  const distinctMb = heapMb() - before
  report(`${million.toLocaleString('en')} different schedules`, distinctMb, new Set(distinct).size)
  distinct.length = 0

  const again = heapMb()
  const shared = fill(equal)
  report(`${million.toLocaleString('en')} jobs, 1,000 expressions`, heapMb() - again, new Set(shared).size)
  console.log(`memory goal ${goalMb} MB: ${distinctMb <= goalMb ? 'met' : 'NOT MET'}\n`)
}

function fill(make: (i: number) => CompiledSchedule): CompiledSchedule[] {
  const made: CompiledSchedule[] = new Array(million)
  for (let i = 0; i < million; i++) made[i] = make(i)
  return made
}

function report(what: string, mb: number, forms: number): void {
  console.log(`${what}: ${mb.toFixed(0)} MB, ${forms.toLocaleString('en')} compiled forms`)
}

function heapMb(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return (heapUsed + external + arrayBuffers) / 1e6
}
