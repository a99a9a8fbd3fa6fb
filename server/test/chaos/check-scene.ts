// Evidence made by hand for the tests of the checker: a small run in which all is well, and everything that the checker knows
// happens once.
import { hash } from 'node:crypto'
import type { AttemptRow, Evidence, VersionRow } from './check-evidence.ts'
import type { Ending, HistoryLine, ReceiverLine, SentCall } from './history.ts'

/** The second in which it begins. */
export const start = Date.UTC(2026, 0, 1, 12)
export const second = 1_000

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] }
export type Scene = Mutable<Evidence>

export const JOBS = {
  cron: '00000000-0000-7000-8000-00000000000a',
  once: '00000000-0000-7000-8000-00000000000b',
  every: '00000000-0000-7000-8000-00000000000c',
  root: '00000000-0000-7000-8000-00000000000d',
  child: '00000000-0000-7000-8000-00000000000e',
  narrow: '00000000-0000-7000-8000-00000000000f',
} as const
type JobName = keyof typeof JOBS

export const runId = '00000000-0000-7000-8000-0000000000ff'

export function createScene(): Scene {
  const scene = emptyScene()
  addJobs(scene)
  addSlots(scene)
  addDeadLetter(scene)
  addOverlap(scene)
  addRun(scene)
  addOrders(scene)
  addFailover(scene)
  return scene
}

function emptyScene(): Scene {
  return {
    readAt: start + 300 * second,
    jobs: [],
    versions: [],
    slots: [],
    skips: [],
    attempts: [],
    live: [],
    batched: [],
    owed: [],
    deadLetters: [],
    graphRuns: [],
    runNotes: [],
    partitions: Array.from({ length: 64 }, (_, at) => (at % 2 === 0 ? 'scheduler-b' : 'scheduler-c')),
    history: [],
    receiver: [],
    faults: [],
    watch: [],
  }
}

function addJobs(scene: Scene): void {
  addJob(scene, 'cron', {
    schedule: { type: 'CRON', cron_expression: '* * * * * *', timezone: 'Europe/Berlin' },
  })
  const scheduled_time = new Date(start + 2 * second).toISOString()
  addJob(scene, 'once', { schedule: { type: 'ONE_TIME', scheduled_time } })
  addJob(scene, 'every', { schedule: { type: 'INTERVAL', every_seconds: 2 }, overlap: 'SKIP' })
  addJob(scene, 'root', { schedule: { type: 'CRON', cron_expression: '0 3 * * *' } })
  addJob(scene, 'child', { schedule: {}, dependsOn: [{ job_id: JOBS.root, on: 'success' }] })
  addJob(scene, 'narrow', {
    schedule: { type: 'CRON', cron_expression: '0 3 * * *' },
    key: 'narrow',
    keyLimit: 1,
  })
  setJob(scene, 'once', { status: 'COMPLETED' })
  // One was paused, one deleted, the others go on.
  const paused = start + 4 * second + 500
  setJob(scene, 'cron', { status: 'PAUSED', updatedAt: paused })
  addCall(scene, call('pause', `/jobs/${JOBS.cron}/pause`), 'ok', state('cron', 'PAUSED', paused))
  const deleted = start + 7 * second
  setJob(scene, 'every', { status: 'DELETED', updatedAt: deleted })
  addCall(scene, call('delete', `/jobs/${JOBS.every}`), 'ok', state('every', 'DELETED', deleted))
}

/** Four slots: one plain, one tried twice, one lost once, one that was skipped. */
function addSlots(scene: Scene): void {
  addExecution(scene, 'cron', { slot: 1, attempts: [{}] })
  addExecution(scene, 'cron', {
    slot: 2,
    attempts: [{ outcome: 'failed', httpStatus: 503 }, { after: 1_200 }],
  })
  addExecution(scene, 'cron', { slot: 3, attempts: [{ outcome: 'lost', took: 11_000 }, { after: 11_100 }] })
  const slot = start + 4 * second
  scene.skips.push({ jobId: JOBS.cron, from: slot, to: slot, count: 1, reason: 'paused', version: 1 })
}

function addDeadLetter(scene: Scene): void {
  const dead = { outcome: 'failed', httpStatus: 404, deadLetter: true } as const
  const first = addExecution(scene, 'once', { slot: 2, attempts: [dead] })
  const again = addExecution(scene, 'once', { at: 20, kind: 'redrive', retryOf: first, attempts: [dead] })
  scene.deadLetters.push({ executionId: again, jobId: JOBS.once, reason: 'NOT_RETRYABLE', attempts: 1 })
  const redriven = [{ execution_id: first, new_execution_id: again }]
  addCall(
    scene,
    { ...call('redrive', '/dead-letters/redrive'), key: 'redrive', body: { execution_ids: [first] } },
    'ok',
    {
      redriven,
    },
  )
}

