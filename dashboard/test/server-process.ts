// A real Carillon for the browser tests: started as `npm start` does, on a port and a data directory of its own, ended
// by its process id.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const readyMsMax = 240_000
const stopMsMax = 30_000

export interface ServerOptions {
  arguments?: readonly string[]
  /** Default: any that is free. */
  port?: number
  /** One that was used before; default: a new one. */
  dataDir?: string
}

export class ServerProcess {
  readonly dataDir: string
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #said = ''

  private constructor(dataDir: string, options: ServerOptions) {
    this.dataDir = dataDir
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(CARILLON_|npm_|NODE_TEST)/.test(name),
    )
    this.#child = spawn(
      process.execPath,
      [join(root, 'cli/bin/carillon.js'), 'start', ...(options.arguments ?? [])],
      {
        cwd: root,
        env: {
          ...Object.fromEntries(inherited),
          CARILLON_PORT: String(options.port ?? 0),
          CARILLON_DATA: dataDir,
          CARILLON_PROCESSES: '1',
          CARILLON_LOG_LEVEL: 'warn',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.#said += chunk))
    this.#closed = once(this.#child, 'close')
  }

  /** Returns once it says that it is ready. */
  static async start(options: ServerOptions = {}): Promise<ServerProcess> {
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'carillon-browser-')))
    const server = new ServerProcess(dataDir, options)
    const startedMs = performance.now()
    while (!/is ready\.[\s\S]*Ctrl-C/.test(server.#said)) {
      const isLate = performance.now() - startedMs > readyMsMax
      if (isLate) await server.stop()
      assert(!isLate && server.#child.exitCode === null, `The server did not start:\n${server.#said}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return server
  }

  get url(): string {
    return /API\s+(http:\S+)/.exec(this.#said)![1]!
  }

  get key(): string {
    return /Key\s+(crl_\w+)/.exec(this.#said)![1]!
  }

  /** The one-time link. */
  get link(): string {
    return /Open\s+(http:\S+)/.exec(this.#said)![1]!
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** The data stays, for a next start. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopMsMax)
    await this.#closed
    clearTimeout(timer)
  }

  async remove(): Promise<void> {
    await this.stop()
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}
