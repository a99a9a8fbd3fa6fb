// The versions of jobs on PostgreSQL.
import { versionGraceMs } from '../../domain/jobs/kept-versions.ts'
import type {
  JobVersionPage,
  JobVersionQuery,
  JobVersions,
  MadeVersion,
  OlderVersion,
  VersionKey,
} from '../../ports/job-versions.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import { toJobVersion, type VersionRow } from './job-row.ts'
import * as statements from './job-versions.sql.ts'
import { pruneNextJob } from './prune-versions.ts'

const versionMax = 2_147_483_647
const beforeAll: VersionKey = { jobId: '00000000-0000-0000-0000-000000000000', version: 0 }

export class PostgresJobVersions implements JobVersions {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async list(query: JobVersionQuery): Promise<JobVersionPage | null> {
    const { tenantId, jobId, before, limit, bytesMax, payloads } = query
    const [counted, listed] = await Promise.all([
      this.#database.query<{ versions: number }>(statements.selectVersionCount, [tenantId, jobId]),
      this.#database.query<ListedRow>(statements.selectVersions, [
        tenantId,
        jobId,
        before ?? versionMax,
        limit,
        bytesMax,
        payloads,
      ]),
    ])
    if (counted.rows[0] === undefined) return null
    const more = (listed.rows[0]?.picked_count ?? 0) > listed.rows.length
    return { versions: listed.rows.map(toMadeVersion), more, total: counted.rows[0].versions }
  }

  async findOlder(after: VersionKey | null, limit: number): Promise<OlderVersion[]> {
    const { jobId, version } = after ?? beforeAll
    const { rows } = await this.#database.query<Columns<OlderVersion>>(statements.selectOlderVersions, [
      jobId,
      version,
      limit,
    ])
    return rows.map((row) => fromColumns<OlderVersion>(row))
  }

  async settleOlder(versions: readonly VersionKey[]): Promise<void> {
    const jobIds = versions.map(({ jobId }) => jobId)
    const numbers = versions.map(({ version }) => version)
    await this.#database.query(statements.settleOlderVersions, [jobIds, numbers])
  }

  async prune(limit: number, graceMs = versionGraceMs): Promise<number> {
    for (let steps = 0; steps < limit; steps++) {
      if (!(await pruneNextJob(this.#database, graceMs))) return steps
    }
    return limit
  }
}

function toMadeVersion({ picked_count: _count, ...listed }: ListedRow): MadeVersion {
  const { created_at: createdAt, created_by: createdBy, pruned_at: prunedAt, payload, ...row } = listed
  return { job: toJobVersion(row), payload, createdAt, createdBy, prunedAt }
}

type ListedRow = VersionRow & Columns<Omit<MadeVersion, 'job'>> & { picked_count: number }