/** The first runs into the second, which is skipped. */
function addOverlap(scene: Scene): void {
  addExecution(scene, 'every', { slot: 2, attempts: [{ took: 3_000 }] })
  const inTheWay = scene.slots.at(-1)!.executionId
  const slot = start + 4 * second
  scene.slots.push({ jobId: JOBS.every, slot, executionId: inTheWay, reason: 'overlap' })
  scene.skips.push({ jobId: JOBS.every, from: slot, to: slot, count: 1, reason: 'overlap', version: 1 })
  addExecution(scene, 'every', { slot: 6, attempts: [{}] })
}

function addRun(scene: Scene): void {
  const root = addExecution(scene, 'root', { at: 30, kind: 'trigger', mark: 'a run', runId, attempts: [{}] })
  const child = addExecution(scene, 'child', { at: 31, kind: 'dependency', runId, attempts: [{}] })
  addTrigger(scene, 'root', 'a run', root)
  scene.graphRuns.push({
    runId,
    status: 'SUCCEEDED',
    states: 'ss',
    roles: 'ri',
    jobIds: [JOBS.root, JOBS.child],
    executionIds: [root, child],
    edges: [[0, 1, 'success']],
    resumes: 0,
    cancelMessage: null,
    createdAt: start + 30 * second,
    finishedAt: start + 32 * second,
  })
}

/** One that was triggered, one that was cancelled before it ran, one that was refused, and one nobody knows of. */
function addOrders(scene: Scene): void {
  addTrigger(
    scene,
    'narrow',
    'taken',
    addExecution(scene, 'narrow', { at: 40, kind: 'trigger', mark: 'taken', attempts: [{}] }),
  )
  const waiting = addExecution(scene, 'narrow', { at: 41, kind: 'trigger', mark: 'cancelled', attempts: [] })
  addTrigger(scene, 'narrow', 'cancelled', waiting)
  const cancel = { ...call('cancel', `/executions/${waiting}/cancel`), key: 'cancel', body: {} }
  addCall(scene, cancel, 'ok', { execution_id: waiting, status: 'CANCELLED' }, start + 42 * second)
  addTrigger(scene, 'narrow', 'refused', null, 'fail')
  addTrigger(scene, 'narrow', 'unknown', null, 'info')
}

/** A scheduler and a worker are killed in the same second; others take over. */
function addFailover(scene: Scene): void {
  const [killedAt, workerAt] = [start + 100 * second, start + 3 * second + 100]
  scene.faults.push(
    { at: workerAt, kind: 'kill', target: 'worker-1', until: null, details: {} },
    { at: killedAt, kind: 'kill', target: 'scheduler-1', until: null, details: {} },
  )
  const holders = Array.from({ length: 64 }, (_, at) => (at % 2 === 0 ? 'scheduler-a' : 'scheduler-c'))
  const workers = ['worker-b']
  scene.watch.push(
    { at: start, holders, schedulers: ['scheduler-a', 'scheduler-c'], workers: ['worker-a', ...workers] },
    { at: workerAt + 11 * second, holders, schedulers: ['scheduler-a', 'scheduler-c'], workers },
    {
      at: killedAt + 7 * second,
      holders: scene.partitions,
      schedulers: ['scheduler-b', 'scheduler-c'],
      workers,
    },
  )
}

