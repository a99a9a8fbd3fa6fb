// Faults of the network between one server and PostgreSQL.
import type { Dice } from '../fuzz/dice.ts'
import { type ChaosNode, NODE_ROLES } from './chaos-node.ts'
import type { TcpProxy } from './proxy.ts'
import type { Rig } from './rig.ts'

type NetworkFault = (rig: Rig, dice: Dice) => Promise<void>

export const cut: NetworkFault = onLink('network-cut', [500, 14_000], (proxy) => proxy.cut())

export const stall: NetworkFault = onLink('network-stall', [3_000, 16_000], (proxy) => proxy.stall())

export const halfOpen: NetworkFault = onLink('network-half-open', [3_000, 16_000], (proxy, dice) =>
  proxy.halfOpen(dice.pick(['to-server', 'to-client'] as const)),
)

/** 200 ms more for each question and its answer. */
export const slowDown: NetworkFault = onLink('network-slow', [10_000, 25_000], (proxy) => proxy.delay(100))

export const swallow: NetworkFault = onLink('network-swallow', [12_000, 25_000], (proxy) =>
  proxy.swallowCommitReplies({ share: 0.01 }),
)

function onLink(
  kind: string,
  [msMin, msMax]: readonly [number, number],
  break_: (proxy: TcpProxy, dice: Dice) => void,
): NetworkFault {
  return async (rig, dice) => {
    const node: ChaosNode | null = rig.pickFree(dice, NODE_ROLES)
    if (node === null) return
    using _held = rig.hold(node)
    const ms = dice.between(msMin, msMax)
    await rig.strike({ kind, target: node.name, details: { ids: node.ids, ms } }, async (details) => {
      const before = node.proxy.swallowed
      break_(node.proxy, dice)
      await rig.rest(ms)
      node.proxy.heal()
      details['swallowed'] = node.proxy.swallowed - before
    })
  }
}
