// Artifacts in memory.
import {
  type ArtifactPage,
  type ArtifactPut,
  type ArtifactQuery,
  type Artifacts,
  type ArtifactView,
  artifactsMax,
  type NewArtifact,
} from '../../src/ports/artifacts.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

interface ArtifactRow extends ArtifactView {
  content: Uint8Array
}

export class MemoryArtifacts implements Artifacts {
  readonly #store: Pick<MemoryStore, 'now'>
  /** By tenant, then by id. */
  readonly #rows = new Map<string, Map<string, ArtifactRow>>()

  constructor(store: Pick<MemoryStore, 'now'>) {
    this.#store = store
  }

  async put({ tenantId, artifactId, sha256, content, by }: NewArtifact): Promise<ArtifactPut> {
    const rows = this.#of(tenantId)
    const kind = rows.has(artifactId) ? 'replaced' : 'created'
    if (kind === 'created' && rows.size >= artifactsMax) return { kind: 'too_many' }
    const bytes = content.length
    const row = { artifactId, sha256, bytes, createdAt: this.#store.now(), createdBy: by }
    rows.set(artifactId, { ...row, content: content.slice() })
    this.#rows.set(tenantId, rows)
    return { kind, artifact: row }
  }

  purge(tenantId: string): void {
    this.#rows.delete(tenantId)
  }

  async get(tenantId: string, artifactId: string): Promise<ArtifactView | null> {
    const row = this.#of(tenantId).get(artifactId)
    return row === undefined ? null : toView(row)
  }

  async list({ tenantId, after, limit }: ArtifactQuery): Promise<ArtifactPage> {
    const all = [...this.#of(tenantId).values()].toSorted((a, b) => compareText(a.artifactId, b.artifactId))
    const behind = all.filter(({ artifactId }) => after === null || artifactId > after)
    return {
      artifacts: behind.slice(0, limit).map(toView),
      more: behind.length > limit,
      total: all.length,
    }
  }

  async read(tenantId: string, artifactId: string, sha256: string): Promise<Uint8Array | null> {
    const row = this.#of(tenantId).get(artifactId)
    return row?.sha256 === sha256 ? row.content.slice() : null
  }

  async remove(tenantId: string, artifactId: string): Promise<boolean> {
    return this.#of(tenantId).delete(artifactId)
  }

  bytesOf(tenantId: string): number {
    return this.#of(tenantId)
      .values()
      .reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #of(tenantId: string): Map<string, ArtifactRow> {
    return this.#rows.get(tenantId) ?? new Map()
  }
}

function toView({ content: _, ...view }: ArtifactRow): ArtifactView {
  return view
}
