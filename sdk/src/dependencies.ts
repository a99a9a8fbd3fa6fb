// Dependencies of jobs, as given to defineJob: checked, and in an order in which each job comes after its dependencies.
import { DEPENDENCY_RULES, type DependencyRule } from '#contract/constants.ts'
import type { AnyJob } from './define-job.ts'
import { checkOptionNames } from './known-options.ts'

/** How the other must have ended: SUCCEEDED; FAILED or TIMED_OUT; or any of these (completion). */
export type { DependencyRule } from '#contract/constants.ts'

/** A job made by defineJob, known by its key; or one that others made, by its id. */
export type JobDependency =
  | AnyJob
  | { job: AnyJob; on?: DependencyRule }
  | { jobId: string; on?: DependencyRule }

export type NamedDependency = { job: AnyJob; on: DependencyRule } | { jobId: string; on: DependencyRule }

type Dependent = Pick<AnyJob, 'key' | 'dependsOn'>

const dependencyOptions = { job: true, jobId: true, on: true } as const
/** The other jobs of a graph. */
const dependenciesMax = 999
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Empty: it runs after nothing. Throws when the dependencies make no sense. */
export function readDependencies({ key, dependsOn = [] }: Dependent): NamedDependency[] {
  if (!Array.isArray(dependsOn)) throw new TypeError(`dependsOn of ${key} must be an array.`)
  if (dependsOn.length > dependenciesMax) {
    throw new TypeError(`dependsOn of ${key} has ${dependsOn.length}: ${dependenciesMax} at most.`)
  }
  const named = dependsOn.map((one, index) => readOne(one, `dependsOn[${index}] of ${key}`))
  const seen = new Set<string>()
  for (const one of named) {
    const name = 'job' in one ? one.job.key : one.jobId
    if ('job' in one && name === key) throw new TypeError(`dependsOn of ${key}: it would run after itself.`)
    if (seen.has(name)) throw new TypeError(`dependsOn of ${key} has ${name} twice.`)
    seen.add(name)
  }
  return named
}

export function hasDependencies({ dependsOn = [] }: Dependent): boolean {
  return dependsOn.length > 0
}

/** Whether it is in the API by its key: a job without a schedule is only there while it runs. */
export function isPut(job: Pick<AnyJob, 'schedule' | 'key' | 'dependsOn'>): boolean {
  return job.schedule !== undefined || hasDependencies(job)
}

function readOne(given: JobDependency, field: string): NamedDependency {
  if (isJob(given)) return { job: checkPut(given, field), on: 'success' }
  const {
    job,
    jobId,
    on = 'success',
  } = (given ?? {}) as { job?: AnyJob; jobId?: string; on?: DependencyRule }
  if (!DEPENDENCY_RULES.includes(on)) {
    throw new TypeError(
      `on of ${field} is ${JSON.stringify(on)}: it must be one of ${DEPENDENCY_RULES.join(', ')}.`,
    )
  }
  if (isJob(job) || typeof jobId === 'string') checkOptionNames(field, given, dependencyOptions)
  if (isJob(job)) return { job: checkPut(job, field), on }
  if (typeof jobId === 'string' && uuidPattern.test(jobId)) return { jobId: jobId.toLowerCase(), on }
  throw new TypeError(
    `${field} must be a job made by defineJob, { job, on } with such a one, or { jobId, on } with the id of a job.`,
  )
}

function isJob(given: unknown): given is AnyJob {
  return typeof (given as Partial<AnyJob> | null | undefined)?.run === 'function'
}

function checkPut(job: AnyJob, field: string): AnyJob {
  if (isPut(job)) return job
  throw new TypeError(
    `${field}: ${job.key} has neither a schedule nor dependsOn, so nothing can run after it. Give it a schedule; it can be triggered besides.`,
  )
}

/** These jobs and all their dependencies, each job after its dependencies. A job of the list stands for its key. */
export function orderJobs(jobs: readonly AnyJob[]): AnyJob[] {
  const byKey = gather(jobs)
  const ordered = new Set<AnyJob>()
  const path: string[] = []
  const add = (job: AnyJob): void => {
    if (ordered.has(job)) return
    const { key } = job
    if (path.includes(key)) {
      const circle = [...path.slice(path.indexOf(key)), key]
      throw new TypeError(`These jobs would wait for each other for ever: ${circle.join(' runs after ')}.`)
    }
    path.push(key)
    for (const one of readDependencies(job)) if ('job' in one) add(byKey.get(one.job.key)!)
    path.pop()
    ordered.add(job)
  }
  for (const job of byKey.values()) add(job)
  return [...ordered]
}

function gather(jobs: readonly AnyJob[]): Map<string, AnyJob> {
  const byKey = new Map(jobs.map((job) => [job.key, job]))
  const listed = new Set(byKey.keys())
  // Grows while it is walked: the dependencies of these jobs are visited, too.
  for (const job of byKey.values()) {
    for (const one of readDependencies(job)) {
      if (!('job' in one) || listed.has(one.job.key)) continue
      const known = byKey.get(one.job.key)
      if (known !== undefined && known !== one.job) {
        throw new TypeError(`dependsOn of ${job.key}: there are two jobs with the key ${one.job.key}.`)
      }
      byKey.set(one.job.key, one.job)
    }
  }
  return byKey
}