function addJob(scene: Scene, name: JobName, version: Partial<VersionRow>): void {
  const jobId = JOBS[name]
  const createdAt = start + 200
  scene.jobs.push({
    jobId,
    name,
    version: 1,
    status: 'ACTIVE',
    createdAt,
    updatedAt: createdAt,
    partition: 0,
  })
  scene.versions.push({
    jobId,
    version: 1,
    schedule: {},
    anchorAt: createdAt,
    url: 'http://127.0.0.1/quick',
    overlap: 'ALLOW',
    misfire: 'FIRE_ONCE',
    jitterSeconds: 0,
    limit: null,
    key: null,
    keyLimit: null,
    retries: { max_retries: 1, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
    dependsOn: null,
    ...version,
  })
  const created_at = new Date(createdAt).toISOString()
  const answer = { ...state(name, 'ACTIVE', createdAt), created_at }
  addCall(scene, { ...call('create', '/jobs'), key: `create-${name}`, body: { name } }, 'ok', answer)
}

function setJob(scene: Scene, name: JobName, changed: Partial<Scene['jobs'][number]>): void {
  Object.assign(scene.jobs.find(({ jobId }) => jobId === JOBS[name])!, changed)
}

function state(name: JobName, status: string, at: number) {
  return { job_id: JOBS[name], version: 1, status, updated_at: new Date(at).toISOString() }
}

interface NewExecution {
  /** Seconds after the start: of a slot, or when it was asked for. */
  slot?: number
  at?: number
  kind?: AttemptRow['kind']
  mark?: string
  retryOf?: string
  runId?: string
  /** None: it was cancelled before it ran. */
  attempts: readonly NewAttempt[]
}

interface NewAttempt {
  outcome?: AttemptRow['outcome']
  httpStatus?: number
  deadLetter?: boolean
  /** Milliseconds after the slot; default 20. */
  after?: number
  /** Default 10. */
  took?: number
}

/** With its slot, its attempts and the calls that the receiver saw. */
export function addExecution(scene: Scene, name: JobName, given: NewExecution): string {
  const jobId = JOBS[name]
  const slot = start + (given.slot ?? given.at ?? 0) * second
  const kind = given.kind ?? 'slot'
  const executionId = `01000000-0000-7000-8000-${String(scene.attempts.length + 1).padStart(12, '0')}`
  if (kind === 'slot') scene.slots.push({ jobId, slot, executionId, reason: null })
  const common = { executionId, jobId, version: 1, kind, slot, enqueuedAt: slot + 5, skipReason: null }
  const origin = { mark: given.mark ?? null, retryOf: given.retryOf ?? null, runId: given.runId ?? null }
  const given0 = scene.attempts.find((row) => row.executionId === given.retryOf)
  const of = given0 === undefined ? { jobId, slot, executionId, kind } : given0
  const key = keyOf(of)
  given.attempts.forEach(
    ({ outcome = 'succeeded', httpStatus = 200, deadLetter = false, after = 20, took = 10 }, index) => {
      const isLost = outcome === 'lost'
      const startedAt = slot + after
      const finishedAt = startedAt + took
      scene.attempts.push({
        ...common,
        ...origin,
        attempt: index + 1,
        final: index === given.attempts.length - 1,
        outcome,
        startedAt,
        finishedAt,
        recordedAt: finishedAt + 2,
        durationMs: took,
        workerId: isLost ? 'worker-a' : 'worker-b',
        httpStatus: isLost ? null : httpStatus,
        message: null,
        deadLetter,
      })
      addSeen(
        scene,
        { jobId, executionId, attempt: index + 1, key, slot },
        startedAt,
        isLost ? null : httpStatus,
      )
    },
  )
  if (given.attempts.length === 0) addBareCancel(scene, { ...common, ...origin })
  return executionId
}

function addBareCancel(scene: Scene, row: Pick<AttemptRow, 'slot'> & Partial<AttemptRow>): void {
  const recordedAt = row.slot + 500
  const never = {
    startedAt: null,
    finishedAt: recordedAt,
    durationMs: null,
    workerId: null,
    httpStatus: null,
  }
  const end = {
    attempt: 0,
    final: true,
    outcome: 'cancelled',
    recordedAt,
    message: 'x',
    deadLetter: false,
  } as const
  scene.attempts.push({ ...(row as AttemptRow), ...never, ...end })
}

function keyOf({
  jobId,
  slot,
  executionId,
  kind,
}: Pick<AttemptRow, 'jobId' | 'slot' | 'executionId' | 'kind'>): string {
  const text = kind === 'slot' ? `${new Date(slot).toISOString().slice(0, 19)}Z` : executionId
  return hash('sha256', `${jobId}:${text}`).slice(0, 32)
}

interface Seen {
  jobId: string
  executionId: string
  attempt: number
  key: string
  slot: number
}

export function addSeen(scene: Scene, { slot, ...call }: Seen, at: number, status: number | null): void {
  const seq = scene.receiver.length + 1
  const scheduledTime = new Date(slot).toISOString()
  const arrived: ReceiverLine = {
    what: 'arrived',
    seq,
    at: at + 3,
    call: { ...call, path: '/quick', scheduledTime, bodyHash: '', traceparent: '' },
  }
  scene.receiver.push(arrived)
  if (status !== null) scene.receiver.push({ what: 'answered', seq, at: at + 4, status })
}

function call(name: string, path: string): SentCall {
  return { name, method: 'POST', path, api: 'http://127.0.0.1' }
}

function addTrigger(
  scene: Scene,
  name: JobName,
  mark: string,
  executionId: string | null,
  ending: Ending = 'ok',
) {
  const body = { payload_override: { mark } }
  const given = { ...call('trigger', `/jobs/${JOBS[name]}/trigger`), key: mark, body }
  addCall(scene, given, ending, executionId === null ? {} : { execution_id: executionId })
}

export function addCall(scene: Scene, given: SentCall, ending: Ending, answer: object, at = start): void {
  const op = scene.history.length + 1
  const lines: HistoryLine[] = [
    { what: 'sent', op, at, call: given },
    {
      what: 'answered',
      op,
      at: at + 5,
      ending,
      status: ending === 'ok' ? 200 : ending === 'fail' ? 409 : null,
      answer,
    },
  ]
  scene.history.push(...lines)
}
