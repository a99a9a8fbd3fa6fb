// H3: one tenant reads lists of jobs with large payloads, in many loops.
import assert from 'node:assert/strict'
import test from 'node:test'
import { withTime } from '../processes/fleet.ts'
import { largeJobs } from './attacks.ts'
import { startLoops } from './loops.ts'
import { setupScene } from './scene.ts'

const jobs = 200
const loops = 16

test('executions start on time while another tenant reads pages of large jobs', withTime, async (t) => {
  const { evil, assertUnhurt } = await setupScene(t, { evilTier: 'unlimited' })
  await largeJobs(evil, jobs)
  for (const path of ['/jobs?limit=200', '/jobs?limit=200&include=payload']) {
    evil.statuses.clear()
    evil.bytes = 0
    {
      await using _reading = startLoops(loops, () => evil.read(path))
      await assertUnhurt(6)
    }
    const statuses = JSON.stringify(Object.fromEntries(evil.statuses))
    t.diagnostic(`evil: ${path}, ${evil.bytes} bytes, answers by status ${statuses}`)
    assert(evil.answered(200) >= loops, `${path}: ${statuses}`)
    assert.equal(evil.answered(0), 0, `${path}: ${statuses}`)
  }
})
