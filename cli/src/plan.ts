// The steps needed so that the server has the jobs of the files. The server itself interprets each file, by a dry run:
// nothing here knows the defaults or the forms of a schedule.
import type { Calendar } from '@carillon/contract/calendar.ts'
import { pairsOf } from '@carillon/contract/executors/list.ts'
import type { Job, JobRequest } from '@carillon/contract/job.ts'
import { CarillonError, type Client } from '@carillon/sdk'
import { CliError, EXIT } from './exit-code.ts'
import { type Document, hasHidden, hiddenValue, toDocument } from './job-document.ts'
import type { Manifest, Placed } from './manifest.ts'
import { type Change, changesBetween } from './merge-patch.ts'
import { orderByParents, parentsOf, plainParents } from './plan-order.ts'
import { inPool } from './pool.ts'

export interface PlannedStep {
  kind: 'job' | 'calendar'
  action: 'create' | 'change' | 'delete' | 'none'
  key: string
  name: string
  /** Null: there is none yet. */
  jobId: string | null
  version: number | null
  changes: Change[]
  document: Document
}

export interface Plan {
  /** In the order in which they can be done. */
  steps: PlannedStep[]
  summary: { create: number; change: number; delete: number; unchanged: number }
  /** Ids of the jobs that are there, by key. */
  ids: Map<string, string>
}

/**
 * The jobs that may be deleted: jobs with a key that have the tag, or a key with the prefix; both when both are given.
 */
export interface PruneScope {
  tag?: string
  prefix?: string
}

export interface PlanOptions {
  client: Client
  /** Null: nothing is deleted. */
  prune: PruneScope | null
  onProgress: (done: number, total: number) => void
  signal: AbortSignal
}

const requestsMax = 8

export async function makePlan(manifest: Manifest, options: PlanOptions): Promise<Plan> {
  const { client, signal } = options
  const wanted = orderByParents(checkKeys(manifest.jobs))
  const present = new Map<string, Job>()
  const byId = new Map<string, Job>()
  for await (const job of client.jobs.list({ include: 'payload', limit: 200 }, { signal })) {
    byId.set(job.job_id, job)
    if (job.key !== null) present.set(job.key, job)
  }
  const world = { present, byId, wanted: new Set(wanted.map(({ job }) => String(job['key']))) }
  const calendars = await planCalendars(manifest, client)
  // A calendar that is to be made is not there for the dry run.
  const made = new Set(calendars.filter(({ action }) => action === 'create').map(({ key }) => key))
  const jobs = await inPool(
    wanted,
    requestsMax,
    (placed) => planJob(placed, world, made, options),
    options.onProgress,
  )
  const steps = [...calendars, ...jobs, ...planDeletes(world, options.prune, jobs)]
  const count = (action: PlannedStep['action']) => steps.filter((step) => step.action === action).length
  return {
    steps,
    summary: {
      create: count('create'),
      change: count('change'),
      delete: count('delete'),
      unchanged: count('none'),
    },
    ids: new Map([...present].map(([key, job]) => [key, job.job_id])),
  }
}

interface World {
  present: ReadonlyMap<string, Job>
  byId: ReadonlyMap<string, Job>
  /** The keys of the files. */
  wanted: ReadonlySet<string>
}

function checkKeys(jobs: readonly Placed[]): Placed[] {
  const seen = new Map<string, string>()
  for (const { job, where } of jobs) {
    const { key } = job
    if (typeof key !== 'string') {
      throw new CliError(EXIT.usage, `${where}: the job ${JSON.stringify(job['name'])} has no key.`, [
        'apply finds jobs by their key; give it one, such as key: nightly-report.',
      ])
    }
    if (seen.has(key))
      throw new CliError(EXIT.usage, `two jobs have the key ${key}: ${seen.get(key)} and ${where}.`)
    seen.set(key, where)
  }
  return [...jobs]
}

async function planJob(
  { job: document, where }: Placed,
  world: World,
  calendarsMade: ReadonlySet<string>,
  { client, signal }: PlanOptions,
): Promise<PlannedStep> {
  const key = String(document['key'])
  const now = world.present.get(key)
  const absent = parentsOf(document).find(
    (parent) => parent.key !== undefined && !world.present.has(parent.key) && !world.wanted.has(parent.key),
  )
  if (absent !== undefined) {
    throw new CliError(
      EXIT.refused,
      `${where}: "${key}" runs after "${absent.key}", which is neither in the files nor on the server.`,
    )
  }
  const ask = (isThere: (parent: string) => boolean) =>
    dryRun(document, world, isThere, calendarsMade, { client, signal })
  const { would, stoodIn } = await ask((parent) => world.present.has(parent))
    .catch((error: Error) => {
      // As things are now it would be a circle; the files have none, or they would not be in order.
      if (error instanceof CarillonError && error.code === 'DEPENDENCY_CYCLE')
        return ask((parent) => world.present.has(parent) && !world.wanted.has(parent))
      throw error
    })
    .catch((error: Error) => {
      error.message = `${where}: ${key}: ${error.message}`
      throw error
    })
  const step = { kind: 'job', key, name: would.name, document } as const
  if (now === undefined) return { ...step, action: 'create', jobId: null, version: null, changes: [] }
  const keyOf = (jobId: string) => world.byId.get(jobId)?.key ?? null
  const after: Document = toDocument(would, keyOf)
  for (const field of stoodIn) {
    if (document[field] === undefined) delete after[field]
    else after[field] = field === 'depends_on' ? plainParents(document) : document[field]
  }
  const changes = changesBetween(toDocument(now, keyOf), after)
  const isSame = would.version === now.version && stoodIn.length === 0
  const known = { jobId: now.job_id, version: now.version }
  if (isSame) return { ...step, ...known, action: 'none', changes: [] }
  if (changes.length === 0 && hasHidden(now))
    changes.push({
      path: `execution.${pairsOf(now.execution.type)[0]?.name}`,
      from: hiddenValue,
      to: hiddenValue,
    })
  return { ...step, ...known, action: 'change', changes }
}

