// `carillon apply -f`: the jobs of these files shall be there as they say. Plan, question, work.
import type { CalendarRequest } from '@carillon/contract/calendar.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import type { Client } from '@carillon/sdk'
import { confirm } from './confirm.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { readDocuments } from './manifest.ts'
import { makePlan, type Plan, type PlannedStep, type PruneScope, toRequest } from './plan.ts'
import { parentsOf } from './plan-order.ts'
import { isEmpty, writePlan } from './plan-text.ts'
import { inPool } from './pool.ts'
import { Progress } from './progress.ts'

const requestsMax = 8

export async function applyFiles(context: Context): Promise<undefined> {
  const { out, values, io, signal } = context
  const file = values.text('file')
  if (file === undefined) throw new CliError(EXIT.usage, 'apply: name a file or folder: -f jobs.yaml')
  const prune = readPrune(context)
  const manifest = await readDocuments(file, io)
  if (prune?.tag !== undefined) {
    const untagged = manifest.jobs.filter(
      ({ job }) => !(job['tags'] as string[] | undefined)?.includes(prune.tag!),
    )
    if (untagged.length > 0)
      out.say(
        `! ${untagged.length} jobs of the files lack the tag ${prune.tag}; a later --prune will not find them.`,
        'warn',
      )
  }
  const { patient: client } = await context.connect()
  const plan = await withBar(context, 'Plan', (onProgress) =>
    makePlan(manifest, { client, prune, onProgress, signal }),
  )
  if (!out.json) out.write(writePlan(plan, out))
  const dryRun = values.flag('dry-run')
  if (dryRun || isEmpty(plan.summary)) {
    if (out.json) out.writeJson(toJson(plan, { applied: false, dryRun }))
    return
  }
  const { create, change, delete: deleted } = plan.summary
  await confirm(
    context,
    `Apply ${create + change + deleted} changes${deleted === 0 ? '' : `, ${deleted} of them deletions`}?`,
  )
  await withBar(context, 'Apply', (onProgress) => carryOut(plan, client, onProgress, context))
  if (out.json) out.writeJson(toJson(plan, { applied: true, dryRun }))
  else out.say(`Applied: ${create} created, ${change} changed, ${deleted} deleted.`, 'good')
  return
}

function readPrune({ values }: Context): PruneScope | null {
  const tag = values.text('tag')
  const prefix = values.text('prefix')
  if (values.flag('prune') && tag === undefined && prefix === undefined) {
    throw new CliError(EXIT.usage, 'apply: --prune needs a limit: add --tag TAG or --prefix PREFIX.', [
      'It then deletes only jobs with that tag or key prefix that the files do not name.',
    ])
  }
  if (!values.flag('prune')) {
    if (tag !== undefined || prefix !== undefined)
      throw new CliError(EXIT.usage, 'apply: --tag and --prefix are only for --prune.')
    return null
  }
  return { ...(tag === undefined ? {} : { tag }), ...(prefix === undefined ? {} : { prefix }) }
}

async function carryOut(
  { steps, ids }: Plan,
  client: Client,
  onProgress: (done: number, total: number) => void,
  { out, signal }: Context,
): Promise<void> {
  const work = steps.filter(({ action }) => action !== 'none')
  let done = 0
  const report = () => onProgress(++done, work.length)
  try {
    for (const stage of stagesOf(work)) {
      await inPool(stage, requestsMax, async (step) => {
        signal.throwIfAborted()
        await carryOutStep(step, client, ids)
        report()
      })
    }
  } catch (error) {
    out.say(`${done} of ${work.length} changes were made before this error; apply again to continue.`, 'warn')
    throw error
  }
}

/**
 * Steps in stages: the steps of a stage may run at once, each stage after the one before. Deletes come one by one,
 * dependent jobs first.
 */
function stagesOf(work: readonly PlannedStep[]): PlannedStep[][] {
  const depths = new Map<string, number>()
  const stages: PlannedStep[][] = [work.filter(({ kind }) => kind === 'calendar')]
  for (const step of work.filter(({ kind, action }) => kind === 'job' && action !== 'delete')) {
    const parents = parentsOf(step.document).map(({ key }) =>
      key === undefined ? 0 : (depths.get(key) ?? 0),
    )
    const depth = 1 + Math.max(0, ...parents)
    depths.set(step.key, depth)
    stages[depth] ??= []
    stages[depth].push(step)
  }
  const deletes = work.filter(({ action }) => action === 'delete').map((step) => [step])
  return [...stages.map((stage) => stage ?? []), ...deletes]
}

async function carryOutStep(
  { kind, action, key, jobId, version, document }: PlannedStep,
  client: Client,
  ids: Map<string, string>,
): Promise<void> {
  if (kind === 'calendar') {
    await client.calendars.put(key, document as unknown as CalendarRequest)
    return
  }
  if (action === 'delete') {
    await client.jobs.delete(jobId!, { ifMatch: version! })
    return
  }
  const request = toRequest(document, (parent) => ids.get(parent) ?? null) as unknown as JobRequest
  // A change made between the plan and now is not overwritten.
  const bound = action === 'create' ? ({ ifNoneMatch: '*' } as const) : { ifMatch: version! }
  const { job_id } = await client.jobs.putByKey(key, request, bound)
  ids.set(key, job_id)
}

async function withBar<T>(
  context: Context,
  what: string,
  work: (onProgress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  using bar = new Progress(context, what)
  return await work((done, total) => bar.show(done, total))
}

function toJson(
  { steps, summary, ids }: Plan,
  { applied, dryRun }: { applied: boolean; dryRun: boolean },
): object {
  return {
    plan: steps.map(({ kind, action, key, name, jobId, changes }) => ({
      kind,
      action,
      key,
      name,
      job_id: jobId ?? (kind === 'job' ? (ids.get(key) ?? null) : null),
      changes,
    })),
    summary,
    applied,
    dry_run: dryRun,
  }
}
