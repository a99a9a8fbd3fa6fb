// The checks of the doctor, one after the other. None of them changes anything: rights are tried by dry runs.
import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { PartitionList } from '@carillon/contract/partition.ts'
import { CarillonError, type Client, ConnectionError, createClient } from '@carillon/sdk'
import type { CommandsUserDeps } from '@carillon/server/process/commands-user.ts'
import { version } from '@carillon/server/process/version.ts'
import { dataDirs, isLocal, readAddress } from './connection.ts'
import type { Context } from './context.ts'
import { CliError } from './exit-code.ts'
import { clean } from './text.ts'
import { writeAgo, writeDuration } from './times.ts'

export type CheckState = 'ok' | 'warn' | 'fail'

export interface Check {
  name: string
  state: CheckState
  detail: string
  /** The recommended action; null: nothing to do. */
  advice: string | null
}

const partitionsMax = 64
const clockWarnMs = 2_000
const clockFailMs = 30_000
const freeBytesWarn = 2 * 1024 ** 3
const freeBytesFail = 200 * 1024 ** 2

export async function* examine(context: Context): AsyncGenerator<Check> {
  const { values, io, signal } = context
  const { url, key, keyFrom } = await readAddress(values, io)
  const reached = await checkServer(createClient({ url, retries: 0, timeoutMs: 10_000 }), url, signal)
  yield* reached.checks
  if (reached.isThere) {
    yield await checkClock(url, signal)
    if (key === null) yield fail('key', 'no API key is known', 'give --key KEY or set CARILLON_API_KEY')
    else yield* checkConnected(context, keyFrom)
  }
  if (isLocal(url)) {
    yield* checkData(io.env)
    yield* checkCommands(io.env)
  }
}

function ok(name: string, detail: string): Check {
  return { name, state: 'ok', detail: clean(detail), advice: null }
}

function warn(name: string, detail: string, advice: string): Check {
  return { name, state: 'warn', detail: clean(detail), advice }
}

function fail(name: string, detail: string, advice: string): Check {
  return { name, state: 'fail', detail: clean(detail), advice }
}

async function checkServer(
  client: Client,
  url: string,
  signal: AbortSignal,
): Promise<{ isThere: boolean; checks: Check[] }> {
  try {
    const ready = await client.ready({ signal })
    const isSame = ready.version === version
    const said = `${ready.version}${isSame ? '' : `, and this command is ${version}`}`
    const checks = [
      ok('server', `answers at ${url}, roles ${ready.roles.join(', ')}`),
      isSame ? ok('version', said) : warn('version', said, 'use the command of the same version'),
      ...Object.entries(ready.checks).map(([name, state]) =>
        state === 'ok'
          ? ok(`ready: ${name}`, 'ok')
          : fail(`ready: ${name}`, state, 'see the log of the server; docs/operations.md'),
      ),
    ]
    return { isThere: true, checks }
  } catch (error) {
    signal.throwIfAborted()
    const isAway = error instanceof ConnectionError
    const advice = isAway
      ? `start it (carillon start), or give its address: --url URL or CARILLON_URL`
      : 'see the log of the server'
    return { isThere: false, checks: [fail('server', (error as Error).message, advice)] }
  }
}

/** By the Date header, which has whole seconds. */
async function checkClock(url: string, signal: AbortSignal): Promise<Check> {
  const beforeMs = Date.now()
  const answer = await fetch(new URL('/livez', url), { signal })
  const afterMs = Date.now()
  await answer.body?.cancel()
  const serverMs = Date.parse(answer.headers.get('date') ?? '')
  if (Number.isNaN(serverMs))
    return warn('clock', 'the server does not report its time', 'compare it manually: date -u')
  // It lies between this second and the next, and the answer was under way.
  const [least, most] = [serverMs - afterMs, serverMs + 1_000 - beforeMs]
  const offMs = least > 0 ? least : most < 0 ? -most : 0
  const said =
    offMs === 0 ? 'equal to the clock of the server within a second' : `${writeDuration(offMs)} apart`
  if (offMs < clockWarnMs) return ok('clock', said)
  const advice = 'synchronise both with NTP: schedules use the clock of the database'
  return offMs < clockFailMs ? warn('clock', said, advice) : fail('clock', said, advice)
}

async function* checkConnected(context: Context, keyFrom: string): AsyncGenerator<Check> {
  try {
    const { client } = await context.connect()
    yield* checkWithKey(client, keyFrom, context.signal)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    yield fail('key', error.message, error.hints.join(' '))
  }
}

