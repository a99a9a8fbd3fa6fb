// The messages between the first process and the others, over the IPC channel between them.
import type { ProcessReport } from '../telemetry/process-metrics.ts'
import type { RunAs } from '../worker/executors/own-directory.ts'

/** The purpose of a child process. */
export type ChildAssignment =
  | { kind: 'roles' }
  /** Shell commands and bundles. `base`: where they have their directories; the first process's to remove. */
  | { kind: 'commands'; base: string; runAs: RunAs }
  /** Handlers of a file. `api`: where and with which key to put its scheduled jobs; null: nowhere. */
  | { kind: 'handlers'; file: string; api: { url: string; key: string } | null }

/** From a child process. Processes it started end with it, and executions it held run elsewhere at once. */
export type ProcessMessage =
  | { workerId: string }
  | { groupStarted: number }
  | { groupEnded: number }
  | { alive: true }
  | { report: ProcessReport }

/** How often a child process says that it lives. */
export const aliveEveryMs = 2_000
