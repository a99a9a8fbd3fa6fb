// Bundles of code that jobs run.
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Artifacts {
  /** Replaces an existing artifact with this id. */
  put(artifact: NewArtifact): Promise<ArtifactPut>
  get(tenantId: string, artifactId: string): Promise<ArtifactView | null>
  /** By id, behind `after`. */
  list(query: ArtifactQuery): Promise<ArtifactPage>
  /** Null: there is none, or another one by now. */
  read(tenantId: string, artifactId: string, sha256: string): Promise<Uint8Array | null>
  remove(tenantId: string, artifactId: string): Promise<boolean>
}

/** Limit per bundle. */
export const artifactBytesMax = 32 * 1024 * 1024
/** Limit per tenant. */
export const artifactsMax = 100

export interface ArtifactView {
  artifactId: string
  /** In hex. */
  sha256: string
  bytes: number
  createdAt: EpochMs
  createdBy: string
}

export interface NewArtifact {
  tenantId: string
  artifactId: string
  sha256: string
  content: Uint8Array
  by: string
}

export type ArtifactPut =
  | { kind: 'created' | 'replaced'; artifact: ArtifactView }
  /** The tenant has `artifactsMax`, and this would be one more. */
  | { kind: 'too_many' }

export interface ArtifactQuery {
  tenantId: string
  /** Null: from the first one. */
  after: string | null
  limit: number
}

export interface ArtifactPage {
  artifacts: ArtifactView[]
  more: boolean
  /** Count over all pages. */
  total: number
}
