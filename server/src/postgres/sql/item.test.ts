import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { fragment } from '../../lib/sql.ts'
import { defineItem, type WireOf } from './item.ts'

const slotItem = defineItem({
  executionId: ['e', 'uuid'],
  slotMs: ['s', 'float8'],
  isLate: ['la', 'boolean'],
  payload: ['p', 'text'],
})
const executionId = '00000000-0000-7000-8000-000000000001'
const query = `SELECT ${slotItem.named(fragment`x`).text}
  FROM json_to_recordset($1::json) AS x(${slotItem.columns.text})`

test('an item goes into SQL under its keys and comes out under whole names', async (t) => {
  const { client } = await useDatabase(t)
  const rows = [
    { executionId, slotMs: 5, isLate: true, payload: 'null' },
    { executionId, slotMs: 1.5, isLate: null, payload: null },
  ]
  assert.deepEqual((await client.query(query, [slotItem.encode(rows)])).rows, [
    { execution_id: executionId, slot_ms: 5, is_late: true, payload: 'null' },
    { execution_id: executionId, slot_ms: 1.5, is_late: null, payload: null },
  ])
})

test('a key that is absent from an item is null in SQL', async (t) => {
  const { client } = await useDatabase(t)
  const wire: WireOf<typeof slotItem> = { e: executionId }
  assert.deepEqual((await client.query(query, [JSON.stringify([wire])])).rows, [
    { execution_id: executionId, slot_ms: null, is_late: null, payload: null },
  ])
})

test('a name that is no word of lower-case letters does not get into a statement', () => {
  assert.throws(() => defineItem({ executionId: ['e; DROP', 'uuid'] }), /is no column name/)
})
