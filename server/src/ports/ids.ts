// Identifiers: UUIDv7, so that ids sort by the time they were made.

export interface Ids {
  /** A fresh UUIDv7; later calls in one process never sort before earlier ones. */
  next(): string
  /** The same with a zero as its last byte: the id of a batch; its executions fill in their position. */
  nextBatch(): string
}
