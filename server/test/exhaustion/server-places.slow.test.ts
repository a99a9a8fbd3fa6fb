// M3: one tenant takes the places that the API has for all: claims that wait, live streams, reports of attempts, uploads,
// and the bytes of bodies that arrive.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { withTime } from '../processes/fleet.ts'
import { OpenRequests } from './open-requests.ts'
import { type Scene, setupScene } from './scene.ts'
import type { TenantCaller } from './tenant-caller.ts'

const claims = 2_000
const keys = 10
const streamsPerKey = 10
const executions = 60
const reports = 1_000
const uploads = 8
const bodies = 60
const json = { 'content-type': 'application/json' }
/** Longer than the body will be. */
const bodyBytes = '1000000'

test(
  'claims, streams, reports, uploads and large bodies succeed while another tenant leaves many open',
  withTime,
  async (t) => {
    const scene = await setupScene(t, {
      evilTier: 'pro',
      victimPath: '/victim-later',
      env: { CARILLON_ARTIFACTS: 'on' },
    })
    const { victim, evil, assertUnhurt } = scene
    const openStreams = await leaveStreams(t, scene)
    const openReports = await leaveReports(t, scene)
    const openUploads = leaveUploads(t, scene)
    const openBodies = leaveBodies(t, scene)
    const openClaims = await leaveClaims(t, scene)
    const refused: string[] = []
    const asking = askInTurn(victim, refused)
    await realTimers.wait(500)
    const { completions } = await assertUnhurt(8)
    const asked = await asking.stop()
    t.diagnostic(
      `evil: ${openClaims.sent} claims, ${openStreams.open} streams, ${openReports.open} reports, ${openUploads.open} uploads; victim: ${asked} rounds`,
    )
    assert.deepEqual(refused, [])
    assert.deepEqual(Object.keys(completions), ['200'])
    assert(asked >= 5, `the victim asked ${asked} times`)
    assert(openStreams.open >= 25, `${openStreams.open} streams are open`)
    assert(openReports.open >= 900, `${openReports.open} reports are open`)
    assert(openUploads.open >= 2, `${openUploads.open} uploads are open`)
    assert(openBodies.open >= 20, `${openBodies.open} bodies are open`)
    assert(openBodies.answered(429) > 0, 'a body beyond the share is refused')
    assert(openClaims.sent >= claims, `${openClaims.sent} claims were sent`)
    assert(evil.answered(0) === 0)
  },
)

function leave(t: TestContext): OpenRequests {
  const open = new OpenRequests()
  cleanUp(t, () => open[Symbol.dispose]())
  return open
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

async function leaveStreams(t: TestContext, { url, evil }: Scene): Promise<OpenRequests> {
  const open = leave(t)
  for (let n = 0; n < keys; n++) {
    const { key } = await evil.make<{ key: string }>('/api-keys', { name: `key ${n}`, scopes: ['read'] })
    const headers = { ...bearer(key), accept: 'text/event-stream' }
    for (let m = 0; m < streamsPerKey; m++) {
      open.start(`${url}/api/v1/events`, { method: 'GET', headers })
    }
  }
  return open
}

/** Reports whose bodies do not come, by the tokens of the tenant's own attempts. */
async function leaveReports(t: TestContext, { evil, evilTarget }: Scene): Promise<OpenRequests> {
  const jobId = await evil.createTriggered(evilTarget.url('/token'), { timeout_seconds: 3_600 })
  await evil.trigger(jobId, executions)
  const tokens: { url: string; token: string }[] = []
  await until(async () => {
    tokens.push(...(await evilTarget.take()).tokens)
    return tokens.length >= executions ? true : null
  }, 'the attempts have tokens')
  const open = leave(t)
  for (let n = 0; n < reports; n++) {
    const { url, token } = tokens[n % tokens.length]!
    const headers = { ...json, 'x-carillon-token': token, 'content-length': bodyBytes }
    open.start(url, { headers, body: '{' })
  }
  return open
}

function leaveUploads(t: TestContext, { url, evil }: Scene): OpenRequests {
  const open = leave(t)
  const headers = { ...bearer(evil.key), 'content-type': 'application/gzip', 'content-length': bodyBytes }
  for (let n = 0; n < uploads; n++)
    open.start(`${url}/api/v1/artifacts/a${n}`, { method: 'PUT', headers, body: '\x1f' })
  return open
}

/** Bodies that stop short of their end. */
function leaveBodies(t: TestContext, { url, evil }: Scene): OpenRequests {
  const open = leave(t)
  const headers = { ...bearer(evil.key), ...json, 'content-length': bodyBytes }
  for (let n = 0; n < bodies; n++)
    open.start(`${url}/api/v1/jobs`, { headers, body: 'x'.repeat(Number(bodyBytes) - 1) })
  return open
}

async function leaveClaims(t: TestContext, { url, evil }: Scene): Promise<{ sent: number }> {
  const open = leave(t)
  const workerId = await register(evil)
  const body = JSON.stringify({ worker_id: workerId, wait_seconds: 30 })
  const headers = { ...bearer(evil.key), ...json, 'content-length': String(body.length) }
  for (let n = 0; n < claims; n++) {
    open.start(`${url}/api/v1/workers/claim`, { headers, body })
    if (n % 20 === 19) await realTimers.wait(20)
  }
  return { sent: claims }
}

async function register(tenant: TenantCaller): Promise<string> {
  const { worker_id: workerId } = await tenant.make<{ worker_id: string }>('/workers', { handlers: ['any'] })
  return workerId
}

/** Claims with waiting, opens a stream, sends a large body and uploads a bundle, again and again. Notes every refusal. */
function askInTurn(tenant: TenantCaller, refused: string[]): { stop: () => Promise<number> } {
  const stopping = new AbortController()
  let rounds = 0
  const note = (what: string, status: number, expected: readonly number[]) => {
    if (!expected.includes(status)) refused.push(`${what}: ${status}`)
  }
  const done = (async () => {
    const workerId = await register(tenant)
    while (!stopping.signal.aborted) {
      const claim = await tenant.call('POST', '/workers/claim', { worker_id: workerId, wait_seconds: 1 })
      note('claim', claim.status, [200])
      note('stream', await openStream(tenant), [200])
      // It is read, and refused for its name.
      note('body', (await tenant.call('POST', '/jobs?dry_run=true', largeBody)).status, [400])
      note('upload', (await tenant.send('/artifacts/mine', upload)).status, [200, 201])
      rounds += 1
    }
  })()
  done.catch(() => {})
  return {
    async stop() {
      stopping.abort()
      await done
      return rounds
    },
  }
}

const largeBody = { name: 'x'.repeat(200_000) }

const upload = {
  method: 'PUT',
  headers: { 'content-type': 'application/gzip' },
  body: new Uint8Array([0x1f, 0x8b, 8, 0]),
}

async function openStream({ url, key }: TenantCaller): Promise<number> {
  const leaving = new AbortController()
  const { status } = await fetch(`${url}/api/v1/events`, {
    headers: { ...bearer(key), accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  leaving.abort()
  return status
}