async function* checkWithKey(client: Client, keyFrom: string, signal: AbortSignal): AsyncGenerator<Check> {
  const rights = await findRights(client, signal)
  if (rights === null) {
    yield fail('key', `the key from ${keyFrom} is not valid`, 'use another: --key KEY, CARILLON_API_KEY')
    return
  }
  const { scopes, isOperator } = rights
  yield scopes.length === 0
    ? fail('key', `the key from ${keyFrom} has no rights here`, 'ask an admin for a key with scopes')
    : ok('key', `from ${keyFrom}: ${scopes.join(', ')}${isOperator ? ', operator' : ''}`)
  if (!scopes.includes('read')) return
  if (isOperator) yield* checkFleet(client, signal)
  yield await checkWorkers(client, signal, isOperator)
  yield await checkDeadLetters(client, signal)
  yield await checkOperations(client, signal)
}

/** Null: the key is not known. */
async function findRights(
  client: Client,
  signal: AbortSignal,
): Promise<{ scopes: string[]; isOperator: boolean } | null> {
  const dry = { dryRun: true, signal }
  const job = { name: 'doctor', schedule: '@yearly', execution: { callback_url: 'http://127.0.0.1/' } }
  const attempts: [string, () => Promise<unknown>][] = [
    ['read', () => client.jobs.list({ limit: 1 }, { signal }).page()],
    ['write', () => client.jobs.create(job, dry)],
    ['operate', () => client.jobs.bulk({ action: 'resume', filter: { tag: 'doctor' } }, dry)],
    ['admin', () => client.apiKeys.list({ limit: 1 }, { signal }).page()],
    ['operator', () => client.tenants.list({ limit: 1 }, { signal }).page()],
  ]
  const allowed: string[] = []
  for (const [name, attempt] of attempts) {
    try {
      await attempt()
      allowed.push(name)
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      if (error.status === 401) return null
      // Refused for another reason than the right to ask.
      if (error.status !== 403) allowed.push(name)
    }
  }
  return { scopes: allowed.filter((name) => name !== 'operator'), isOperator: allowed.includes('operator') }
}

async function* checkFleet(client: Client, signal: AbortSignal): AsyncGenerator<Check> {
  const list = await client.partitions.list({ signal })
  const { partitions, schedulers, history_processes: history } = list
  const { row_security: rowSecurity, database_connections: connections } = list
  yield checkPartitions({ partitions, schedulers })
  // A server of an older version does not say.
  if (history !== undefined) yield checkHistory(history.length, schedulers.length)
  if (rowSecurity !== undefined) yield checkRowSecurity(rowSecurity)
  if (connections !== undefined) yield checkConnections(connections)
}

/** The second wall between tenants, in the database. */
export function checkRowSecurity({ active, reason, remedy }: PartitionList['row_security']): Check {
  if (active) return ok('row security', 'holds for the reads of the API')
  const advice = `as an administrator of the database run: ${remedy} Then restart the server`
  return warn('row security', `is off: ${reason}`, advice)
}

/** The numbers of dashboards are folded by processes with the role history; schedulers stand in where there is none. */
export function checkHistory(processes: number, schedulers: number): Check {
  if (processes > 0)
    return ok(
      'history',
      `folded by ${processes} ${processes === 1 ? 'process' : 'processes'} with the role history`,
    )
  const advice = 'start a server with the role history: CARILLON_ROLES'
  if (schedulers > 0)
    return warn('history', 'no process has the role history: the schedulers fold it themselves', advice)
  return fail('history', 'no process folds it: the numbers of dashboards are not updated', advice)
}

/** A share of the connections above which a further server may find none. */
const connectionsWarn = 0.9

/** Of the server that answers: other machines of its fleet have pools of their own. */
export function checkConnections({ most, in_use, wanted }: PartitionList['database_connections']): Check {
  const advice =
    'raise max_connections of PostgreSQL, or lower CARILLON_DATABASE_CONNECTIONS or CARILLON_PROCESSES'
  const said = `the database accepts ${most} connections and ${in_use} are in use`
  if (wanted > most) return warn('connections', `${said}; this server may open ${wanted}`, advice)
  if (in_use > connectionsWarn * most) return warn('connections', said, advice)
  return ok('connections', `${said}; this server opens at most ${wanted}`)
}

function checkPartitions({
  partitions,
  schedulers,
}: Pick<PartitionList, 'partitions' | 'schedulers'>): Check {
  const held = partitions.filter(({ scheduler_id: id }) => id !== null).length
  const said = `${held} of ${partitionsMax} partitions are held, by ${schedulers.length} ${schedulers.length === 1 ? 'scheduler' : 'schedulers'}`
  if (held === partitionsMax) return ok('schedulers', said)
  return fail(
    'schedulers',
    said,
    'jobs in the other partitions do not fire: start a server with the role scheduler',
  )
}

