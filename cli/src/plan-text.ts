// A plan in lines: the objects that would be created, changed and deleted, and how.
import type { Change } from './merge-patch.ts'
import type { Output } from './output.ts'
import type { Plan, PlannedStep } from './plan.ts'
import { clean, cut, pad } from './text.ts'
import type { Tone } from './tone.ts'

const looks: Readonly<Record<PlannedStep['action'], { sign: string; tone: Tone }>> = {
  create: { sign: '+', tone: 'good' },
  change: { sign: '~', tone: 'warn' },
  delete: { sign: '-', tone: 'bad' },
  none: { sign: '=', tone: 'dim' },
}
const valueWidthMax = 60
const keyWidthMax = 32

export function writePlan({ steps, summary }: Plan, out: Output): string {
  const told = steps.filter(({ action }) => action !== 'none')
  const width = Math.min(keyWidthMax, Math.max(0, ...told.map(({ key }) => key.length)))
  const lines = told.flatMap((step) => {
    const { sign, tone } = looks[step.action]
    const kind = step.kind === 'calendar' ? 'calendar ' : ''
    const head =
      `${sign} ${pad(step.action, 6)}  ${kind}${pad(clean(step.key), width)}  ${clean(step.name)}`.trimEnd()
    const changes = step.changes.map((change) => `      ${clean(writeChange(change))}`)
    return [out.paint(head, tone), ...changes]
  })
  const { create, change, delete: deleted, unchanged } = summary
  const counts = `${create} to create, ${change} to change, ${deleted} to delete, ${unchanged} unchanged`
  return [
    ...lines,
    ...(lines.length > 0 ? [''] : []),
    isEmpty(summary) ? `No changes: ${unchanged} unchanged.` : `Plan: ${counts}.`,
    '',
  ].join('\n')
}

export function isEmpty({ create, change, delete: deleted }: Plan['summary']): boolean {
  return create + change + deleted === 0
}

/** `schedule.cron_expression: "0 2 * * *" -> "0 3 * * *"` */
export function writeChange({ path, from, to }: Change): string {
  if (from === '***' && to === '***') return `${path}: a value that is not shown`
  const before = from === undefined ? '(default)' : writeValue(from)
  const after = to === undefined ? '(default)' : writeValue(to)
  return `${path}: ${before} -> ${after}`
}

function writeValue(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'none', valueWidthMax)
}
