// Processes with the role `history`, on PostgreSQL.
import type { HistoryProcesses } from '../../ports/history-processes.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './history-processes.sql.ts'

export class PostgresHistoryProcesses implements HistoryProcesses {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async beat(processId: string): Promise<void> {
    await this.#database.query(statements.beatHistory, [processId])
  }

  async leave(processId: string): Promise<void> {
    await this.#database.query(statements.deleteHistory, [processId])
  }

  async list(termMs: number): Promise<string[]> {
    const { rows } = await this.#database.query<{ process_id: string }>(statements.selectHistory, [termMs])
    return rows.map(({ process_id: processId }) => processId)
  }
}
