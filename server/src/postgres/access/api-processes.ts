// Processes with the role api, on PostgreSQL.
import { type ApiProcess, type ApiProcesses, reportedTenantsMax } from '../../ports/api-processes.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './api-processes.sql.ts'

interface ProcessRow {
  process_id: string
  tenant_ids: string[]
  rates: number[]
}

export class PostgresApiProcesses implements ApiProcesses {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async report({ processId, rates }: ApiProcess, termMs: number): Promise<ApiProcess[]> {
    const reported = [...rates].slice(0, reportedTenantsMax)
    const tenantIds = reported.map(([tenantId]) => tenantId)
    const values = [processId, tenantIds, reported.map(([, rate]) => rate), termMs]
    const { rows } = await this.#database.query<ProcessRow>(statements.reportRequests, values)
    return rows.map((row) => ({
      processId: row.process_id,
      rates: new Map(row.tenant_ids.map((tenantId, at) => [tenantId, row.rates[at]!])),
    }))
  }

  async leave(processId: string): Promise<void> {
    await this.#database.query(statements.deleteApiProcess, [processId])
  }
}
