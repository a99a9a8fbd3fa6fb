// `carillon jobs create` and `carillon jobs edit`: by options, from a file, or in an editor.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXECUTORS } from '@carillon/contract/executors/list.ts'
import type { ChangedJob, CreatedJob, Job, JobRequest } from '@carillon/contract/job.ts'
import type { Client } from '@carillon/sdk'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { findJob, findWholeJob, wordOf } from './find-job.ts'
import { type Document, hasHidden, toDocument } from './job-document.ts'
import { jobFlags, readJobFlags, targetFlag } from './job-flags.ts'
import { readDocuments } from './manifest.ts'
import { changesBetween, mergePatch } from './merge-patch.ts'
import { writeChange } from './plan-text.ts'
import { waitForExecutions } from './wait-execution.ts'

export async function createJob(context: Context): Promise<number | undefined> {
  const { out, values, signal } = context
  const file = values.text('file')
  const flags = await readJobFlags(context, async () => (await context.connect()).client)
  const request = file === undefined ? flags : { ...(await readOne(file, context)), ...flags }
  if (request['name'] === undefined) throw missing('name', '--name "Nightly report"')
  if (request['execution'] === undefined)
    throw missing('target', EXECUTORS.map((type) => `--${targetFlag(type)}`).join(', '))
  if (request['schedule'] === undefined && request['depends_on'] === undefined)
    throw missing('schedule', '--schedule "every day at 2:00", --schedule now, or --after JOB')
  const { client } = await context.connect()
  const dryRun = values.flag('dry-run')
  const job = await client.jobs.create((await namedParents(request, client)) as unknown as JobRequest, {
    dryRun,
  })
  warn(out, job)
  if (dryRun) out.report(`Would be created; it would run next at ${nextOf(job)}.`, { job, dry_run: true })
  else if (!out.json) {
    out.write(`${wordOf(job)} is created: job ${job.job_id}\n`)
    out.say(
      job.execution_id === undefined
        ? `It runs next at ${nextOf(job)}.`
        : `It runs now: execution ${job.execution_id}`,
    )
  } else if (!values.flag('wait')) out.writeJson({ job, dry_run: false })
  if (!values.flag('wait') || dryRun) return
  if (job.execution_id === undefined) throw new CliError(EXIT.usage, '--wait works only with --schedule now.')
  const executions = await waitForExecutions(context, client, [job.execution_id], signal)
  if (out.json) out.writeJson({ job, executions, dry_run: false })
  return executions[0]!.status === 'SUCCEEDED' ? EXIT.ok : EXIT.failed
}

export async function editJob(context: Context): Promise<undefined> {
  const { args, values } = context
  const { client } = await context.connect()
  const job = await findWholeJob(client, args[0]!)
  if (values.given(Object.keys(jobFlags)).length > 0) {
    // Options state the wanted values, regardless of the current ones.
    const patch = await readJobFlags(context, async () => client)
    return change(context, client, job, patch, '*')
  }
  const before = toDocument(job, () => null)
  const file = values.text('file')
  if (file !== undefined)
    return change(context, client, job, mergePatch(before, await readOne(file, context)), '*')
  const edited = await openEditor(job, before, context)
  try {
    const { jobs } = await readDocuments(edited.file, context.io)
    // An edit in an editor is based on one version, so only that version is changed.
    await change(context, client, job, mergePatch(before, jobs[0]!.job), job.version)
  } catch (error) {
    context.out.say(`Your text is kept in ${edited.file}`)
    throw error
  }
  await rm(edited.dir, { recursive: true })
  return
}

async function change(
  { out, values }: Context,
  client: Client,
  job: Job,
  patch: Document | null,
  ifMatch: number | '*',
): Promise<undefined> {
  const dryRun = values.flag('dry-run')
  if (patch === null) {
    out.report('Nothing has changed.', { job, changes: [], dry_run: dryRun })
    return
  }
  const changed: ChangedJob = await client.jobs.patch(job.job_id, await namedParents(patch, client), {
    ifMatch,
    dryRun,
  })
  warn(out, changed)
  const changes = changesBetween(
    toDocument(job, () => null),
    toDocument(changed, () => null),
  )
  if (out.json) out.writeJson({ job: changed, changes, dry_run: dryRun })
  else if (changed.version === job.version) out.write('Nothing has changed.\n')
  else {
    out.write(`${wordOf(changed)} ${dryRun ? 'would be' : 'is'} changed: version ${changed.version}\n`)
    if (changes.length === 0) out.say('  a value that is not shown')
    for (const one of changes) out.say(`  ${writeChange(one)}`)
  }
  return
}

function missing(what: string, how: string): CliError {
  return new CliError(EXIT.usage, `jobs create: the job needs a ${what.replace(/^a /, '')}: ${how}`, [
    'Or give the whole job with -f FILE. Try carillon jobs create --help',
  ])
}

async function readOne(file: string, context: Context): Promise<Document> {
  const { jobs } = await readDocuments(file, context.io)
  if (jobs.length !== 1)
    throw new CliError(
      EXIT.usage,
      `${file} has ${jobs.length} jobs; this command takes one. carillon apply -f takes many.`,
    )
  return jobs[0]!.job
}

/** Jobs that it runs after, which a file may name by key. */
async function namedParents(request: Document, client: Client): Promise<Document> {
  const parents = request['depends_on']
  if (!Array.isArray(parents)) return request
  const found = await Promise.all(
    parents.map(async (parent: unknown) => {
      if (typeof parent !== 'object' || parent === null || !('key' in parent)) return parent
      const { key, ...rest } = parent
      return { ...rest, job_id: (await findJob(client, String(key))).job_id }
    }),
  )
  return { ...request, depends_on: found }
}

function warn(out: Context['out'], { warnings = [] }: ChangedJob): void {
  for (const warning of warnings) out.say(`! ${warning}`, 'warn')
}

function nextOf({ schedule }: CreatedJob): string {
  return schedule?.next_run_at ?? '(no time known)'
}

async function openEditor(
  job: Job,
  before: Document,
  { io }: Context,
): Promise<{ dir: string; file: string }> {
  const editor = io.env['VISUAL'] || io.env['EDITOR']
  if (!editor) {
    throw new CliError(EXIT.usage, 'jobs edit: give the changes (--priority 3), or set EDITOR.', [
      'Try carillon jobs edit --help',
    ])
  }
  const { stringify } = await import('yaml')
  const dir = await mkdtemp(join(tmpdir(), 'carillon-edit-'))
  const file = join(dir, 'job.yaml')
  const hidden = hasHidden(job) ? '# A value of *** keeps the stored value.\n' : ''
  const head = `# ${wordOf(job)}, version ${job.version}. Save and close to change it.\n`
  await writeFile(file, `${head}${hidden}${stringify(before)}`)
  // By a shell, because the variable may have arguments: `code --wait`.
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === 0) return { dir, file }
  throw new CliError(EXIT.unexpected, `the editor exited with ${code}; nothing was changed.`)
}
