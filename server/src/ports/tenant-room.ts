// How much of its storage and of its waiting executions a tenant uses, and the room under the limits of its tier.

export interface TenantRoom {
  /**
   * Of these tenants the ones with a limit on waiting executions, and how many more may wait. Executions in batches of the
   * shared lane are counted in its first batches only, so it may be more than there is. One statement; at most 1,000
   * tenants.
   */
  waitingRoom(tenantIds: readonly string[]): Promise<ReadonlyMap<string, WaitingRoom>>
  /** Executions of the tenant that wait; counting stops soon behind `max`. */
  countWaiting(tenantId: string, max: number): Promise<number>
  /**
   * Takes bytes out of the storage that is left, committed alone: at least `bytesMin`, and as many as `bytesMax` while
   * there are so many. Counted anew when the count is old, or when it would refuse and may be counted again.
   */
  drawStorage(draw: StorageDraw): Promise<StorageDrawn>
  /** The bytes that the tenant stores. A count of five seconds' age is taken as it is, and longer when counting takes long. Only under a limit. */
  storageUsed(tenantId: string): Promise<number>
}

export interface WaitingRoom {
  /** Of the tier. */
  waitingMax: number
  /** Counting stops beyond the limit. */
  waiting: number
  room: number
}

export interface StorageDraw {
  tenantId: string
  /** Of the tier. */
  limit: number
  bytesMin: number
  bytesMax: number
}

/** `granted`: 0, or `bytesMin` to `bytesMax`. `used`: the bytes that the tenant stores, with earlier draws. */
export interface StorageDrawn {
  granted: number
  used: number
}
