// One of the two processes of a peer, forked with its name, its part and its place: one enqueues, the other works, as
// our own server and its process of handlers do.
import { loadPeer, type PeerName } from './peer.ts'

export type Order = { enqueue: number } | { expect: number } | { stop: true }
/** `done`: the order was carried out. `ran`: as many jobs as were expected have run. */
export type Word = 'ready' | 'done' | 'ran'

const [name, part, place] = process.argv.slice(2) as [PeerName, 'enqueue' | 'work', string]
const tell = (word: Word) => void process.send!(word)
const peer = await loadPeer(name)
process.on('disconnect', () => process.exit(1))
if (part === 'enqueue') await enqueue()
else await work()
tell('ready')

async function enqueue(): Promise<void> {
  const queue = await peer.createQueue(place)
  process.on('message', async (order: Order) => {
    if ('enqueue' in order) {
      await queue.enqueue(order.enqueue)
      tell('done')
    } else await stop(queue)
  })
}

async function work(): Promise<void> {
  let expected = 0
  let ran = 0
  const worker = await peer.startWorker(place, () => {
    ran += 1
    if (ran === expected) tell('ran')
  })
  process.on('message', async (order: Order) => {
    if ('expect' in order) {
      ran = 0
      expected = order.expect
      tell('done')
    } else await stop(worker)
  })
}

async function stop(one: AsyncDisposable): Promise<void> {
  await one[Symbol.asyncDispose]()
  process.exit(0)
}
