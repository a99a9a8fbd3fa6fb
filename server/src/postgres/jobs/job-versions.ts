// The versions of jobs on PostgreSQL.
import type {
  JobVersionPage,
  JobVersionQuery,
  JobVersions,
  MadeVersion,
  OlderVersion,
  VersionKey,
} from '../../ports/job-versions.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Queries } from '../connection/database.ts'
import { toJobVersion, type VersionRow } from './job-row.ts'
import * as statements from './job-versions.sql.ts'

const versionMax = 2_147_483_647
const beforeAll: VersionKey = { jobId: '00000000-0000-0000-0000-000000000000', version: 0 }

export class PostgresJobVersions implements JobVersions {
  readonly #database: Queries

  constructor(database: Queries) {
    this.#database = database
  }

  async list({ tenantId, jobId, before, limit }: JobVersionQuery): Promise<JobVersionPage | null> {
    const [counted, listed] = await Promise.all([
      this.#database.query<{ version: number }>(statements.selectVersionCount, [tenantId, jobId]),
      this.#database.query<ListedRow>(statements.selectVersions, [
        tenantId,
        jobId,
        before ?? versionMax,
        limit + 1,
      ]),
    ])
    if (counted.rows[0] === undefined) return null
    const versions = listed.rows
      .slice(0, limit)
      .map(({ created_at: createdAt, created_by: createdBy, ...row }) => ({
        job: toJobVersion(row),
        createdAt,
        createdBy,
      }))
    return { versions, more: listed.rows.length > limit, total: counted.rows[0].version }
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
}

type ListedRow = VersionRow & Columns<Omit<MadeVersion, 'job'>>
