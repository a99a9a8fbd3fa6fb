// Figures for /metrics that only the store knows.

/** The bands of priority that the queue is counted by. */
export const PRIORITY_BANDS = ['p1-p3', 'p4-p7', 'p8-p10'] as const
export type PriorityBand = (typeof PRIORITY_BANDS)[number]

/** A dense job's cursor lags by a minute; a job whose slot is longer over than this is overdue. */
export const overdueJobMs = 90_000

export interface Gauges {
  /** By band of priority: executions that wait for a worker, and for how many seconds the oldest has waited. */
  queue(): Promise<Record<PriorityBand, { depth: number; oldestSeconds: number }>>
  /** Jobs whose slot has been over for `overdueJobMs` and is not fired. */
  overdueJobs(): Promise<number>
  /** Partitions that no scheduler holds. */
  unownedPartitions(): Promise<number>
  /** Age in seconds of the oldest open transaction; of other users only if we may see them. */
  oldestTransaction(): Promise<number>
  historyBytes(): Promise<number>
  /** Connections that the database server accepts from us, and the ones that all its clients have now. */
  connections(): Promise<{ most: number; inUse: number }>
}
