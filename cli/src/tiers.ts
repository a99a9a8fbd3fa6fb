// `carillon tiers list|get|set`: the limits of tenants, for operators.
import type { Tier, TierChanged } from '@carillon/contract/tenant.ts'
import { CarillonError } from '@carillon/sdk'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { present } from './present.ts'
import type { ColumnOf } from './table.ts'

const limit = (value: number | null) => (value === null ? 'none' : String(value))

const columns: readonly ColumnOf<Tier>[] = [
  { title: 'TIER', cell: ({ name }) => name },
  { title: 'WEIGHT', align: 'right', cell: ({ weight }) => String(weight) },
  { title: 'ACTIVE JOBS', align: 'right', cell: (tier) => limit(tier.active_jobs_max) },
  { title: 'TIMEOUT (S)', align: 'right', cell: (tier) => limit(tier.timeout_seconds_max) },
  { title: 'RUNS/MIN', align: 'right', cell: (tier) => limit(tier.executions_per_minute) },
  { title: 'AT ONCE', align: 'right', cell: (tier) => limit(tier.concurrent_executions_max) },
  { title: 'WAITING', align: 'right', cell: (tier) => limit(tier.waiting_executions_max) },
  { title: 'STORAGE', align: 'right', cell: (tier) => limit(tier.storage_bytes_max) },
  { title: 'INTERVAL (S)', align: 'right', cell: (tier) => String(tier.interval_seconds_min) },
  { title: 'PAYLOAD', align: 'right', cell: (tier) => String(tier.payload_bytes_max) },
  { title: 'RETRIES', align: 'right', cell: (tier) => String(tier.retries_max) },
  { title: 'PRIORITY', align: 'right', cell: (tier) => String(tier.priority_best) },
  { title: 'REQUESTS/S', align: 'right', cell: (tier) => limit(tier.requests_per_second) },
  { title: 'CALLS/S', align: 'right', cell: (tier) => limit(tier.host_calls_per_second) },
  { title: 'HISTORY (D)', align: 'right', cell: (tier) => String(tier.history_days) },
  { title: 'DEAD LETTERS', cell: (tier) => (tier.dead_letters ? 'yes' : 'no') },
]

export async function listTiers(context: Context): Promise<undefined> {
  const { out, signal } = context
  const { client } = await context.connect()
  return present(context, async () => {
    const json = await client.tiers.list({ signal })
    return { json, text: () => out.table(columns, json.tiers, Date.now()) }
  })
}

export async function getTier(context: Context): Promise<undefined> {
  const { out, args, signal } = context
  const { client } = await context.connect()
  return present(context, async () => {
    const tier = await client.tiers.get(args[0]!, { signal })
    return { json: tier, text: () => out.fields(fieldsOf(tier)) }
  })
}

/** Changes some limits of a tier, or makes one like another. */
export async function setTier(context: Context): Promise<undefined> {
  const { out, args, values } = context
  const name = args[0]!
  const changes = readLimits(values.list('limit'))
  const like = values.text('like') ?? null
  if (Object.keys(changes).length === 0 && like === null)
    throw new CliError(EXIT.usage, 'nothing to set: give --limit NAME=VALUE, or --like TIER.')
  const { client } = await context.connect()
  const { name: _name, ...present } = await client.tiers.get(like ?? name).catch((error: unknown) => {
    const isMissing = error instanceof CarillonError && error.status === 404
    if (!isMissing || like !== null) throw error
    throw new CliError(EXIT.notFound, `there is no tier ${name}.`, ['--like TIER makes it like another one.'])
  })
  const dryRun = values.flag('dry-run')
  const changed = await client.tiers.put(name, { ...present, ...changes }, { dryRun })
  const lines = [`${dryRun ? 'Would: t' : 'T'}he tier ${name} is set.`, ...excessLines(changed)]
  out.report(lines.join('\n'), { ...changed, dry_run: dryRun })
  return
}

/** The server judges names and values. */
function readLimits(given: readonly string[]): Record<string, number | boolean | null> {
  return Object.fromEntries(
    given.map((text) => {
      const match = /^\s*([a-z_]+)\s*=\s*(none|true|false|\d{1,12})\s*$/.exec(text)
      if (match === null) {
        const form = 'NAME=VALUE with a number, true, false or none, such as active_jobs_max=500'
        throw new CliError(EXIT.usage, `--limit is ${form}, not "${text}".`)
      }
      const [, name, value] = match
      const word = { none: null, true: true, false: false }[value!]
      return [name!, word === undefined ? Number(value) : word]
    }),
  )
}

function excessLines({ exceeding, unchecked_tenants: unchecked }: TierChanged): string[] {
  const lines = exceeding.flatMap(({ name, limits }) =>
    limits.map(({ limit: field, allowed, used, jobs }) => {
      const where = jobs === null ? '' : `, in ${jobs === 1 ? '1 job' : `${jobs} jobs`}`
      return `! ${name} is beyond ${field}: ${used} of ${allowed}${where}`
    }),
  )
  return unchecked === 0 ? lines : [...lines, `! ${unchecked} more tenants were not looked at`]
}

function fieldsOf({ dead_letters: deadLetters, ...tier }: Tier): [string, string][] {
  const rest = Object.entries(tier).map(([field, value]): [string, string] => [
    field,
    value === null ? 'none' : String(value),
  ])
  return [...rest, ['dead_letters', String(deadLetters)]]
}
