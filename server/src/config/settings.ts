// Every setting: its variable, its default, its meaning, its parser. A test keeps docs/config.md equal to this table. A
// parser returns the value or throws a BadValue that names the allowed values.
import { BlockList, isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import type { ShellCommand } from '../domain/executors/kind.ts'
import { labelsMax } from '../domain/queue/worker.ts'
import { ROLES, type Role } from '../domain/role.ts'
import type { PrivateTargets } from '../lib/http/target-guard.ts'

export type { PrivateTargets }

export interface Setting<T> {
  /** As the documentation shows it; `parse` reads it when it is not in parentheses. */
  fallback: string
  meaning: string
  parse: (text: string) => T
}

class BadValue extends Error {}

const commandsListedMax = 1_000

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const SETTINGS = {
  CARILLON_PORT: {
    fallback: '7420',
    meaning:
      'Port of the API; without the role `api`, of `/livez`, `/readyz` and `/metrics`. 0 to 65535; 0 chooses a free port.',
    parse: wholeNumber(0, 65_535),
  },
  CARILLON_HOST: {
    fallback: '127.0.0.1',
    meaning:
      'Address that the port is opened on: an IP address or a host name. `0.0.0.0` listens on every interface.',
    parse: hostName,
  },
  CARILLON_DATA: {
    fallback: '(`.carillon` in the checkout)',
    meaning:
      'Directory for the data of the embedded PostgreSQL and the generated API key. Created if missing; relative to the current directory.',
    parse: directory,
  },
  CARILLON_DATABASE_URL: {
    fallback: '(none: embedded PostgreSQL 18)',
    meaning: 'An external PostgreSQL 15 to 18, as `postgres://user:password@host:5432/database`.',
    parse: databaseUrl,
  },
  CARILLON_DATABASE_CONNECTIONS: {
    fallback: '16',
    meaning:
      'Maximum number of database connections for each process. It opens two more for leases and wake-ups; with the role `api` also up to four for reads, and two while live views are open. 4 to 500.',
    parse: wholeNumber(4, 500),
  },
  CARILLON_API_KEY: {
    fallback: '(generated, kept in the data directory)',
    meaning:
      'The bootstrap operator key. 32 to 256 visible ASCII characters, at least 10 different ones; `openssl rand -hex 32` makes one. Set the same key on every machine of a fleet.',
    parse: secret,
  },
  CARILLON_ROLES: {
    fallback: 'api,scheduler,worker,history',
    meaning:
      'Roles of this server, separated by commas. `history` folds the numbers of dashboards and prunes history; schedulers do that while no process of the installation has this role.',
    parse: roles,
  },
  CARILLON_PROCESSES: {
    fallback: '(one for every two cores, at most 8)',
    meaning:
      'Number of server processes on this machine. 1 to 64. The first process has every role; each additional one has every role except `api`. The default is 1 if this server has neither `scheduler` nor `worker`.',
    parse: wholeNumber(1, 64),
  },
  CARILLON_DRAIN_SECONDS: {
    fallback: '(8 on embedded PostgreSQL, else 30)',
    meaning: 'Time that a stopping worker gives its running attempts before it gives them up. 0 to 3600.',
    parse: wholeNumber(0, 3_600),
  },
  CARILLON_OUTAGE_SECONDS: {
    fallback: '60',
    meaning: 'Time that running attempts may continue while the database is unreachable. 10 to 86400.',
    // A value below a worker's lease would give up attempts because of a late beat.
    parse: wholeNumber(10, 86_400),
  },
  CARILLON_MISFIRE_AFTER_SECONDS: {
    fallback: '60',
    meaning: 'A slot that could not fire within this time follows the misfire policy of its job. 1 to 86400.',
    parse: wholeNumber(1, 86_400),
  },
  CARILLON_ALLOW_PRIVATE_TARGETS: {
    fallback:
      '(for the tenant `default` alone while listening on loopback only and without `CARILLON_PUBLIC_URL`, else `false`)',
    meaning:
      'Whether jobs may call private addresses, of every tenant alike: `true`, `false`, or a list of networks such as `10.0.0.0/8,fd00::/8`. Unset on loopback, the tenant `default` may, and other tenants may call `/echo` of this server. Link-local and cloud metadata addresses may be called only when listed. Set it for API and worker processes alike.',
    parse: privateTargets,
  },
  CARILLON_PUBLIC_URL: {
    fallback: '(the address of the API while listening on loopback only, else none)',
    meaning:
      'Address at which targets of jobs reach the API, such as `https://jobs.example.com`. Needed for targets that answer 202 and complete later.',
    parse: publicUrl,
  },
  CARILLON_TRUSTED_PROXIES: {
    fallback: '(none: `X-Forwarded-For` is ignored)',
    meaning:
      'Networks of your reverse proxies, such as `127.0.0.1/32,10.0.0.0/8`. Requests from them carry the address of the client in `X-Forwarded-For`; wrong keys are limited by that address.',
    parse: (text) => networks(text),
  },
  CARILLON_ECHO: {
    fallback: '(`on` while listening on loopback only and without `CARILLON_PUBLIC_URL`, else `off`)',
    meaning:
      'Whether anybody may call the trial target `/echo`: `on` or `off`. With `off` it needs an API key.',
    parse: oneOf(['on', 'off']),
  },
  CARILLON_METRICS_TOKEN: {
    fallback: '(none: `/metrics` needs no key)',
    meaning:
      'Bearer token that `/metrics` asks for. 32 to 256 visible ASCII characters, at least 10 different ones; `openssl rand -hex 32` makes one.',
    parse: secret,
  },
  CARILLON_LABELS: {
    fallback: '(none)',
    meaning:
      'Labels of the worker that runs `--handlers`, separated by commas, such as `eu-west,gpu`. At most 32.',
    parse: labels,
  },
  CARILLON_SHELL_COMMANDS: {
    fallback: '(none: no shell job runs here)',
    meaning:
      'Programs that shell jobs may run: absolute paths, separated by commas, each with the variables that a job may set, as in `/usr/local/bin/backup.sh?env=TARGET&env=MODE`. All other programs and variables are refused. See docs/executors.md.',
    parse: shellCommands,
  },
  CARILLON_ARTIFACTS: {
    fallback: 'off',
    meaning:
      'Whether jobs may run uploaded bundles of code on this machine: `on` or `off`. See docs/executors.md.',
    parse: oneOf(['on', 'off']),
  },
  CARILLON_ARTIFACTS_DIR: {
    fallback: '(none)',
    meaning: 'Directory with bundles for all tenants, as `ID.tar.gz`, in addition to uploaded bundles.',
    parse: directory,
  },
  CARILLON_ARTIFACT_CPU_SECONDS: {
    fallback: '300',
    meaning: 'CPU time, in seconds, that an attempt of a bundle may use. 1 to 86400.',
    parse: wholeNumber(1, 86_400),
  },
  CARILLON_ARTIFACT_MEMORY_MB: {
    fallback: '512',
    meaning: 'Memory, in MB, that all processes of an attempt of a bundle may use together. 64 to 1048576.',
    parse: wholeNumber(64, 1_048_576),
  },
  CARILLON_COMMANDS_MAX: {
    fallback: '16',
    meaning: 'Maximum number of shell commands and bundles that run at once on this machine. 1 to 1000.',
    parse: wholeNumber(1, 1_000),
  },
  CARILLON_COMMANDS_USER: {
    fallback: '(`carillon-jobs` for a server of root, which makes this user; else the user of the server)',
    meaning:
      'User that shell commands and bundles run as: a name, or a number with an optional group as in `1500:1500`. Never root, nor the owner of the database. Only for a server that runs as root.',
    parse: systemUser,
  },
  CARILLON_COMMANDS_FILE_MB: {
    fallback: '10240',
    meaning: 'Size, in MB, of a file that a shell command or a bundle may write. 1 to 1048576.',
    parse: wholeNumber(1, 1_048_576),
  },
  CARILLON_COMMANDS_PROCESSES: {
    fallback: '4096',
    meaning:
      'Processes and threads that the user of commands may have, counted with everything else of that user, when a shell command or a bundle starts one more. 64 to 1048576.',
    parse: wholeNumber(64, 1_048_576),
  },
  CARILLON_LOG_LEVEL: {
    fallback: 'info',
    meaning: `One of ${LOG_LEVELS.join(', ')}.`,
    parse: oneOf(LOG_LEVELS),
  },
} satisfies Record<string, Setting<unknown>>

/** By name; by numbers, when the system has no name for it. */
export type ChosenUser = { name: string } | { uid: number; gid: number }

export type SettingName = keyof typeof SETTINGS

function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max)) throw new BadValue(`is not a whole number from ${min} to ${max}`)
    return value
  }
}

