// The bytes that count against the storage limit of a tier, and how processes share the rest of it: a process draws a
// slice and spends it, so that a small write asks nobody. It is a bound and no account to the byte.
import type { JobVersion } from '../jobs/job.ts'

/** Of a version besides its JSON: its columns and its place in the indexes. */
export const versionBytesBase = 200
/** A process draws this part of the limit at once. */
const slicesOfLimit = 200
const sliceBytesMin = 64 * 1024

export function sliceBytesOf(limit: number): number {
  return Math.min(limit, Math.max(sliceBytesMin, Math.floor(limit / slicesOfLimit)))
}

/** As it is sent; the database may store it in less. */
export function storedBytesOf({
  execution,
  schedule,
  metadata,
  description,
}: Pick<JobVersion, 'execution' | 'schedule' | 'metadata' | 'description'>): number {
  return (
    versionBytesBase +
    Buffer.byteLength(JSON.stringify(execution)) +
    Buffer.byteLength(JSON.stringify(schedule)) +
    Buffer.byteLength(JSON.stringify(metadata)) +
    Buffer.byteLength(description ?? '')
  )
}

export interface StorageSpending {
  tenantId: string
  /** Of the tier: a slice that was drawn under another limit is forfeited. */
  limit: number
  bytes: number
}

/** Bytes that a process has drawn and not spent, by tenant. A process that ends forfeits them until the next count. */
export class StorageSlices {
  readonly #slices = new Map<string, { limit: number; left: number }>()
  readonly #tenantsMax: number

  constructor({ tenantsMax = 10_000 }: { tenantsMax?: number } = {}) {
    this.#tenantsMax = tenantsMax
  }

  /** False: there are not so many left that were drawn under this limit, and nothing is spent. */
  spend({ tenantId, limit, bytes }: StorageSpending): boolean {
    const slice = this.#slices.get(tenantId)
    if (slice === undefined || slice.limit !== limit || slice.left < bytes) return false
    slice.left -= bytes
    return true
  }

  add({ tenantId, limit, bytes }: StorageSpending): void {
    const slice = this.#slices.get(tenantId)
    if (slice?.limit === limit) {
      slice.left += bytes
      return
    }
    // The first of a full map gives way: it loses a slice.
    if (slice === undefined && this.#slices.size >= this.#tenantsMax)
      this.#slices.delete(this.#slices.keys().next().value!)
    this.#slices.set(tenantId, { limit, left: bytes })
  }
}
