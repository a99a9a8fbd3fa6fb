// The statement behind wake-ups across processes.
import { sql } from '../../lib/sql.ts'

export const notifyTopic = sql('notifyTopic')`SELECT pg_notify('carillon', $1)`
