// Cuts a claim down to the room that its worker has left. Executions that wait for a host come first, as they have
// waited longest; the lanes share the rest evenly, so that no lane of a tenant starves beside a fuller one.
import type { LaneShare } from './fair-share.ts'

interface Shares {
  lanes: readonly LaneShare[]
  hosts: readonly { host: string; count: number }[]
}

/** `room`: executions, above 0. */
export function fitToRoom<Order extends Shares>(order: Order, room: number): Order {
  let left = room
  const hosts = order.hosts.flatMap(({ host, count }) => {
    const fitting = Math.min(count, left)
    left -= fitting
    return fitting > 0 ? [{ host, count: fitting }] : []
  })
  const wanted = order.lanes.reduce((sum, { count }) => sum + count, 0)
  if (wanted <= left) return { ...order, hosts }
  const lanes = order.lanes.flatMap((lane, at) => {
    const count = Math.min(lane.count, Math.ceil(left / (order.lanes.length - at)))
    left -= count
    return count > 0 ? [{ ...lane, count }] : []
  })
  return { ...order, hosts, lanes }
}
