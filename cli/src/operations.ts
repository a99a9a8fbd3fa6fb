// `carillon operations list|get|cancel`: long work that somebody asked for by a filter.
import type { Operation } from '@carillon/contract/operation.ts'
import type { Context } from './context.ts'
import { present } from './present.ts'
import { presentList } from './present-list.ts'
import { writeProgress } from './progress.ts'
import type { ColumnOf } from './table.ts'
import { instantCell } from './times.ts'
import { statusCell } from './tone.ts'

const columns: readonly ColumnOf<Operation>[] = [
  { title: 'OPERATION ID', cell: (operation) => operation.operation_id },
  { title: 'KIND', cell: (operation) => operation.kind },
  { title: 'STATUS', cell: (operation) => statusCell(operation.status) },
  { title: 'DONE', align: 'right', cell: ({ progress }) => String(progress.done) },
  {
    title: 'TOTAL',
    align: 'right',
    cell: ({ progress: { total, total_capped: capped } }) => `${total}${capped ? '+' : ''}`,
  },
  { title: 'ASKED', cell: (operation, nowMs) => instantCell(operation.created_at, nowMs) },
  { title: 'FILTER', flexible: true, wideOnly: true, cell: ({ filter }) => JSON.stringify(filter) },
  { title: 'BY', wideOnly: true, cell: (operation) => operation.created_by },
]

export async function listOperations(context: Context): Promise<undefined> {
  const { client } = await context.connect()
  return presentList(context, {
    name: 'operations',
    list: (page) => client.operations.list(page, { signal: context.signal }),
    columns,
    none: ['No operations in the last 7 days.'],
  })
}

export async function getOperation(context: Context): Promise<undefined> {
  const { out, args, signal } = context
  const { client } = await context.connect()
  return present(context, async () => {
    const operation = await client.operations.get(args[0]!, { signal })
    const { progress } = operation
    const nowMs = Date.now()
    const elapsedMs =
      Date.parse(operation.finished_at ?? new Date().toISOString()) - Date.parse(operation.created_at)
    const done = progress.done + progress.skipped
    const total = progress.total_capped ? null : progress.total
    return {
      json: operation,
      text: () =>
        out.fields([
          ['operation id', operation.operation_id],
          ['kind', operation.kind],
          ['status', statusCell(operation.status)],
          ['progress', writeProgress({ what: '', done, total, note: '', elapsedMs }).trim()],
          ['left alone', progress.skipped === 0 ? null : String(progress.skipped)],
          ['filter', JSON.stringify(operation.filter)],
          ['asked', instantCell(operation.created_at, nowMs)],
          ['by', operation.created_by],
          ['error', operation.error === null ? null : { text: operation.error, tone: 'bad' }],
        ]),
    }
  })
}

export async function cancelOperation(context: Context): Promise<undefined> {
  const { out, args } = context
  const { client } = await context.connect()
  const operation = await client.operations.cancel(args[0]!)
  out.report(`${operation.operation_id} is ${operation.status.toLowerCase()}.`, operation)
  return
}
