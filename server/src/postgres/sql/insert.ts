// The rows that an execution leaves: one of `live` while it is under way, one of `attempts` for each attempt, a dead letter.
// Each insert is written here once; a statement names the expression of every column, and the list that it reads from.
import { columnNames, type Fragment, fragment, listed } from '../../lib/sql.ts'
import { rankOf } from './fragments.ts'

type Columns<Required extends string, Optional extends string> = Readonly<
  Record<Required, Fragment> & Partial<Record<Optional, Fragment>>
>

type Identity = 'execution_id' | 'job_id' | 'version' | 'tenant_id' | 'kind' | 'slot' | 'enqueued_at'
/** Kept from its making to its end. */
type Origin = 'payload_override' | 'idempotency_key' | 'retry_of' | 'run_id'

export type LiveColumns = Columns<
  Identity | 'state' | 'route' | 'lane' | 'priority',
  | Origin
  | (
      | 'rank'
      | 'ready_at'
      | 'worker_id'
      | 'caller_id'
      | 'fence'
      | 'attempt'
      | 'losses'
      | 'host'
      | 'skip_at'
      | 'started_at'
    )
  | (
      | 'deadline'
      | 'silent_at'
      | 'total_deadline'
      | 'cancelled_at'
      | 'cancel_message'
      | 'heard_at'
      | 'progress'
    )
  | ('progress_text' | 'checkpoint' | 'operation_id' | 'concurrency_key' | 'key_limit')
>

/** Rows of `live` (l), by default with the rank of a new one. */
export const insertLive = (columns: LiveColumns, from: Fragment): Fragment => {
  const rank = columns.rank ?? rankOf(columns.enqueued_at, columns.priority)
  return insertInto(fragment`live AS l`, { ...columns, rank }, from)
}

export type AttemptColumns = Columns<
  Identity | 'recorded_at' | 'attempt' | 'final' | 'outcome' | 'finished_at',
  | Origin
  | ('started_at' | 'duration_ms' | 'worker_id' | 'http_status' | 'error_type' | 'error_message' | 'preview')
  | ('cpu_ms' | 'bytes_sent' | 'bytes_received' | 'dead_letter' | 'skip_reason')
>

export const insertAttempts = (columns: AttemptColumns, from: Fragment): Fragment =>
  insertInto(fragment`attempts`, columns, from)

export type DeadLetterColumns = Columns<
  | 'execution_id'
  | 'tenant_id'
  | 'job_id'
  | 'job_name'
  | 'reason'
  | 'died_at'
  | 'attempts'
  | 'errors'
  | 'kind'
  | 'slot',
  'payload' | 'idempotency_key' | 'redrive_at' | 'run_id'
>

export const insertDeadLetters = (columns: DeadLetterColumns, from: Fragment): Fragment =>
  insertInto(fragment`dead_letters`, columns, from)

/** Columns of a row under their own names. */
export function columnsOf<Name extends string>(row: Fragment, ...names: Name[]): Record<Name, Fragment> {
  const parts = names.map((name) => [name, fragment`${row}.${columnNames([name])}`])
  return Object.fromEntries(parts) as Record<Name, Fragment>
}

function insertInto(table: Fragment, columns: Readonly<Record<string, Fragment>>, from: Fragment): Fragment {
  return fragment`
    INSERT INTO ${table} (${columnNames(Object.keys(columns))})
    SELECT
    ${listed(Object.values(columns))}
    ${from}`
}
