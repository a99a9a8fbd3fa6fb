// Overlap and misfire policies as a user meets them: real processes, real calls, and the ledger afterwards.
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import test, { type TestContext } from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi, until } from './api.ts'
import { kill, Program, untilGone } from './program.ts'
import { type Call, startReceiver } from './receiver.ts'

interface Slot {
  scheduled_time: string
  status: string
  reason?: string
  execution_id?: string
}

interface Job {
  job_id: string
  status: string
}

const overlapPolicies = ['ALLOW', 'SKIP', 'BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const
const misfirePolicies = ['FIRE_ONCE', 'FIRE_ALL', 'SKIP'] as const
const ended = ['SUCCEEDED', 'CANCELLED', 'SKIPPED']

/** A target that takes a while, and counts how many calls of a path it has at once. */
async function startSlowTarget(t: TestContext, forMs: number) {
  const open = new Map<string, Set<ServerResponse>>()
  const most = new Map<string, number>()
  const answer = ({ path }: Call, response: ServerResponse, _request: IncomingMessage) => {
    const now = open.get(path) ?? new Set()
    now.add(response)
    open.set(path, now)
    most.set(path, Math.max(most.get(path) ?? 0, now.size))
    const timer = setTimeout(() => response.end('done'), forMs)
    response.on('close', () => {
      clearTimeout(timer)
      now.delete(response)
    })
  }
  const receiver = await startReceiver(t, { answer })
  return { receiver, most: (path: string) => most.get(path) ?? 0 }
}

/** All slots of a job that came due, oldest first. */
async function ledgerOf(api: Api, jobId: string): Promise<Slot[]> {
  const slots: Slot[] = []
  let cursor: string | null = null
  do {
    const at: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { slots: Slot[]; pagination: { next_cursor: string | null } } = await api.get(
      `/jobs/${jobId}/slots?limit=200${at}`,
    )
    slots.push(...page.slots)
    cursor = page.pagination.next_cursor
  } while (cursor !== null)
  return slots
}

/** Waits until every slot that has come due is over; the job is paused. */
async function settledLedger(api: Api, jobId: string): Promise<Slot[]> {
  return until(async () => {
    const slots = await ledgerOf(api, jobId)
    return slots.every(({ status }) => ended.includes(status)) ? slots : null
  }, `everything of ${jobId} is over`)
}

function assertEverySecond(slots: readonly Slot[], what: string): void {
  const seconds = slots.map(({ scheduled_time: at }) => Date.parse(at) / 1_000)
  const expected = seconds.map((_, index) => seconds[0]! + index)
  assert.deepEqual(seconds, expected, `${what}: every slot is there, once`)
}

const countOf = (slots: readonly Slot[], status: string) =>
  slots.filter((slot) => slot.status === status).length

async function pause(url: string, key: string, jobId: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/jobs/${jobId}/pause`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${key}` },
  })
  assert.equal(response.status, 200, await response.text())
}

/** The slots before the pause: later ones are skipped because of it. */
const beforePause = (slots: readonly Slot[]) => slots.filter(({ reason }) => reason !== 'paused')

