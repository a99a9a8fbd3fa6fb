// The PostgreSQL process: starting it on a leash, finding the one that runs on a directory, stopping it.
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Timers } from '../ports/timers.ts'
import type { Binaries } from './binaries.ts'
import { withDataAccess } from './data-directory.ts'
import { isAlive, type Leash, runOnLeash, sendSignal } from './leash.ts'
import { boundLog } from './log-file.ts'
import type { SystemUser } from './system-user.ts'

/** The port in the socket's file name. No TCP port is opened. */
const socketName = '.s.PGSQL.5432'
/** How long an immediate shutdown may take; PostgreSQL itself would wait 5 s for children that hang. */
const immediateMs = 300
/** How long the system may take to clear away a killed process. */
const killedMs = 1_000

export interface StartOptions {
  pgDir: string
  logFile: string
  user: SystemUser | null
  binaries: Binaries
  settings: Readonly<Record<string, string>>
}

export async function startPostgres(options: StartOptions): Promise<{ leash: Leash; logOffset: number }> {
  const { pgDir, logFile, user, binaries, settings } = options
  await boundLog(logFile)
  const log = await open(logFile, 'a', 0o600)
  try {
    const { size: logOffset } = await log.stat()
    return await withDataAccess(pgDir, user, async ({ argument, descriptor }) => {
      const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      const command = [binaries.postgres, '-D', argument, ...flags]
      const leash = runOnLeash(command, { user, output: log.fd, descriptor })
      return { leash, logOffset }
    })
  } finally {
    await log.close()
  }
}

/** The process id of the PostgreSQL that runs on this directory; null when none does. */
export async function findPostmaster(pgDir: string): Promise<number | null> {
  const pid = await readPid(join(pgDir, 'postmaster.pid'))
  return pid !== null && (await runsOn(pid, pgDir)) ? pid : null
}

/**
 * Removes lock files that name a process which is alive but is not PostgreSQL on this directory: a reboot or
 * a new container gives old numbers to new processes, and PostgreSQL would refuse to start. Files of dead
 * processes it removes by itself.
 */
export async function removeStaleLocks(pgDir: string): Promise<void> {
  for (const name of ['postmaster.pid', `${socketName}.lock`]) {
    const pid = await readPid(join(pgDir, name))
    if (pid !== null && isAlive(pid) && !(await runsOn(pid, pgDir)))
      await rm(join(pgDir, name), { force: true })
  }
}

/**
 * Asks for a fast shutdown, then for an immediate one (safe: the log is replayed), then kills it with all its
 * children: one that hangs would outlive it and keep the next PostgreSQL from starting.
 */
export async function stopPostgres(pgDir: string, timers: Timers, withinMs: number): Promise<void> {
  const pid = await findPostmaster(pgDir)
  if (pid === null) return
  sendSignal(pid, 'SIGINT')
  if (await areGone([pid], timers, withinMs)) return
  const children = await childrenOf(pid)
  sendSignal(pid, 'SIGQUIT')
  if (await areGone([pid], timers, immediateMs)) return
  const all = [pid, ...children]
  for (const one of all) sendSignal(one, 'SIGKILL')
  await areGone(all, timers, killedMs)
}

async function areGone(pids: readonly number[], timers: Timers, withinMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += 20) {
    await timers.wait(20)
    if (!pids.some(isAlive)) return true
  }
  return false
}

async function childrenOf(parent: number): Promise<number[]> {
  const children: number[] = []
  for (const pid of await listPids()) if ((await parentOf(pid)) === parent) children.push(pid)
  return children
}

/** Whether this leash holds that process. */
export async function isOnLeash(pid: number, leash: Leash): Promise<boolean> {
  return leash.pid !== undefined && (await parentOf(pid)) === leash.pid
}

// /proc where there is one: a small container has no ps.
async function listPids(): Promise<number[]> {
  const names =
    process.platform === 'linux' ? await readdir('/proc') : (await ps(['-eo', 'pid='])).split('\n')
  return names.map(Number).filter((pid) => pid > 0)
}

async function parentOf(pid: number): Promise<number | null> {
  if (process.platform !== 'linux') return Number(await ps(['-o', 'ppid=', '-p', String(pid)])) || null
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name in parentheses may hold anything; the fields after it are state and parent.
  return Number(/.*\) \S (\d+)/.exec(stat)?.[1]) || null
}

async function ps(args: string[]): Promise<string> {
  return promisify(execFile)('ps', args).then(
    ({ stdout }) => stdout,
    () => '',
  )
}

async function readPid(file: string): Promise<number | null> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return pid > 0 ? pid : null
}

// PostgreSQL makes its data directory its current directory, which tells it from any other process. Where there
// is no /proc, its name has to do.
async function runsOn(pid: number, pgDir: string): Promise<boolean> {
  if (process.platform !== 'linux')
    return isAlive(pid) && (await ps(['-o', 'comm=', '-p', String(pid)])).includes('postgres')
  const [cwd, dir] = await Promise.all([readlink(`/proc/${pid}/cwd`).catch(() => null), realpath(pgDir)])
  return cwd === dir
}

/**
 * Where a client finds the socket. A socket's path may have 107 bytes at most; a longer one is reached through
 * a descriptor of ours, which this process keeps open.
 */
export async function reachSocketDir(pgDir: string): Promise<string> {
  if (Buffer.byteLength(join(pgDir, socketName)) <= 103 || process.platform !== 'linux') return pgDir
  const handle = await open(pgDir, constants.O_RDONLY | constants.O_DIRECTORY)
  keptOpen.push(handle)
  return `/proc/self/fd/${handle.fd}`
}

// A FileHandle that is garbage collected closes its descriptor.
const keptOpen: unknown[] = []
