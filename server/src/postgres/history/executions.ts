// Reads of executions on PostgreSQL.
import type {
  ExecutionPage,
  ExecutionQuery,
  Executions,
  ExecutionView,
  UnderWay,
} from '../../ports/executions.ts'
import type { Database } from '../connection/database.ts'
import { findExecution } from './find-execution.ts'
import { searchExecutions } from './search.ts'
import { selectUnderWay } from './under-way.ts'

export class PostgresExecutions implements Executions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  listExecutions(query: ExecutionQuery): Promise<ExecutionPage | null> {
    return searchExecutions(this.#database, query)
  }

  getExecution(tenantId: string, executionId: string): Promise<ExecutionView | null> {
    return findExecution(this.#database, tenantId, executionId)
  }

  underWay(tenantId: string, jobId: string): Promise<UnderWay | null> {
    return selectUnderWay(this.#database, tenantId, jobId)
  }
}
