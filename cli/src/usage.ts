// `carillon usage`: the tenant against the limits of its tier, and with `--days` how much it ran.
import { durationUnitsMs } from '@carillon/contract/constants.ts'
import { type Usage, type UsageDay, usageDaysMax } from '@carillon/contract/tenant.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { present } from './present.ts'
import type { ColumnOf } from './table.ts'
import { instantCell } from './times.ts'

const columns: readonly ColumnOf<Usage>[] = [
  { title: 'LIMIT', cell: ({ name }) => name },
  { title: 'USED', align: 'right', cell: ({ used, capped }) => `${used}${capped ? '+' : ''}` },
  { title: 'OF', align: 'right', cell: ({ limit }) => (limit === null ? 'none' : String(limit)) },
  {
    title: 'STATE',
    cell: ({ alarm }) => (alarm ? { text: '80 % or more', tone: 'bad' } : { text: 'fine', tone: 'good' }),
  },
  {
    title: 'RESETS',
    cell: ({ resets_at: at }, nowMs) => (at === null ? 'with use' : instantCell(at, nowMs)),
  },
]

const count = (title: string, cell: (day: UsageDay) => number): ColumnOf<UsageDay> => {
  return { title, align: 'right', cell: (day) => String(cell(day)) }
}
const dayColumns: readonly ColumnOf<UsageDay>[] = [
  { title: 'DATE', cell: ({ date }) => date },
  count('EXECUTIONS', ({ executions }) => executions),
  count('SUCCEEDED', ({ succeeded }) => succeeded),
  count('FAILED', ({ failed }) => failed),
  count('TIMED OUT', (day) => day.timed_out),
  count('CANCELLED', ({ cancelled }) => cancelled),
  count('SKIPPED', ({ skipped }) => skipped),
  count('RETRIES', ({ retries }) => retries),
  count('DEAD LETTERS', (day) => day.dead_letters),
]

const dayMs = durationUnitsMs.d

export async function showUsage(context: Context): Promise<undefined> {
  const { out, values, signal } = context
  const days = values.number('days') ?? null
  if (days !== null && (days < 1 || days > usageDaysMax || !Number.isInteger(days)))
    throw new CliError(EXIT.usage, `--days is a whole number from 1 to ${usageDaysMax}.`)
  const { client } = await context.connect()
  const { tenant } = await client.session.get({ signal })
  return present(context, async () => {
    if (days !== null) {
      // The last of them is today.
      const query = { from: new Date(Date.now() - (days - 1) * dayMs).toISOString() }
      const json = await client.tenants.usageDays(tenant.tenant_id, query, { signal })
      return { json, text: () => out.table(dayColumns, json.days, Date.now()) }
    }
    const json = await client.tenants.usage(tenant.tenant_id, { signal })
    const say = [`The tenant ${tenant.name} is on the tier ${json.tier}.`]
    return { json, text: () => out.table(columns, json.usage, Date.now()), say }
  })
}
