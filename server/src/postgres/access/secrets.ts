// The signing keys of an installation, on PostgreSQL.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Secrets, TenantSigningKeys } from '../../ports/secrets.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './secrets.sql.ts'

export class PostgresSecrets implements Secrets {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async tokenKey(): Promise<Uint8Array> {
    const { rows } = await this.#database.query<{ token_key: Buffer }>(statements.selectTokenKey, [])
    return toKey(rows[0]!.token_key)
  }

  async signingKeys(tenantIds: readonly string[]): Promise<TenantSigningKeys[]> {
    const { rows } = await this.#database.query<KeysRow>(statements.selectSigningKeys, [tenantIds])
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      keys: [row.signing_key, row.previous_signing_key].flatMap((key) => (key === null ? [] : [toKey(key)])),
      createdAt: row.signing_key_at,
      previousUntil: row.previous_until,
    }))
  }

  async rotateSigningKey(order: {
    tenantId: string
    key: Uint8Array
    previousUntil: EpochMs
  }): Promise<void> {
    const { tenantId, key, previousUntil } = order
    await this.#database.query(statements.rotateSigningKey, [tenantId, Buffer.from(key), previousUntil])
  }
}

/** The driver's buffer may be a view of the rest of the reply. */
function toKey(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer)
}

interface KeysRow {
  tenant_id: string
  signing_key: Buffer
  signing_key_at: EpochMs
  /** Null: it is used no more, or there was none. */
  previous_signing_key: Buffer | null
  previous_until: EpochMs | null
}
