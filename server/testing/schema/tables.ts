// Describes every table of the schema: purpose, growth, retention, and the columns with names that do not say enough.
// `schema.test.ts` renders schema.sql and docs/internals/schema.md from this list and the migrated catalogue, and fails
// when a table, or a column named here, exists in only one of them.
import { accessTables } from './tables-access.ts'
import { historyTables } from './tables-history.ts'
import { jobTables } from './tables-jobs.ts'
import { queueTables } from './tables-queue.ts'

export interface TableNote {
  table: string
  purpose: string
  /** How many rows there are, and which event adds a row. */
  growth: string
  /** When a row goes away. */
  retention: string
  columns?: Readonly<Record<string, string>>
}

export interface SchemaSubject {
  subject: string
  tables: readonly TableNote[]
}

/** In an order in which each table comes after the tables that it references. */
export const schemaSubjects: readonly SchemaSubject[] = [
  { subject: 'access', tables: accessTables },
  { subject: 'jobs', tables: jobTables },
  ...queueTables,
  { subject: 'history', tables: historyTables },
]
