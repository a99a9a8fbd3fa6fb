// Prunes the versions of jobs: of noted jobs in the background, and of a job with many edits by every thousandth of them.
import { PRUNED_FIELDS, versionsAnEdit, versionsKeptMax } from '../../domain/jobs/kept-versions.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { dropHealth } from '../history/job-health.sql.ts'
import * as statements from './prune-versions.sql.ts'

/** In one statement: versions, and attempts of each. 100,000 rows are about a tenth of a second. */
const pageMax = 100
const attemptsMax = 1_000
/** Of an edit, which others wait for: most have one version after the other with few executions between. */
const editAttemptsMax = 100

/** Looks at a page of versions of the job that is due; false: none is. */
export function pruneNextJob(database: Transactions, graceMs: number): Promise<boolean> {
  return database.transaction(async (queries) => {
    const { rows } = await queries.query<NoteRow>(statements.takeVersionNote, [graceMs])
    if (rows[0] === undefined) return false
    const { job_id: jobId, after_version: after } = rows[0]
    const page = { jobId, after, limit: pageMax, attemptsMax, graceMs }
    const last = await prunePage(queries, page)
    if (last === null) {
      await queries.query(dropHealth, [jobId])
      await queries.query(statements.endVersionNote, [jobId])
    }
    if (last !== null) await queries.query(statements.moveVersionNote, [jobId, last])
    return true
  })
}

/**
 * Looks at the versions made since the edit that did so before, and at as many of the ones beyond `versionsKeptMax`. The job
 * is locked and in no graph: nothing can be about to name an earlier version.
 */
export async function pruneEdited(queries: Queries, jobId: string, current: number): Promise<void> {
  const limit = versionsAnEdit
  for (const last of [current - 1, current - versionsKeptMax]) {
    const page = { jobId, after: Math.max(0, last - limit), limit, attemptsMax: editAttemptsMax, graceMs: 0 }
    if (last > 0) await prunePage(queries, page)
  }
}

interface Page {
  jobId: string
  after: number
  limit: number
  attemptsMax: number
  graceMs: number
}

/** The last version of a full page; null: there are no more behind it. */
async function prunePage(queries: Queries, page: Page): Promise<number | null> {
  const values = [page.jobId, page.after, page.limit, page.attemptsMax, page.graceMs]
  const { rows } = await queries.query<PageRow>(statements.pruneVersions, [
    ...values,
    PRUNED_FIELDS,
    versionsKeptMax,
  ])
  const { looked_at: lookedAt, last } = rows[0]!
  return lookedAt === page.limit ? last : null
}

interface NoteRow {
  job_id: string
  after_version: number
}

interface PageRow {
  looked_at: number
  last: number | null
}
