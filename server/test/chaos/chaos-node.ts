// One server of a run: a real process of `carillon start` with one role, a data directory and a network of its own. It is
// killed, stopped, paused and started again; that it ends by itself is noted, for it never should.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { checkoutDir } from '../../src/config/read.ts'
import { sendSignal } from '../../src/embedded-postgres/leash.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Guard } from './guard.ts'
import type { TcpProxy } from './proxy.ts'

export const NODE_ROLES = ['scheduler', 'worker', 'api'] as const
export type NodeRole = (typeof NODE_ROLES)[number]

export interface NodeOptions {
  name: string
  role: NodeRole
  dir: string
  guard: Guard
  proxy: TcpProxy
  databaseUrl: string
  key: string
  /** Of the API. */
  port: number
}

/** How a process differs from the others. */
export interface StartOptions {
  /** The checkout to run the program from. Default: this one. */
  checkout?: string
  env?: Readonly<Record<string, string>>
}

const drainSeconds = 5
/** More than the drain and the good-byes after it. */
const stopMsMax = 20_000
const readyMsMax = 75_000

export class ChaosNode {
  readonly name: string
  readonly role: NodeRole
  readonly proxy: TcpProxy
  /** How it ended, when nobody had asked for it. */
  readonly deaths: string[] = []
  readonly #options: NodeOptions
  readonly #log: WriteStream
  #child: ChildProcess | null = null
  #exit: Promise<unknown> = Promise.resolve()
  /** Somebody has asked for its end. */
  #isDoomed = false
  #said = ''
  #line = ''
  #id: string | null = null

  constructor(options: NodeOptions) {
    this.name = options.name
    this.role = options.role
    this.proxy = options.proxy
    this.#options = options
    this.#log = createWriteStream(join(options.dir, `${options.name}.log`))
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  get isRunning(): boolean {
    return this.#child !== null
  }

  get url(): string {
    return `http://127.0.0.1:${this.#options.port}`
  }

  /** As the tables know the process that runs: of a scheduler or a worker. */
  get ids(): string[] {
    return this.#id === null || this.#child === null ? [] : [this.#id]
  }

  /** Returns when it serves; false: it did not come so far, and has ended. */
  async start(options: StartOptions = {}): Promise<boolean> {
    if (this.#child !== null) throw new Error(`${this.name} runs already`)
    const child = this.#spawn(options)
    const deadline = performance.now() + readyMsMax
    while (this.#child === child && performance.now() < deadline) {
      if (/is ready\./.test(this.#said)) return true
      await realTimers.wait(50)
    }
    return false
  }

  async kill(): Promise<void> {
    this.#isDoomed = true
    if (this.pid !== null) sendSignal(this.pid, 'SIGKILL')
    await this.#exit
  }

  /** Asks it to stop; false: it had to be killed, because it took too long. */
  async stop(): Promise<boolean> {
    this.#isDoomed = true
    const pid = this.pid
    if (pid === null) return true
    sendSignal(pid, 'SIGTERM')
    const stopping = new AbortController()
    const ended = this.#exit.then(() => true)
    const late = realTimers.wait(stopMsMax, stopping.signal).then(() => false)
    const inTime = await Promise.race([ended, late])
    stopping.abort()
    if (!inTime) await this.kill()
    return inTime
  }

  pause(): void {
    if (this.pid !== null) sendSignal(this.pid, 'SIGSTOP')
  }

  resume(): void {
    if (this.pid !== null) sendSignal(this.pid, 'SIGCONT')
  }

  close(): void {
    this.#log.end()
  }

  #spawn({ checkout = checkoutDir, env = {} }: StartOptions): ChildProcess {
    const { name, role, dir, guard, databaseUrl, key, port } = this.#options
    const inherited = Object.entries(process.env).filter(
      ([one]) => !/^(CARILLON_|npm_|NODE_|TEST_|PLANTED)/.test(one),
    )
    const child = spawn(process.execPath, [join(checkout, 'cli/bin/carillon.js'), 'start'], {
      cwd: checkout,
      env: {
        ...Object.fromEntries(inherited),
        CARILLON_ROLES: role,
        CARILLON_PROCESSES: '1',
        CARILLON_PORT: String(port),
        CARILLON_DATA: join(dir, name),
        CARILLON_DATABASE_URL: databaseUrl,
        CARILLON_API_KEY: key,
        CARILLON_ALLOW_PRIVATE_TARGETS: 'true',
        CARILLON_DRAIN_SECONDS: String(drainSeconds),
        CARILLON_LOG_LEVEL: 'debug',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C is for us to answer.
      detached: true,
    })
    this.#child = child
    this.#isDoomed = false
    this.#said = ''
    this.#line = ''
    this.#id = null
    if (child.pid !== undefined) guard.watch(child.pid)
    child.stdout!.on('data', (chunk: Buffer) => (this.#said += chunk))
    child.stderr!.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#exit = once(child, 'exit').then(([code, signal]) => this.#ended(child, code ?? signal))
    return child
  }

  #ended(child: ChildProcess, how: number | string): void {
    if (child.pid !== undefined) this.#options.guard.prune(child.pid)
    this.#child = null
    this.#log.write(`{"rig":"ended","how":${JSON.stringify(how)}}\n`)
    if (!this.#isDoomed)
      this.deaths.push(`${this.name} ended by itself (${how}) at ${new Date().toISOString()}`)
  }

  /** Its log is kept, and says under which id it goes. */
  #read(chunk: Buffer): void {
    this.#log.write(chunk)
    const lines = `${this.#line}${chunk}`.split('\n')
    this.#line = lines.pop()!
    for (const line of lines) {
      const id = /"(?:workerId|schedulerId)":"([^"]+)"/.exec(line)?.[1]
      if (id !== undefined && /"event":"(worker\.registered|partitions\.changed)"/.test(line)) this.#id = id
    }
  }
}
