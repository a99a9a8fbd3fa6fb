// The interface of a peer that is measured beside us, for its enqueuing process, its working process and the
// measurement itself. Each peer is a file here that exports one, in the fastest configuration that its documentation
// gives.

export interface Peer {
  /** Whether something of an ended job can still be read. */
  keepsEnded: boolean
  /** Creates everything that both of its processes need. `place`: the address of its database or Redis. */
  prepare(place: string): Promise<void>
  createQueue(place: string): Promise<PeerQueue>
  /** Runs enqueued jobs; `onRun` is called for every job that it has run. */
  startWorker(place: string, onRun: () => void): Promise<AsyncDisposable>
}

export interface PeerQueue extends AsyncDisposable {
  /** By the fastest call that it has for many jobs. */
  enqueue(jobs: number): Promise<void>
  /** Jobs that wait, run, or have ended without a record of it yet. */
  countOpen(): Promise<number>
  /** Ended jobs that are kept. */
  countKept(): Promise<number>
}

const load = {
  bullmq: async () => (await import('./bullmq.ts')).bullmq,
  'graphile-worker': async () => (await import('./graphile-worker.ts')).graphileWorker,
  'pg-boss': async () => (await import('./pg-boss.ts')).pgBoss,
}

export type PeerName = keyof typeof load

export function loadPeer(name: PeerName): Promise<Peer> {
  return load[name]()
}

/** Jobs handed over by one call. */
const enqueuedAtOnce = 1_000

/** Calls `enqueueSome` until that many jobs are enqueued, a few calls at once. */
export async function enqueueInParts(
  jobs: number,
  callsAtOnce: number,
  enqueueSome: (jobs: number) => Promise<unknown>,
): Promise<void> {
  let left = jobs
  const follow = async () => {
    while (left > 0) {
      const some = Math.min(left, enqueuedAtOnce)
      left -= some
      await enqueueSome(some)
    }
  }
  await Promise.all(Array.from({ length: callsAtOnce }, follow))
}