function oneOf<T extends string>(allowed: readonly T[]) {
  return (text: string): T => {
    const value = allowed.find((one) => one === text.toLowerCase())
    if (value === undefined) throw new BadValue(`is not one of ${allowed.join(', ')}`)
    return value
  }
}

function hostName(text: string): string {
  if (isIP(text) === 0 && !/^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)) {
    throw new BadValue('is not an IP address or a host name')
  }
  return text
}

function directory(text: string): string {
  if (text.includes('\0') || Buffer.byteLength(text) > 4_000) throw new BadValue('is not a usable path')
  return text
}

function databaseUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new BadValue('is not of the form postgres://user:password@host:5432/database')
  }
  if (url.pathname.length < 2) throw new BadValue('names no database after the host')
  return text
}

function publicUrl(text: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && url.search === '' && url.hash === '' && url.username === ''
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new BadValue('is not of the form https://jobs.example.com')
  }
  return url.href.replace(/\/+$/, '')
}

function labels(text: string): readonly string[] {
  const given = listOf(text)
  if (given.length > labelsMax) throw new BadValue(`has more than ${labelsMax} labels`)
  for (const label of given) {
    if (!/^[A-Za-z0-9._:/-]{1,64}$/.test(label)) {
      throw new BadValue('has a label that is not 1 to 64 letters, digits or . _ : / -')
    }
  }
  return Object.freeze([...new Set(given)].toSorted())
}

