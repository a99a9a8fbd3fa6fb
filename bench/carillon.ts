// Starts a Carillon of its own for a measurement, as `npm start` would, and stops it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Carillon extends AsyncDisposable {
  child: ChildProcess
  url: string
  /** The operator key. */
  key: string
  /** Everything it has printed for people. */
  stdout: () => string
  /** From the start of the process to the first 200 of /readyz. */
  readyMs: number
  stop(signal: NodeJS.Signals): Promise<number>
}

export async function makeDataDir(): Promise<AsyncDisposable & { path: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-bench-'))
  return {
    path: join(dir, 'data'),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true, maxRetries: 10 }),
  }
}

/** Targets are on this machine, and tenants other than `default` may call only listed private ones. */
const targets = { CARILLON_ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' }

/** `env`: settings in addition to the data directory and the port. */
export async function startCarillon(
  dataDir: string,
  port = 17_420,
  env: Record<string, string> = {},
): Promise<Carillon> {
  const startedMs = performance.now()
  const child = spawn('npm', ['start'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, ...targets, ...env, CARILLON_DATA: dataDir, CARILLON_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout!.on('data', (chunk: Buffer) => (said += chunk))
  const exit = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
    if (performance.now() - startedMs > 60_000) throw new Error('not ready within 60 s')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const readyMs = performance.now() - startedMs
  async function stop(signal: NodeJS.Signals): Promise<number> {
    const stoppedMs = performance.now()
    child.kill(signal)
    await exit
    return performance.now() - stoppedMs
  }
  return {
    child,
    url,
    key: (await readFile(join(dataDir, 'api-key'), 'utf8')).trim(),
    stdout: () => said,
    readyMs,
    stop,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await stop('SIGTERM')
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}
