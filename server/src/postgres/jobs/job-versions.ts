// The versions of jobs on PostgreSQL.
import type { JobVersionPage, JobVersionQuery, JobVersions, MadeVersion } from '../../ports/job-versions.ts'
import type { Columns } from '../connection/columns.ts'
import type { Queries } from '../connection/database.ts'
import { toJobVersion, type VersionRow } from './job-row.ts'
import * as statements from './job-versions.sql.ts'

const versionMax = 2_147_483_647

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
}

type ListedRow = VersionRow & Columns<Omit<MadeVersion, 'job'>>