async function checkWorkers(client: Client, signal: AbortSignal, isOperator: boolean): Promise<Check> {
  const { counts } = await client.workers.list({ limit: 1 }, { signal })
  const { active, draining, dead_last_hour: dead, running: load, capacity } = counts
  const others = `${draining === 0 ? '' : `, ${draining} draining`}${dead === 0 ? '' : `, ${dead} dead in the last hour`}`
  const said = `${active} alive, ${load} of ${capacity} at work${others}`
  // A tenant sees its own workers alone, and may have none.
  if (active === 0 && isOperator)
    return fail('workers', said, 'nothing runs: start a server with the role worker')
  if (dead > 0) return warn('workers', said, 'their executions run elsewhere; find out why they died')
  if (load >= capacity && capacity > 0) return warn('workers', said, 'all are busy: add workers or capacity')
  return ok('workers', said)
}

async function checkDeadLetters(client: Client, signal: AbortSignal): Promise<Check> {
  try {
    const { pagination, oldest_at: oldest } = await client.deadLetters.list({ limit: 1 }, { signal }).page()
    if (pagination.total === 0) return ok('dead letters', 'none')
    const age = oldest === null ? '' : `, the oldest ${writeAgo(Date.parse(oldest) - Date.now())}`
    const count = `${pagination.total}${pagination.total_capped ? ' or more' : ''}`
    return warn('dead letters', `${count} wait for a person to act${age}`, 'carillon dead-letters list')
  } catch (error) {
    // A tier may have none.
    if (error instanceof CarillonError && error.status === 422)
      return ok('dead letters', 'not part of this tier')
    throw error
  }
}

async function checkOperations(client: Client, signal: AbortSignal): Promise<Check> {
  const { operations } = await client.operations.list({ limit: 50 }, { signal }).page()
  const running = operations.filter(({ status }) => status === 'RUNNING').length
  const failed = operations.filter(({ status }) => status === 'FAILED').length
  const said = `${running} in progress, ${failed} failed of the last ${operations.length}`
  return failed === 0 ? ok('operations', said) : warn('operations', said, 'carillon operations list')
}

/** The user of commands, where the server has our settings and runs as root as we do. */
export async function* checkCommands(
  env: Context['io']['env'],
  given?: CommandsUserDeps,
): AsyncGenerator<Check> {
  const isOn = Boolean(env['CARILLON_SHELL_COMMANDS']) || env['CARILLON_ARTIFACTS'] === 'on'
  if (!isOn) return
  const { chooseCommandsUser, withoutMaking } = await import('@carillon/server/process/commands-user.ts')
  const deps = given ?? withoutMaking
  if (deps.self !== 0) return
  const { SETTINGS } = await import('@carillon/server/config/settings.ts')
  const text = env['CARILLON_COMMANDS_USER']
  const advice = 'see "The user of commands" in docs/executors.md'
  try {
    const commandsUser = text ? SETTINGS.CARILLON_COMMANDS_USER.parse(text) : null
    const found = await chooseCommandsUser({ commandsUser, dataDir: dataDirs(env)[0]! }, deps)
    if ('refusal' in found) yield fail('commands', found.refusal, advice)
    else yield ok('commands', `run as the user with id ${found.user!.uid}`)
  } catch (error) {
    yield fail('commands', `CARILLON_COMMANDS_USER ${(error as Error).message}`, advice)
  }
}

async function* checkData(env: Context['io']['env']): AsyncGenerator<Check> {
  for (const dir of dataDirs(env)) {
    const keyFile = await stat(join(dir, 'api-key')).catch(() => null)
    const found = keyFile ?? (await stat(join(dir, 'pg')).catch(() => null))
    if (found === null) continue
    if (keyFile !== null && (keyFile.mode & 0o077) !== 0)
      yield warn('data', `${dir}/api-key can be read by other users`, `chmod 600 ${dir}/api-key`)
    else yield ok('data', dir)
    const { bavail, bsize, blocks } = await statfs(dir)
    const free = bavail * bsize
    const said = `${(free / 1024 ** 3).toFixed(1)} GiB free of ${((blocks * bsize) / 1024 ** 3).toFixed(1)} GiB`
    if (free < freeBytesFail) yield fail('disk', said, 'the database will stop: free disk space now')
    else if (free < freeBytesWarn) yield warn('disk', said, 'free disk space; see docs/operations.md')
    else yield ok('disk', said)
    return
  }
}