/**
 * The job that the server would create from the document. The dry run replaces references to jobs and calendars that do
 * not exist yet by placeholders; `stoodIn` lists the affected fields.
 */
async function dryRun(
  document: Document,
  { present }: World,
  isThere: (parent: string) => boolean,
  calendarsMade: ReadonlySet<string>,
  { client, signal }: Pick<PlanOptions, 'client' | 'signal'>,
): Promise<{ would: Job; stoodIn: string[] }> {
  const request = toRequest(document, (key) => (isThere(key) ? present.get(key)!.job_id : null))
  const stoodIn: string[] = []
  if (parentsOf(document).some(({ key }) => key !== undefined && !isThere(key))) {
    stoodIn.push('depends_on')
    if (request['schedule'] === undefined) {
      request['schedule'] = '@yearly'
      stoodIn.push('schedule')
    }
  }
  const { schedule } = request
  if (typeof schedule === 'object' && schedule !== null && 'exclusions' in schedule) {
    const exclusions = schedule.exclusions as { calendar?: string }[]
    const there = exclusions.filter(({ calendar }) => calendar === undefined || !calendarsMade.has(calendar))
    if (there.length < exclusions.length) {
      request['schedule'] = { ...schedule, exclusions: there }
      stoodIn.push('schedule')
    }
  }
  const would = await client.jobs.putByKey(String(document['key']), request as unknown as JobRequest, {
    dryRun: true,
    signal,
  })
  return { would, stoodIn }
}

/** As the API takes it: parents by id instead of by key, and without its own key, which is in the address. */
export function toRequest(document: Document, idOf: (key: string) => string | null): Document {
  const { key: _key, depends_on: given, ...request } = document
  if (!Array.isArray(given)) return given === undefined ? request : { ...request, depends_on: given }
  const parents = parentsOf(document).flatMap(({ key, ...rest }) => {
    if (key === undefined) return [rest]
    const jobId = idOf(key)
    return jobId === null ? [] : [{ ...rest, job_id: jobId }]
  })
  return parents.length === 0 ? request : { ...request, depends_on: parents }
}

async function planCalendars({ calendars }: Manifest, client: Client): Promise<PlannedStep[]> {
  if (calendars.size === 0) return []
  const present = new Map<string, Calendar>()
  for await (const calendar of client.calendars.list({ limit: 200 })) present.set(calendar.name, calendar)
  return [...calendars].map(([name, document]) => {
    const now = present.get(name)
    const step = { kind: 'calendar', key: name, name: '', jobId: null, version: null, document } as const
    if (now === undefined) return { ...step, action: 'create', changes: [] }
    const changes = changesBetween(calendarDocument(now), document)
    return { ...step, action: changes.length === 0 ? 'none' : 'change', changes }
  })
}

export function calendarDocument({ description, entries }: Calendar): Document {
  return { ...(description === null ? {} : { description }), entries }
}

/** Managed jobs that the files do not name; dependent jobs first. */
function planDeletes(
  { present, wanted }: World,
  prune: PruneScope | null,
  steps: readonly PlannedStep[],
): PlannedStep[] {
  if (prune === null) return []
  const { tag, prefix } = prune
  const gone = [...present.values()].filter(
    ({ key, tags }) =>
      !wanted.has(key!) &&
      (tag === undefined || tags.includes(tag)) &&
      (prefix === undefined || key!.startsWith(prefix)),
  )
  const keys = new Set(gone.map(({ key }) => key!))
  for (const { key, document } of steps) {
    const parent = parentsOf(document).find((one) => one.key !== undefined && keys.has(one.key))
    if (parent !== undefined)
      throw new CliError(EXIT.refused, `"${key}" runs after "${parent.key}", which --prune would delete.`)
  }
  const asPlaced = gone.map((job) => {
    const keyOf = (id: string) => gone.find((one) => one.job_id === id)?.key ?? null
    return { job: { ...toDocument(job, keyOf), key: job.key }, where: 'the server' }
  })
  return orderByParents(asPlaced)
    .toReversed()
    .map(({ job }) => {
      const { job_id: jobId, version, name, key } = present.get(String(job['key']))!
      return { kind: 'job', action: 'delete', key: key!, name, jobId, version, changes: [], document: {} }
    })
}
