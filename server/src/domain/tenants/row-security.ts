// Why row-level security does not hold for the reads of an API, and the SQL with which an administrator turns it on.

export interface RowSecurityOff {
  reason: string
  remedy: string
}
