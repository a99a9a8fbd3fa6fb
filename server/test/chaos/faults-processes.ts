// Faults of processes: killed, paused, restarted, started with a wrong clock or as an earlier version.
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Dice } from '../fuzz/dice.ts'
import { type ChaosNode, NODE_ROLES, type StartOptions } from './chaos-node.ts'
import { startNode } from './cluster.ts'
import type { Rig } from './rig.ts'

/** How long a holder may be silent: partitions of schedulers, executions of workers. */
const leaseMs = { scheduler: 6_000, worker: 10_000, api: 0 } as const
/** Until everything it held has another holder, plus a margin: no other fault may disturb the takeover. */
const takeoverMs = { scheduler: 12_500, worker: 18_000, api: 3_000 } as const
/** Of a process that was killed. */
const downMsMax = 12_000

export async function killOne(rig: Rig, dice: Dice): Promise<void> {
  const node = rig.pickFree(dice, NODE_ROLES)
  if (node === null) return
  using _held = rig.hold(node)
  const downMs = dice.between(500, downMsMax)
  const endsMs = performance.now() + takeoverMs[node.role]
  await rig.strike({ kind: 'kill', target: node.name, details: { ids: node.ids } }, async () => {
    await node.kill()
    await rig.rest(downMs)
    await startNode(node)
  })
  await rig.rest(Math.max(0, endsMs - performance.now()))
}

export async function killRole(rig: Rig, dice: Dice): Promise<void> {
  const role = dice.pick(NODE_ROLES)
  const free = dice.shuffle(rig.free([role]))
  // One stays: one that another fault holds, or the first.
  const killed =
    free.length === rig.cluster.nodes.filter((node) => node.role === role).length ? free.slice(1) : free
  if (killed.length === 0) return
  using _held = rig.hold(...killed)
  const downMs = killed.map(() => dice.between(2_000, downMsMax))
  const endsMs = performance.now() + takeoverMs[role]
  const details = { ids: killed.flatMap(({ ids }) => ids), nodes: killed.map(({ name }) => name) }
  await rig.strike({ kind: 'kill-role', target: role, details }, async () => {
    await Promise.all(killed.map((node) => node.kill()))
    const startAgain = async (node: ChaosNode, ms: number) => {
      await rig.rest(ms)
      await startNode(node)
    }
    await Promise.all(killed.map((node, place) => startAgain(node, downMs[place]!)))
  })
  await rig.rest(Math.max(0, endsMs - performance.now()))
}

export async function pause(rig: Rig, dice: Dice): Promise<void> {
  const node = rig.pickFree(dice, ['scheduler', 'worker'])
  if (node === null) return
  using _held = rig.hold(node)
  const ms = leaseMs[node.role] * dice.pick([0.5, 1.5, 3])
  await rig.strike({ kind: 'pause', target: node.name, details: { ids: node.ids, ms } }, async () => {
    node.pause()
    await rig.rest(ms)
    node.resume()
  })
}

/** Every process once, one after the other, as an upgrade would. */
export async function restartAll(rig: Rig, dice: Dice): Promise<void> {
  const stops: object[] = []
  await rig.strike({ kind: 'rolling-restart', target: 'all', details: { stops } }, async () => {
    for (const node of dice.shuffle(rig.cluster.nodes)) {
      if (rig.signal.aborted) return
      if (!rig.isFree(node)) continue
      using _held = rig.hold(node)
      const { ids } = node
      const at = Date.now()
      await stop(rig, node)
      stops.push({ node: node.name, ids, at, until: Date.now() })
      await startNode(node)
    }
  })
}

/** Everything is down for a while, then all of it starts at once. */
export async function startCold(rig: Rig, dice: Dice): Promise<void> {
  const { nodes, postgres } = rig.cluster
  // Now and then long enough for slots to be missed by their policy, which begins at a minute.
  const downMs = dice.chance(0.5) ? dice.between(62_000, 75_000) : dice.between(10_000, 30_000)
  using _held = rig.hold(...nodes)
  const details = { downMs, ids: nodes.flatMap(({ ids }) => ids) }
  await rig.strike({ kind: 'cold-start', target: 'all', details }, async () => {
    await Promise.all([postgres.kill(), ...nodes.map((node) => node.kill())])
    await rig.rest(downMs)
    await Promise.all([postgres.start(), ...nodes.map(startNode)])
  })
}

/** One server lives an hour or a few seconds away from the others. */
export async function shiftClock(rig: Rig, dice: Dice): Promise<void> {
  const seconds = dice.pick([3_600, -3_600, 5, -5])
  const shift = seconds > 0 ? `+${seconds}s` : `${seconds}s`
  const env = { LD_PRELOAD: rig.faketime!, FAKETIME: shift, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
  await runOtherwise(rig, dice, { kind: 'clock', details: { seconds } }, NODE_ROLES, { env })
}

/** Runs a scheduler, a worker or an API of the previous version among the servers of this one. */
export async function mixVersions(rig: Rig, dice: Dice): Promise<void> {
  const fault = { kind: 'old-version', details: { checkout: rig.oldCheckout } }
  await runOtherwise(rig, dice, fault, NODE_ROLES, { checkout: rig.oldCheckout! })
}

async function runOtherwise(
  rig: Rig,
  dice: Dice,
  { kind, details }: { kind: string; details: Record<string, unknown> },
  roles: readonly string[],
  options: StartOptions,
): Promise<void> {
  const node = rig.pickFree(dice, roles)
  if (node === null) return
  const forMs = dice.between(25_000, 50_000)
  using _held = rig.hold(node)
  await rig.strike({ kind, target: node.name, details }, async () => {
    await stop(rig, node)
    while (!(await node.start(options)) && !rig.signal.aborted) await realTimers.wait(1_000)
    details['ids'] = node.ids
    await rig.rest(forMs)
    await stop(rig, node)
    await startNode(node)
  })
}

async function stop(rig: Rig, node: ChaosNode): Promise<void> {
  if (!(await node.stop())) rig.complaints.push(`${node.name} did not end within 20 s of SIGTERM`)
}
