// The environment, read once into one frozen object. The only place that touches process.env. Every problem
// is reported in one go, by the name of its variable; a secret value is never repeated.
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import type { ShellCommand } from '../domain/executors/kind.ts'
import { kindsAllowed } from '../domain/executors/list.ts'
import type { Role } from '../domain/role.ts'
import { editDistance } from '../lib/edit-distance.ts'
import {
  type ChosenUser,
  type LogLevel,
  type PrivateTargets,
  SETTINGS,
  type SettingName,
} from './settings.ts'

export interface Config {
  readonly port: number
  /** Whether the port was chosen; otherwise it is the default. */
  readonly isPortSet: boolean
  readonly host: string
  readonly dataDir: string
  /** Null: the embedded PostgreSQL. */
  readonly databaseUrl: string | null
  /** Null: generated and kept in the data directory. */
  readonly apiKey: string | null
  readonly roles: readonly Role[]
  readonly processes: number
  readonly drainMs: number
  readonly outageMs: number
  /** To the database, of each process. */
  readonly databaseConnections: number
  readonly misfireAfterMs: number
  readonly privateTargets: PrivateTargets
  /** Where targets reach the API; null: not known. */
  readonly publicUrl: string | null
  /** Whether anybody may call /echo. */
  readonly isEchoOpen: boolean
  /** Null: metrics are open. */
  readonly metricsToken: string | null
  /** Networks of reverse proxies, whose X-Forwarded-For names the client. */
  readonly trustedProxies: readonly string[]
  /** Of the worker that runs handlers. */
  readonly labels: readonly string[]
  /** The commands that shell jobs may run. */
  readonly shellCommands: readonly ShellCommand[]
  /** Whether bundles run here. */
  readonly artifacts: boolean
  /** Null: only uploaded bundles. */
  readonly artifactsDir: string | null
  readonly artifactCpuSeconds: number
  readonly artifactMemoryMb: number
  readonly commandsMax: number
  /** Null: nobody has said. */
  readonly commandsUser: ChosenUser | null
  readonly commandsFileMb: number
  readonly commandsProcessesMax: number
  readonly logLevel: LogLevel
}

export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(
      `The configuration is not valid:\n${problems.map((p) => `  ${p}\n`).join('')}All settings: docs/config.md`,
    )
    this.problems = problems
  }
}

export interface Environment {
  readonly [name: string]: string | undefined
}

export const checkoutDir = resolve(import.meta.dirname, '../../..')

const secretSettings: readonly SettingName[] = [
  'CARILLON_API_KEY',
  'CARILLON_DATABASE_URL',
  'CARILLON_METRICS_TOKEN',
]

