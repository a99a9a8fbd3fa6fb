// A Redis of its own for a measurement: own port, own directory, never the machine's service.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface RedisServer extends AsyncDisposable {
  url: string
  /** Of a tree of processes. */
  pid: number
}

/** When a write is on disk: never, about a second later, or before Redis answers. */
export type RedisDurability = 'memory' | 'everysec' | 'always'

const readyMsMax = 10_000
/** Ends with its input, which is ours: nothing is left when we are killed. */
const leash = '"$@" <&- & redis=$!; read _; kill $redis; wait $redis'

export async function startRedis(durability: RedisDurability): Promise<RedisServer> {
  installRedis()
  const dir = await mkdtemp(join(tmpdir(), 'carillon-bench-redis-'))
  const port = await freePort()
  const kept = durability === 'memory' ? ['no'] : ['yes', '--appendfsync', durability]
  const child = spawn(
    'sh',
    [
      ...['-c', leash, 'leash', 'redis-server'],
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir],
      // Without snapshots: they would fall into the windows of others.
      ...['--save', '', '--appendonly', ...kept],
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const exit = once(child, 'exit')
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk))
  const stop = async () => {
    child.stdin.end()
    await exit
    await rm(dir, { recursive: true, force: true })
  }
  const untilMs = performance.now() + readyMsMax
  while (!said.includes('Ready to accept connections')) {
    if (child.exitCode !== null || performance.now() > untilMs) {
      await stop()
      throw new Error(`redis-server did not start:\n${said}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid!, [Symbol.asyncDispose]: stop }
}

/** Debian's, as root; elsewhere somebody has to install it. */
function installRedis(): void {
  if (isInstalled('redis-server')) return
  if (process.getuid?.() !== 0 || !isInstalled('apt-get'))
    throw new Error('BullMQ needs redis-server on the PATH: apt-get install redis-server, as root.')
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'redis-server']])
    execFileSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