function shellCommands(text: string): readonly ShellCommand[] {
  const entries = listOf(text)
  if (entries.length > commandsListedMax) throw new BadValue(`has more than ${commandsListedMax} paths`)
  return Object.freeze(entries.map(shellCommand))
}

function shellCommand(entry: string): ShellCommand {
  const [path = '', query, ...more] = entry.split('?')
  directory(path)
  if (!isAbsolute(path)) throw new BadValue('has a path that does not begin with /')
  const env = (query?.split('&') ?? []).map((pair) => /^env=([A-Za-z_][A-Za-z0-9_]*)$/.exec(pair)?.[1])
  if (more.length > 0 || env.includes(undefined))
    throw new BadValue('has variables in another form than /path?env=NAME&env=OTHER')
  return { path, env: env as string[] }
}

function systemUser(text: string): ChosenUser {
  const [, uid, gid = uid] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(text) ?? []
  if (uid !== undefined) {
    if (Number(uid) === 0 || Number(gid) === 0) throw new BadValue('is root, as whom no command runs')
    return { uid: Number(uid), gid: Number(gid) }
  }
  if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/.test(text))
    throw new BadValue('is not a user name, nor UID or UID:GID')
  if (text === 'root') throw new BadValue('is root, as whom no command runs')
  return { name: text }
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

/** A key or token that no one can guess. 32 random hexadecimal digits have 14 different ones on average. */
const differentMin = 10

function secret(text: string): string {
  const advice = 'make a random one with `openssl rand -hex 32`'
  if (!/^[\x21-\x7e]{32,256}$/.test(text))
    throw new BadValue(`is not 32 to 256 visible ASCII characters; ${advice}`)
  if (new Set(text).size < differentMin)
    throw new BadValue(
      `has fewer than ${differentMin} different characters, so it is easy to guess; ${advice}`,
    )
  return text
}

function roles(text: string): readonly Role[] {
  const chosen = text.split(',').map((name) => oneOf(ROLES)(name.trim()))
  return Object.freeze(ROLES.filter((role) => chosen.includes(role)))
}

function privateTargets(text: string): PrivateTargets {
  if (text === 'true') return { kind: 'allow' }
  if (text === 'false') return { kind: 'refuse' }
  return { kind: 'listed', cidrs: networks(text, 'true, false or ') }
}

function networks(text: string, others = ''): readonly string[] {
  const cidrs = text.split(',').map((cidr) => cidr.trim())
  for (const cidr of cidrs)
    if (!isCidr(cidr)) throw new BadValue(`is not ${others}a list of networks in CIDR form`)
  return Object.freeze(cidrs)
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', more] = text.split('/')
  if (more !== undefined || !/^\d{1,3}$/.test(bits)) return false
  const family = isIP(address)
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return false
  new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  return true
}