/** `cores`: that we may use, of the machine or of its share that we were given. */
export function readConfig(env: Environment = process.env, cores = availableParallelism()): Config {
  const problems = findUnknown(env)

  function read<N extends SettingName>(name: N): ReturnType<(typeof SETTINGS)[N]['parse']> | null {
    const setting = SETTINGS[name]
    // An empty variable counts as absent: `${X:-}` in a compose file yields one.
    const given = env[name] || null
    const text = given ?? (setting.fallback.startsWith('(') ? null : setting.fallback)
    if (text === null) return null
    try {
      return setting.parse(text) as ReturnType<(typeof SETTINGS)[N]['parse']>
    } catch (error) {
      const shown = secretSettings.includes(name) ? 'the given value' : JSON.stringify(text)
      problems.push(`${name}: ${shown} ${(error as Error).message}.`)
      return null
    }
  }

  const databaseUrl = read('CARILLON_DATABASE_URL')
  const host = read('CARILLON_HOST')!
  const drainSeconds = read('CARILLON_DRAIN_SECONDS')
  const artifactsDir = read('CARILLON_ARTIFACTS_DIR')
  const roles = read('CARILLON_ROLES')!
  const publicUrl = read('CARILLON_PUBLIC_URL')
  // A server behind a proxy listens on loopback too, and is used from other machines.
  const isLocal = isLoopback(host ?? '') && publicUrl === null
  const config: Config = {
    port: read('CARILLON_PORT')!,
    isPortSet: Boolean(env['CARILLON_PORT']),
    host,
    dataDir: resolve(read('CARILLON_DATA') ?? join(checkoutDir, '.carillon')),
    databaseUrl,
    apiKey: read('CARILLON_API_KEY'),
    roles,
    processes: read('CARILLON_PROCESSES') ?? processesFor(roles ?? [], cores),
    drainMs: 1_000 * (drainSeconds ?? (databaseUrl === null ? 8 : 30)),
    outageMs: 1_000 * read('CARILLON_OUTAGE_SECONDS')!,
    databaseConnections: read('CARILLON_DATABASE_CONNECTIONS')!,
    misfireAfterMs: 1_000 * read('CARILLON_MISFIRE_AFTER_SECONDS')!,
    privateTargets: read('CARILLON_ALLOW_PRIVATE_TARGETS') ?? { kind: isLocal ? 'own_tenant' : 'refuse' },
    isEchoOpen: (read('CARILLON_ECHO') ?? (isLocal ? 'on' : 'off')) === 'on',
    metricsToken: read('CARILLON_METRICS_TOKEN'),
    publicUrl,
    trustedProxies: read('CARILLON_TRUSTED_PROXIES') ?? [],
    labels: read('CARILLON_LABELS') ?? [],
    shellCommands: read('CARILLON_SHELL_COMMANDS') ?? [],
    artifacts: read('CARILLON_ARTIFACTS') === 'on',
    artifactsDir: artifactsDir === null ? null : resolve(artifactsDir),
    artifactCpuSeconds: read('CARILLON_ARTIFACT_CPU_SECONDS')!,
    artifactMemoryMb: read('CARILLON_ARTIFACT_MEMORY_MB')!,
    commandsMax: read('CARILLON_COMMANDS_MAX')!,
    commandsUser: read('CARILLON_COMMANDS_USER'),
    commandsFileMb: read('CARILLON_COMMANDS_FILE_MB')!,
    commandsProcessesMax: read('CARILLON_COMMANDS_PROCESSES')!,
    logLevel: read('CARILLON_LOG_LEVEL')!,
  }
  if (problems.length === 0 && config.processes > 1 && childRoles(config).length === 0) {
    problems.push(
      'CARILLON_PROCESSES: child processes would have nothing to do, as CARILLON_ROLES has only api.',
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(config)
}

const processesMost = 8

/**
 * Server processes that suit a machine when nobody says how many. JavaScript has one thread in each, and PostgreSQL takes about
 * as much as one of ours: on two cores a second one brings nothing ([m] 12,000 executions a second with one and with two).
 */
export function processesFor(roles: readonly Role[], cores: number): number {
  const hasWork = roles.includes('scheduler') || roles.includes('worker')
  return hasWork ? Math.min(processesMost, Math.max(1, Math.floor(cores / 2))) : 1
}

/** The roles of every process but the first, which alone listens on the port. */
export function childRoles(config: Config): readonly Role[] {
  return config.roles.filter((role) => role !== 'api')
}

/** Whether this server runs commands, in a process of their own. */
export function runsCommands(config: Config): boolean {
  return config.roles.includes('worker') && kindsAllowed(config, true).length > 0
}

/** All that a command gets of our environment: the rest has our secrets in it. */
export function commandVariables(env: Environment = process.env): Readonly<Record<string, string>> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG } = env
  return LANG === undefined ? { PATH } : { PATH, LANG }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** npm and npx set this for the programs they run. */
export function isRunByNpm(env: Environment = process.env): boolean {
  return env['npm_lifecycle_event'] !== undefined
}

/** The address of the server for clients: set in the shell of a user that tries both. */
const clientVariable = 'CARILLON_URL'

// A misspelt variable that is silently ignored is a setting its owner believes in: refuse it.
function findUnknown(env: Environment): string[] {
  const known = Object.keys(SETTINGS)
  return Object.keys(env)
    .filter((name) => name.startsWith('CARILLON_') && !known.includes(name) && name !== clientVariable)
    .map((name) => {
      // One wrong letter in four may be a misspelling; more is another word.
      const limit = 2 + Math.floor((name.length - 'CARILLON_'.length) / 4)
      const near = known.find((one) => editDistance(one, name, limit) < limit)
      return `${name} is not a setting.${near === undefined ? '' : ` Did you mean ${near}?`}`
    })
}
