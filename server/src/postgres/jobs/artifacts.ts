// Artifacts on PostgreSQL. Content is read in pieces: as text on the wire it takes twice its size, and a statement has its
// time.
import {
  type ArtifactPage,
  type ArtifactPut,
  type ArtifactQuery,
  type Artifacts,
  type ArtifactView,
  artifactsMax,
  type NewArtifact,
} from '../../ports/artifacts.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import * as statements from './artifacts.sql.ts'

const pieceBytes = 4 * 1024 * 1024

export class PostgresArtifacts implements Artifacts {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  put({ tenantId, artifactId, sha256, content, by }: NewArtifact): Promise<ArtifactPut> {
    return this.#database.transaction(async (queries) => {
      await queries.query(statements.lockArtifacts, [tenantId])
      // Separate statements: they see everything committed before we got the lock.
      const counted = await queries.query<{ total: number }>(statements.countArtifacts, [tenantId])
      const found = await queries.query(statements.selectArtifact, [tenantId, artifactId])
      if (found.count === 0 && counted.rows[0]!.total >= artifactsMax) return { kind: 'too_many' }
      const values = [tenantId, artifactId, sha256, content, by]
      const { rows } = await queries.query<ArtifactRow>(statements.upsertArtifact, values)
      return {
        kind: found.count === 0 ? 'created' : 'replaced',
        artifact: fromColumns<ArtifactView>(rows[0]!),
      }
    })
  }

  async get(tenantId: string, artifactId: string): Promise<ArtifactView | null> {
    const { rows } = await this.#database.query<ArtifactRow>(statements.selectArtifact, [
      tenantId,
      artifactId,
    ])
    return rows[0] === undefined ? null : fromColumns<ArtifactView>(rows[0])
  }

  async list({ tenantId, after, limit }: ArtifactQuery): Promise<ArtifactPage> {
    const [listed, counted] = await Promise.all([
      this.#database.query<ArtifactRow>(statements.selectArtifacts, [tenantId, after ?? '', limit + 1]),
      this.#database.query<{ total: number }>(statements.countArtifacts, [tenantId]),
    ])
    return {
      artifacts: listed.rows.slice(0, limit).map(fromColumns<ArtifactView>),
      more: listed.rows.length > limit,
      total: counted.rows[0]!.total,
    }
  }

  async read(tenantId: string, artifactId: string, sha256: string): Promise<Uint8Array | null> {
    const pieces: Buffer[] = []
    for (let offset = 0; ; offset += pieceBytes) {
      const values = [tenantId, artifactId, sha256, offset, pieceBytes]
      const { rows } = await this.#database.query<{ piece: Buffer }>(statements.selectContent, values)
      // Gone, or replaced between two pieces.
      if (rows[0] === undefined) return null
      pieces.push(rows[0].piece)
      if (rows[0].piece.length < pieceBytes) return Buffer.concat(pieces)
    }
  }

  async remove(tenantId: string, artifactId: string): Promise<boolean> {
    const { count } = await this.#database.query(statements.deleteArtifact, [tenantId, artifactId])
    return count > 0
  }
}

type ArtifactRow = Columns<ArtifactView>