test('each overlap policy behaves as documented when calls take longer than the interval', async (t) => {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const url = await program.ready()
  const api = callApi(url, program.key())
  const { receiver, most } = await startSlowTarget(t, 2_300)
  const jobs = new Map<string, string>()
  for (const policy of overlapPolicies) {
    const { job_id: jobId } = await api.post<Job>('/jobs', {
      name: policy,
      schedule: '* * * * * *',
      overlap_policy: policy,
      execution: { callback_url: `${receiver.url}/${policy}` },
    })
    jobs.set(policy, jobId)
  }
  const calls = (policy: string) => receiver.calls.filter(({ path }) => path === `/${policy}`)
  await until(
    () => (overlapPolicies.every((policy) => calls(policy).length >= 3) ? true : null),
    'three calls each',
  )
  for (const jobId of jobs.values()) await pause(url, program.key(), jobId)
  const ledgers = new Map<string, Slot[]>()
  for (const [policy, jobId] of jobs) {
    const ledger = await settledLedger(api, jobId)
    assertEverySecond(ledger, policy)
    ledgers.set(policy, beforePause(ledger))
    const order = calls(policy).map(({ headers }) => Date.parse(String(headers['x-scheduled-time'])))
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      `${policy}: in the order of slots`,
    )
    if (policy !== 'ALLOW') assert.equal(most(`/${policy}`), 1, `${policy}: never two at once`)
  }
  assert.equal(countOf(ledgers.get('ALLOW')!, 'SUCCEEDED'), ledgers.get('ALLOW')!.length)
  assert(most('/ALLOW') > 1, 'ALLOW: beside each other')
  assert.equal(countOf(ledgers.get('BUFFER_ALL')!, 'SUCCEEDED'), ledgers.get('BUFFER_ALL')!.length)

  for (const policy of ['SKIP', 'BUFFER_ONE']) {
    const slots = ledgers.get(policy)!
    const skipped = slots.filter(({ status }) => status === 'SKIPPED')
    assert(skipped.length > 0, `${policy}: some are skipped`)
    assert(
      skipped.every(({ reason }) => reason === 'overlap'),
      JSON.stringify(slots),
    )
    assert.equal(countOf(slots, 'SUCCEEDED') + skipped.length, slots.length)
  }
  // The first runs, the second waits for it, the third finds both.
  const [first, second, third] = ledgers.get('BUFFER_ONE')!.map(({ status }) => status)
  assert.deepEqual([first, second, third], ['SUCCEEDED', 'SUCCEEDED', 'SKIPPED'])
  assert.deepEqual(
    ledgers
      .get('SKIP')!
      .slice(0, 3)
      .map(({ status }) => status),
    ['SUCCEEDED', 'SKIPPED', 'SKIPPED'],
  )

  const statuses = ledgers.get('CANCEL_RUNNING')!.map(({ status }) => status)
  assert.equal(statuses.at(-1), 'SUCCEEDED', 'nothing came after the last one')
  assert(
    statuses.slice(0, -1).every((status) => status === 'CANCELLED'),
    statuses.join(),
  )
})

