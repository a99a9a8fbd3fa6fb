// Faults of PostgreSQL: killed, hanging, out of space or connections, held back by an old transaction.
import { sendSignal } from '../../src/embedded-postgres/leash.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Dice } from '../fuzz/dice.ts'
import { type ReceiverLine, readLines } from './history.ts'
import type { Rig } from './rig.ts'

const outageMs = 20_000
/** Of the calls that must live through an outage, as the workload makes them. */
const longCallMs = 30_000
const probeWaitMsMax = 30_000

export async function killDatabase(rig: Rig, dice: Dice): Promise<void> {
  const downMs = dice.between(0, 8_000)
  await rig.strike({ kind: 'database-kill', target: 'postgres', details: { downMs } }, async () => {
    await rig.cluster.postgres.kill()
    await rig.rest(downMs)
    await rig.cluster.postgres.start()
  })
}

/** While long calls are under way: they must end as if nothing had been. */
export async function outlastDatabase(rig: Rig): Promise<void> {
  const { postgres } = rig.cluster
  const probe = await untilLongCalls(rig)
  if (probe.length === 0) return
  const details = { probe: probe.map(({ executionId }) => executionId) }
  await rig.strike({ kind: 'database-outage', target: 'postgres', details }, async () => {
    await postgres.kill()
    await rig.rest(outageMs)
    await postgres.start()
  })
  const lastAt = Math.max(...probe.map(({ at }) => at))
  await rig.rest(Math.max(0, lastAt + longCallMs + 5_000 - Date.now()))
}

/** Calls that have begun, and do not end before the outage does. */
async function untilLongCalls(rig: Rig): Promise<{ executionId: string; at: number }[]> {
  for (let waitedMs = 0; waitedMs < probeWaitMsMax && !rig.signal.aborted; waitedMs += 1_000) {
    const youngest = Date.now() - (longCallMs - outageMs - 3_000)
    const lines = readLines<ReceiverLine>(rig.dir, 'receiver')
    const over = new Set(lines.filter(({ what }) => what !== 'arrived').map(({ seq }) => seq))
    const found = lines.flatMap((line) => {
      if (
        line.what !== 'arrived' ||
        over.has(line.seq) ||
        line.at < youngest ||
        !line.call.path.startsWith('/long')
      )
        return []
      return [{ executionId: line.call.executionId, at: line.at }]
    })
    if (found.length > 0) return found
    await rig.rest(1_000)
  }
  return []
}

/** All sessions are dropped with it. */
export async function killBackend(rig: Rig, dice: Dice): Promise<void> {
  const backends = await rig.cluster.postgres.backends()
  if (backends.length === 0) return
  await rig.strike({ kind: 'backend-kill', target: 'postgres' }, async () => {
    sendSignal(dice.pick(backends), 'SIGKILL')
    await realTimers.wait(100)
    await rig.cluster.postgres.start()
  })
}

export async function pauseBackend(rig: Rig, dice: Dice): Promise<void> {
  const backends = await rig.cluster.postgres.backends()
  if (backends.length === 0) return
  const pid = dice.pick(backends)
  const ms = dice.between(3_000, 15_000)
  await rig.strike({ kind: 'backend-pause', target: 'postgres', details: { ms } }, async () => {
    rig.guard.watch(pid)
    sendSignal(pid, 'SIGSTOP')
    await rig.rest(ms)
    sendSignal(pid, 'SIGCONT')
    rig.guard.prune(pid)
  })
}

/** PostgreSQL gives up when it cannot write its log; with space again it is started as if nothing had been. */
export async function fillDisk(rig: Rig, dice: Dice): Promise<void> {
  const { disk, postgres } = rig.cluster
  const ms = dice.between(4_000, 10_000)
  await rig.strike({ kind: 'disk-full', target: 'postgres' }, async (details) => {
    await disk!.fill()
    try {
      // Uses up the reserved WAL space, so that PostgreSQL needs space now.
      for (let tries = 0; tries < 20 && (await postgres.answers()); tries++)
        await postgres.query('SELECT pg_switch_wal()').catch(() => {})
      await rig.rest(ms)
      details['gaveUp'] = !(await postgres.answers())
    } finally {
      await disk!.empty()
      await postgres.start()
    }
  })
}

/** Half of the sessions are ended, and no new ones are allowed. */
export async function exhaustConnections(rig: Rig, dice: Dice): Promise<void> {
  const { postgres } = rig.cluster
  const backends = dice.shuffle(await postgres.backends())
  const ended = backends.slice(0, Math.ceil(backends.length / 2))
  const ms = dice.between(8_000, 25_000)
  const details = { sessions: backends.length, ended: ended.length }
  await rig.strike({ kind: 'pool-exhausted', target: 'postgres', details }, async () => {
    await postgres.limitSessions(0)
    try {
      await postgres.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [ended])
      await rig.rest(ms)
    } finally {
      await postgres.limitSessions(null)
    }
  })
}

/** Nothing that dies from now on can be cleared away. Another fault may end it. */
export async function holdSnapshot(rig: Rig, dice: Dice): Promise<void> {
  const client = await rig.cluster.postgres.connect()
  const ms = dice.between(100_000, 160_000)
  const ended = new AbortController()
  client.on('end', () => ended.abort())
  try {
    await rig.strike({ kind: 'old-transaction', target: 'postgres', details: { ms } }, async () => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.query('SELECT count(*) FROM jobs')
      await realTimers.wait(ms, AbortSignal.any([ended.signal, rig.signal, rig.ending]))
    })
  } finally {
    await client.end().catch(() => {})
  }
}
