// Processes with the role `history`, as others see them. For liveness only: a process that is wrongly considered alive or
// dead delays or doubles the work of folding, and every record is still counted once.

export interface HistoryProcesses {
  /** This process is up. Safe to repeat. */
  beat(processId: string): Promise<void>
  /** This process ends; safe to repeat. */
  leave(processId: string): Promise<void>
  /** Every process that has beaten within `termMs`, by the clock of the database; in order of their ids. */
  list(termMs: number): Promise<string[]>
}
