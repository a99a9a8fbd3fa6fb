// The lists that the statements on logs take as JSON: which key is which column.
import { defineItem } from '../sql/item.ts'

/** Lines of an attempt that may be stored already. */
export const logRangeItem = defineItem({
  number: 'int',
  tenantId: 'uuid',
  executionId: 'uuid',
  attempt: 'int',
  firstLine: 'int',
  lineCount: 'int',
})

/** Lines of an attempt to store; they are JSON in a text. */
export const logItem = defineItem({
  tenantId: 'uuid',
  executionId: 'uuid',
  attempt: 'int',
  firstLine: 'int',
  lineCount: 'int',
  bytes: 'int',
  lines: 'text',
})

/** Bytes that a tenant with a limit stores more. */
export const logDayItem = defineItem({ tenantId: 'uuid', day: 'text', bytes: 'float8' })
