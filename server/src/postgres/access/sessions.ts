// Sessions on PostgreSQL.
import { codesMax, sessionsMax } from '../../domain/access/session.ts'
import type { FoundSession, NewCode, NewSession, Sessions } from '../../ports/sessions.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import * as statements from './sessions.sql.ts'

export class PostgresSessions implements Sessions {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async open({ hash, keyHash, forMs }: NewSession): Promise<void> {
    await this.#database.query(statements.insertSession, [hash, keyHash, forMs])
    await this.#database.query(statements.endOldestSessions, [keyHash, sessionsMax])
  }

  async find(hash: Uint8Array): Promise<FoundSession | null> {
    const { rows } = await this.#database.query<Columns<FoundSession>>(statements.selectSession, [hash])
    return rows[0] === undefined ? null : fromColumns<FoundSession>(rows[0])
  }

  async close(hash: Uint8Array): Promise<void> {
    await this.#database.query(statements.deleteSession, [hash])
  }

  async addCode({ hash, keyHash, forMs }: NewCode): Promise<void> {
    await this.#database.query(statements.insertCode, [hash, keyHash, forMs])
    await this.#database.query(statements.deleteOldestCodes, [keyHash, codesMax])
  }

  async useCode(hash: Uint8Array): Promise<Uint8Array | null> {
    const { rows } = await this.#database.query<{ key_hash: Buffer }>(statements.useCode, [hash])
    return rows[0]?.key_hash ?? null
  }
}
