// Every list of words that goes over the wire, each once: schemas, server, SDK, CLI and dashboard read them here.
// Nothing is imported, so that the dashboard and the SDK load no schema library for a list.

// ---- jobs

export const JOB_STATUSES = ['ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** How a job goes. FAILING: its latest execution failed. FLAKY: it did not, but one had to be retried not long ago. */
export const JOB_HEALTHS = ['FAILING', 'FLAKY', 'HEALTHY'] as const
export type JobHealthWord = (typeof JOB_HEALTHS)[number]

/** The fate of a slot that comes while an earlier execution of the job is under way. */
export const OVERLAP_POLICIES = ['ALLOW', 'SKIP', 'BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number]

/** The fate of slots that could not fire in time. */
export const MISFIRE_POLICIES = ['FIRE_ONCE', 'FIRE_ALL', 'SKIP'] as const
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number]

export const SCHEDULE_TYPES = ['IMMEDIATE', 'ONE_TIME', 'CRON', 'INTERVAL'] as const
export type ScheduleType = (typeof SCHEDULE_TYPES)[number]

/** The required end of a dependency. success: SUCCEEDED; failure: FAILED or TIMED_OUT; completion: any of these. */
export const DEPENDENCY_RULES = ['success', 'completion', 'failure'] as const
export type DependencyRule = (typeof DEPENDENCY_RULES)[number]

export const BACKOFFS = ['FIXED', 'LINEAR', 'EXPONENTIAL'] as const
export type Backoff = (typeof BACKOFFS)[number]

// ---- executions

export const EXECUTION_STATUSES = [
  'WAITING_DEPENDENCIES',
  'PENDING',
  'RUNNING',
  'RETRYING',
  'SUCCEEDED',
  'FAILED',
  'TIMED_OUT',
  'CANCELLING',
  'CANCELLED',
  'SKIPPED',
] as const
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number]

/** The origin of an execution. */
export const EXECUTION_KINDS = ['slot', 'trigger', 'retry', 'redrive', 'backfill', 'dependency'] as const
export type ExecutionKind = (typeof EXECUTION_KINDS)[number]

/** Why a slot has no execution. */
export const SKIP_REASONS = [
  'overlap',
  'misfire',
  'paused',
  'edited',
  'deleted',
  'exclusion',
  'quota',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

export const ATTEMPT_OUTCOMES = ['succeeded', 'failed', 'timed_out', 'lost', 'cancelled'] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

export const ERROR_TYPES = [
  'TIMEOUT',
  'HTTP_ERROR',
  'CONNECTION_REFUSED',
  'CONNECTION_RESET',
  'DNS_RESOLUTION_FAILED',
  'TLS_ERROR',
  'RESPONSE_TOO_LARGE',
  'TARGET_FORBIDDEN',
  'HANDLER_ERROR',
  'EXIT_CODE',
  'HEARTBEAT_TIMEOUT',
  'WORKER_LOST',
  'CANCELLED',
] as const
export type ErrorType = (typeof ERROR_TYPES)[number]

/** Why an execution became a dead letter. */
export const DEAD_REASONS = ['MAX_RETRIES_EXCEEDED', 'NOT_RETRYABLE', 'WORKER_LOST', 'TOTAL_TIMEOUT'] as const
export type DeadReason = (typeof DEAD_REASONS)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The longest wait before the next attempt that a target or a handler may ask for. */
export const retryAfterMsMax = 3_600_000
/** The longest delay between two attempts that a job may have: a day. */
export const retryDelayMsMax = 86_400_000

/** The units of a duration that people write, such as 90s or 1.5h, in milliseconds. */
export const durationUnitsMs = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
} as const
export type DurationUnit = keyof typeof durationUnitsMs

// ---- graph runs

export const RUN_STATUSES = ['RUNNING', 'CANCELLING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** The start of a run: a slot of its roots, or one root that was triggered or backfilled. */
export const RUN_KINDS = ['slot', 'trigger', 'backfill'] as const
export type RunKind = (typeof RUN_KINDS)[number]

/** outside: not reached from the start of the run; it counts by its latest execution that had ended then. */
export const NODE_ROLES = ['root', 'inner', 'outside'] as const
export type NodeRole = (typeof NODE_ROLES)[number]

/** Why an execution of a run was skipped. */
export const NODE_SKIP_REASONS = ['dependency', 'paused', 'deleted'] as const
export type NodeSkipReason = (typeof NODE_SKIP_REASONS)[number]

/** Why an execution was skipped, in a run or for want of budget. */
export const EXECUTION_SKIP_REASONS = [...NODE_SKIP_REASONS, 'quota'] as const
export type ExecutionSkipReason = (typeof EXECUTION_SKIP_REASONS)[number]

// ---- operations

export const OPERATION_KINDS = [
  'pause',
  'resume',
  'delete',
  'trigger',
  'redrive',
  'cancel',
  'backfill',
  'tenant_delete',
  'tenant_restore',
  'tenant_purge',
] as const
export type OperationKind = (typeof OPERATION_KINDS)[number]

export const OPERATION_STATUSES = ['RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED'] as const
export type OperationStatus = (typeof OPERATION_STATUSES)[number]

export const BACKFILL_ORDERS = ['asc', 'desc'] as const
export const SLOT_ORDERS = ['asc', 'desc'] as const
export type BackfillOrder = (typeof BACKFILL_ORDERS)[number]

// ---- tenants

/** A DELETED one can be restored until its purge begins. Of a PURGED one only the record of its end is left. */
export const TENANT_STATUSES = ['ACTIVE', 'DELETED', 'PURGING', 'PURGED'] as const
export type TenantStatus = (typeof TENANT_STATUSES)[number]

/** Seconds between the delete of a tenant and its purge, unless the request says otherwise. */
export const purgeAfterSecondsDefault = 604_800
export const purgeAfterSecondsMax = 31_536_000

// ---- executors

/** The value of a field of an execution that is left out. */
export const executionDefaults = { type: 'http', method: 'POST', timeout_seconds: 300 } as const

/** The bytes of a page of any list; a page with a single item may be larger. */
export const pageBytesMax = 2 * 1024 * 1024

/** The tenant that every installation has. */
export const DEFAULT_TENANT_ID = '00000000-0000-7000-8000-000000000001'
