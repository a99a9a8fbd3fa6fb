// Their side of `bench handlers`: a peer in two processes of its own, and rounds of it.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Round } from './handlers-ours.ts'
import { wait } from './load.ts'
import { loadPeer, type PeerName } from './peers/peer.ts'
import type { Order, Word } from './peers/process.ts'
import { measureTree } from './process-tree.ts'

export interface RunningPeer extends AsyncDisposable {
  /** From the first call that enqueues until the last job's end is on record. */
  round(jobs: number): Promise<Round>
}

const lookEveryMs = 5
const roundMsMax = 120_000

export async function startPeer(
  name: PeerName,
  place: string,
  storeCpuSeconds: () => number,
): Promise<RunningPeer> {
  await using resources = new AsyncDisposableStack()
  const peer = await loadPeer(name)
  await peer.prepare(place)
  const queue = resources.use(await peer.createQueue(place))
  const enqueuer = resources.use(await startProcess([name, 'enqueue', place]))
  const worker = resources.use(await startProcess([name, 'work', place]))
  const cpuSeconds = () =>
    measureTree(enqueuer.pid).cpuSeconds + measureTree(worker.pid).cpuSeconds + storeCpuSeconds()
  const started = resources.move()
  let keptBefore = 0
  return {
    async round(jobs) {
      await worker.ask({ expect: jobs })
      const before = cpuSeconds()
      const startedMs = performance.now()
      const ran = worker.next('ran', roundMsMax)
      await Promise.all([enqueuer.ask({ enqueue: jobs }), ran])
      while ((await queue.countOpen()) > 0) {
        if (performance.now() - startedMs > roundMsMax) throw new Error(`${name}: some jobs never ended`)
        await wait(lookEveryMs)
      }
      const seconds = (performance.now() - startedMs) / 1_000
      const cpuUs = ((cpuSeconds() - before) * 1e6) / jobs
      const kept = await queue.countKept()
      if (peer.keepsEnded && kept - keptBefore !== jobs)
        throw new Error(`${name}: ${kept - keptBefore} ends are on record instead of ${jobs}`)
      keptBefore = kept
      return { perS: jobs / seconds, cpuUs }
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

interface PeerProcess extends AsyncDisposable {
  pid: number
  /** Its next word of this kind. */
  next(word: string, withinMs: number): Promise<void>
  /** Until it has answered. */
  ask(order: Order): Promise<void>
}

async function startProcess(args: string[]): Promise<PeerProcess> {
  // graphile-worker would write a line for each job.
  const env = { ...process.env, NO_LOG_SUCCESS: '1' }
  const child = fork(join(import.meta.dirname, 'peers', 'process.ts'), args, { env })
  const exit = once(child, 'exit')
  const what = args.slice(0, 2).join(' ')
  const next = (word: string, withinMs: number) => nextWord(child, { what, word, withinMs })
  await next('ready', 30_000)
  return {
    pid: child.pid!,
    next,
    async ask(order) {
      const answer = next('done', roundMsMax)
      child.send(order)
      await answer
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.send({ stop: true } satisfies Order)
      await exit
    },
  }
}

function nextWord(
  child: ChildProcess,
  { what, word, withinMs }: { what: string; word: string; withinMs: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (said: Word) => {
      if (said === word) end(resolve)
    }
    const onExit = () => end(() => reject(new Error(`${what}: the process ended`)))
    const timer = setTimeout(
      () => end(() => reject(new Error(`${what}: not ${word} within ${withinMs / 1_000} s`))),
      withinMs,
    )
    const end = (settle: () => void) => {
      clearTimeout(timer)
      child.off('message', onMessage)
      child.off('exit', onExit)
      settle()
    }
    child.on('message', onMessage)
    child.on('exit', onExit)
  })
}
