// A real Carillon in real processes, started as a user would, on a data directory of its own.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { checkoutDir } from '../../src/config/read.ts'
import { isAlive } from '../../src/embedded-postgres/leash.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'

export interface ProgramOptions {
  /** Default: this Node running `carillon start`. */
  command?: readonly string[]
  /** Added to the command. */
  arguments?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Default: the checkout. */
  cwd?: string
  dataDir: string
}

export const launcher = join(checkoutDir, 'cli/bin/carillon.js')

export class Program {
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
  stdout = ''
  stderr = ''

  constructor(
    t: TestContext,
    {
      command = [process.execPath, launcher, 'start'],
      arguments: added = [],
      env = {},
      cwd = checkoutDir,
      dataDir,
    }: ProgramOptions,
  ) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(CARILLON_|npm_|NODE_TEST)/.test(name),
    )
    this.child = spawn(command[0]!, [...command.slice(1), ...added], {
      cwd,
      env: { ...Object.fromEntries(inherited), CARILLON_PORT: '0', CARILLON_DATA: dataDir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stdout!.on('data', (chunk: Buffer) => (this.stdout += chunk))
    this.child.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk))
    this.exit = once(this.child, 'close').then(([code]) => code as number | null)
    cleanUp(t, async () => {
      const tree = this.tree()
      for (const pid of tree) kill(pid, 'SIGKILL')
      await this.exit
      await untilGone(tree)
    })
  }

  /** Waits for the words on the console; returns where the API answers. */
  async ready(): Promise<string> {
    await until(
      () => /is ready\.[\s\S]*Ctrl-C/.test(this.stdout) || this.child.exitCode !== null,
      () => this.said(),
    )
    const url = /API\s+(http:\S+)/.exec(this.stdout)?.[1]
    assert(url !== undefined, this.said())
    return url
  }

  async says(words: RegExp): Promise<void> {
    await until(
      () => words.test(this.stdout),
      () => this.said(),
    )
  }

  key(): string {
    return /Key\s+(crl_\w+)/.exec(this.stdout)![1]!
  }

  said(): string {
    return `exit code ${this.child.exitCode}\n${this.stdout}\n${this.stderr}`
  }

  /** This process and everything below it. */
  tree(): number[] {
    const parents = new Map<number, number>()
    for (const line of execFileSync('ps', ['-eo', 'pid=,ppid=']).toString().trim().split('\n')) {
      const [pid, parent] = line.trim().split(/\s+/).map(Number)
      parents.set(pid!, parent!)
    }
    const found = [this.child.pid!]
    for (const pid of found)
      found.push(...[...parents].filter(([, parent]) => parent === pid).map(([one]) => one))
    return found.filter(isAlive)
  }
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
  }
}

/** A wait for the outcome, not a measurement: how long it takes is bench/newcomer.ts to say. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  await until(
    () => !pids.some(isAlive),
    () => `still running: ${pids.filter(isAlive).map(describeProcess).join('; ')}`,
  )
}

export function describeProcess(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'pid=,stat=,args=', '-p', String(pid)])
      .toString()
      .trim()
  } catch {
    return `${pid} (gone meanwhile)`
  }
}

async function until(condition: () => boolean, describeFailure: () => string): Promise<void> {
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 20) {
    if (condition()) return
    await realTimers.wait(20)
  }
  assert.fail(describeFailure())
}
