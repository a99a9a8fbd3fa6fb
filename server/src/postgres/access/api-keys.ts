// API keys on PostgreSQL.
import { apiKeysMax, keyUseMs } from '../../domain/access/api-key.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { firstId, lastId } from '../../lib/id.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type {
  ApiKey,
  ApiKeyChanges,
  ApiKeyPage,
  ApiKeyQuery,
  ApiKeys,
  FoundKey,
  KeyOwner,
  NewApiKey,
} from '../../ports/api-keys.ts'
import { totalMax } from '../../ports/executions.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import * as statements from './api-keys.sql.ts'

const operators = firstId

export class PostgresApiKeys implements ApiKeys {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async create(key: NewApiKey): Promise<ApiKey | 'too_many'> {
    const owner = ownerId(key.tenantId)
    return this.#database.transaction(async (queries) => {
      await queries.query(statements.lockKeyOwner, [owner])
      // A statement of its own: it sees everything committed before we had the lock.
      const counted = await queries.query<{ total: number }>(statements.countUsableKeys, [owner])
      if (counted.rows[0]!.total >= apiKeysMax) return 'too_many'
      await queries.query(statements.forgetRevokedKeys, [owner, apiKeysMax])
      const { rows } = await queries.query<KeyRow>(statements.insertKey, [
        key.keyId,
        key.tenantId,
        key.name,
        key.prefix,
        key.hash,
        key.scopes,
        key.createdBy,
        key.expiresAt,
      ])
      return fromColumns<ApiKey>(rows[0]!)
    })
  }

  async findByHash(hash: Uint8Array): Promise<FoundKey | null> {
    const { rows } = await this.#database.query<FoundRow>(statements.selectKeyByHash, [hash])
    return rows[0] === undefined ? null : toFound(rows[0])
  }

  async get(owners: readonly KeyOwner[], keyId: string): Promise<ApiKey | null> {
    const { rows } = await this.#database.query<KeyRow>(statements.selectKey, [owners.map(ownerId), keyId])
    return rows[0] === undefined ? null : fromColumns<ApiKey>(rows[0])
  }

  async list({ tenantId, before, limit }: ApiKeyQuery): Promise<ApiKeyPage> {
    const owner = ownerId(tenantId)
    const [listed, counted] = await Promise.all([
      this.#database.query<KeyRow>(statements.selectKeys, [owner, before ?? lastId, limit + 1]),
      this.#database.query<{ total: number }>(statements.countKeys, [owner, totalMax + 1]),
    ])
    return {
      keys: listed.rows.slice(0, limit).map(fromColumns<ApiKey>),
      more: listed.rows.length > limit,
      total: counted.rows[0]!.total,
    }
  }

  async change(
    owners: readonly KeyOwner[],
    keyId: string,
    { name = null, expiresAt }: Omit<ApiKeyChanges, 'name'> & { name?: string | null },
  ): Promise<ApiKey | null> {
    const { rows } = await this.#database.query<KeyRow>(statements.updateKey, [
      owners.map(ownerId),
      keyId,
      name,
      expiresAt !== undefined,
      expiresAt ?? null,
    ])
    return rows[0] === undefined ? null : fromColumns<ApiKey>(rows[0])
  }

  async revoke(owners: readonly KeyOwner[], keyId: string): Promise<'revoked' | 'not_found'> {
    const { count } = await this.#database.query(statements.revokeKey, [owners.map(ownerId), keyId])
    return count === 1 ? 'revoked' : 'not_found'
  }

  async noteUse(keyId: string): Promise<void> {
    await this.#database.query(statements.noteKeyUse, [keyId, keyUseMs])
  }
}

function ownerId(owner: KeyOwner): string {
  return owner ?? operators
}

type KeyRow = Columns<ApiKey>

/** Without a tenant there is no tier either. */
type FoundRow = Pick<KeyRow, 'key_id' | 'tenant_id' | 'name' | 'scopes' | 'expires_at' | 'revoked_at'> &
  Columns<Tier> & { deleted_at: EpochMs | null }

function toFound({
  tenant_id: tenantId,
  key_id,
  name,
  scopes,
  expires_at,
  revoked_at,
  deleted_at,
  ...tier
}: FoundRow): FoundKey {
  return {
    ...fromColumns<Omit<FoundKey, 'tenant'>>({ key_id, name, scopes, expires_at, revoked_at }),
    tenant:
      tenantId === null ? null : { tenantId, tier: fromColumns<Tier>(tier), isDeleted: deleted_at !== null },
  }
}