test('each misfire policy behaves as documented after the program was killed and stayed away', async (t) => {
  const dataDir = await makeDataDir(t)
  const env = { CARILLON_MISFIRE_AFTER_SECONDS: '2' }
  const program = new Program(t, { dataDir, env })
  const api = callApi(await program.ready(), program.key())
  const receiver = await startReceiver(t)
  const jobs = new Map<string, string>()
  for (const policy of misfirePolicies) {
    const { job_id: jobId } = await api.post<Job>('/jobs', {
      name: policy,
      schedule: '* * * * * *',
      misfire_policy: policy,
      execution: { callback_url: `${receiver.url}/${policy}` },
    })
    jobs.set(policy, jobId)
  }
  await until(
    () =>
      misfirePolicies.every((policy) => receiver.calls.some(({ path }) => path === `/${policy}`))
        ? true
        : null,
    'each has run',
  )
  const tree = program.tree()
  for (const pid of tree) kill(pid, 'SIGKILL')
  await untilGone(tree)
  const awayFrom = Date.now()
  // Longer than the lateness threshold, so that there is something to misfire.
  await realTimers.wait(5_000)

  const again = new Program(t, { dataDir, env })
  const url = await again.ready()
  const backAt = Date.now()
  const after = callApi(url, again.key())
  await until(async () => {
    for (const jobId of jobs.values()) {
      const slots = await ledgerOf(after, jobId)
      const since = slots.filter(({ scheduled_time: at }) => Date.parse(at) > backAt)
      if (since.length < 2 || slots.some(({ status }) => status === 'PENDING')) return null
    }
    return true
  }, 'all is made good and goes on')
  for (const jobId of jobs.values()) await pause(url, again.key(), jobId)
  for (const [policy, jobId] of jobs) {
    const slots = beforePause(await settledLedger(after, jobId))
    assertEverySecond(slots, policy)
    const away = slots.filter(
      ({ scheduled_time: at }) => Date.parse(at) > awayFrom && Date.parse(at) < backAt - 3_000,
    )
    const missed = slots.filter(({ reason }) => reason === 'misfire')
    const calls = receiver.calls.filter(({ path }) => path === `/${policy}`)
    const called = calls.map(({ headers }) => Date.parse(String(headers['x-scheduled-time'])))
    assert.deepEqual(
      called,
      called.toSorted((a, b) => a - b),
      `${policy}: in the order of slots`,
    )
    const ran = slots.filter(({ status }) => status === 'SUCCEEDED')
    assert.equal(new Set(called).size, ran.length, `${policy}: what ran was called`)
    // On time again, but behind the catch-up: these slots follow the overlap policy.
    const behind = slots.filter(({ reason }) => reason === 'overlap')
    assert(
      behind.every(({ scheduled_time: at }) => Date.parse(at) > backAt - 3_000),
      JSON.stringify(behind),
    )
    assert.equal(
      ran.length + missed.length + behind.length,
      slots.length,
      `${policy}: ${JSON.stringify(slots)}`,
    )
    if (policy === 'FIRE_ALL') assert.equal(missed.length, 0)
    if (policy === 'SKIP')
      assert(
        away.every(({ reason }) => reason === 'misfire'),
        JSON.stringify(away),
      )
    if (policy === 'FIRE_ONCE') {
      // The latest missed slot runs: the last skipped slot is followed by a slot that ran.
      assert(missed.length > 0)
      const last = slots.findLastIndex(({ reason }) => reason === 'misfire')
      assert.equal(slots[last + 1]?.status, 'SUCCEEDED')
    }
  }
})

test('ONE_TIME in the past: within the window it runs at once, with SKIP it is skipped, older it is refused', async (t) => {
  // A slot counts as missed after a minute by default, so "young" is in time on the slowest machine.
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const api = callApi(await program.ready(), program.key())
  const receiver = await startReceiver(t)
  const past = (seconds: number) => `${new Date(Date.now() - seconds * 1_000).toISOString().slice(0, 19)}Z`
  const oneTime = (name: string, seconds: number, more: object = {}) => ({
    name,
    schedule: { type: 'ONE_TIME', scheduled_time: past(seconds) },
    misfire_window_seconds: 600,
    execution: { callback_url: `${receiver.url}/${name}` },
    ...more,
  })
  const within = await api.post<Job>('/jobs', oneTime('within', 300), 201)
  const skipped = await api.post<Job>('/jobs', oneTime('skipped', 300, { misfire_policy: 'SKIP' }), 201)
  const young = await api.post<Job>('/jobs', oneTime('young', 1, { misfire_policy: 'SKIP' }), 201)
  const refusal = await api.post<{ code: string }>('/jobs', oneTime('beyond', 700), 422)
  assert.equal(refusal.code, 'SCHEDULED_TIME_TOO_OLD')
  const statusesOf = async ({ job_id: jobId }: Job) => {
    const slots = await settledLedger(api, jobId)
    return slots.map(({ status, reason }) => (reason === undefined ? status : `${status} ${reason}`))
  }
  for (const [job, expected] of [
    [within, 'SUCCEEDED'],
    [skipped, 'SKIPPED misfire'],
    [young, 'SUCCEEDED'],
  ] as const) {
    const statuses = await until(async () => {
      const found = await statusesOf(job)
      return found.length === 0 ? null : found
    }, 'its slot')
    assert.deepEqual(statuses, [expected])
    assert.equal((await api.get<Job>(`/jobs/${job.job_id}`)).status, 'COMPLETED')
  }
  assert.deepEqual(receiver.calls.map(({ path }) => path).toSorted(), ['/within', '/young'])
})
