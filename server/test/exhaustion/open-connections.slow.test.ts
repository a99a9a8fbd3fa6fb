// L8: a client opens connections to the API until the process has no file descriptor for more, and leaves them open.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { cleanUp } from '../cleanup.ts'
import { withTime } from '../processes/fleet.ts'
import { setupScene } from './scene.ts'

const filesMax = 1_000
const connections = 1_500
/** Fewer than the server takes: others are closed at once. */
const openMin = 300

test('executions start on time while a client leaves connections to the API open', withTime, async (t) => {
  const { url, assertUnhurt } = await setupScene(t, {
    victimPath: '/victim-closes',
    wrapper: ['sh', '-c', `ulimit -n ${filesMax} && exec "$@"`, 'sh'],
  })
  const open = new Set<Socket>()
  const { hostname, port } = new URL(url)
  for (let n = 0; n < connections; n++) {
    const socket = connect(Number(port), hostname)
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
  }
  cleanUp(t, () => {
    for (const socket of open) socket.destroy()
  })
  await assertUnhurt(6)
  t.diagnostic(`${open.size} connections are open`)
  assert(open.size >= openMin, `${open.size} connections are open`)
})
