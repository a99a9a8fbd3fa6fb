// The statements that fire, that enqueue many triggers, and that finish on the fast path, with full-size parameters,
// for the test that checks their query plans.
import { beginTriggers, insertTriggerBatches } from '../src/postgres/jobs/triggers.sql.ts'
import { measurePeers } from '../src/postgres/queue/peers.sql.ts'
import { finishSucceeded } from '../src/postgres/queue/queue.sql.ts'
import { fireFast, fireSlots } from '../src/postgres/scheduling/fire-slots.sql.ts'
import { claimFired, lockCursors, lockDirectWorker } from '../src/postgres/scheduling/slots.sql.ts'
import type { HotStatement } from './hot-statements.ts'

const second = `to_ms(date_trunc('second', now()))`
/** Arrays of so many elements each, by their number n from 0. */
const lists = (elements: string[], count: number) =>
  elements.map((element) => `SELECT array_agg(${element}) FROM generate_series(0, ${count - 1}) AS n`)

const job = 'md5(n::text)::uuid'

export const hotFireStatements: HotStatement[] = [
  {
    statement: lockCursors,
    values: [`SELECT array_agg(${job}) FROM generate_series(1, 1000) AS n`],
    types: 'uuid[]',
  },
  { statement: lockDirectWorker, values: [`SELECT md5('worker1')::uuid`], types: 'uuid' },
  {
    statement: claimFired,
    values: [
      `SELECT md5('worker1')::uuid`,
      `SELECT 'server'`,
      `SELECT array_agg(batch_of(md5('batch' || n)::uuid)) FROM generate_series(1, 50) AS n`,
    ],
    types: 'uuid, text, uuid[]',
  },
  {
    statement: fireSlots,
    values: [
      `SELECT json_agg(json_build_object('j', ${job}, 'v', 1, 's', to_ms(date_trunc('second', now())), 'd', 0,
        'e', execution_at(md5('new' || n / 100)::uuid, n % 100), 'b', batch_of(md5('new' || n / 100)::uuid), 'o', n % 100,
        'r', 'server', 'l', 'shared', 'p', 5, 'al', n % 7 = 0, 'la', n % 10 = 0, 'li', n % 3 = 0,
        'bm', CASE WHEN n % 2 = 0 THEN 1000 END, 'ro', n % 2 = 0, 'cn', CASE WHEN n % 5 = 0 THEN '["holidays"]'::json END, 'cr', 0,
        'g', CASE WHEN n % 9 = 0 THEN ${job} END, 'ru', CASE WHEN n % 9 = 0 THEN md5('run' || n)::uuid END,
        'ps', to_ms(date_trunc('second', now())) - 1000)) FROM generate_series(1, 1000) AS n`,
      `SELECT to_ms(now()) - 3600000`,
    ],
    types: 'json, float8',
  },
  {
    statement: fireFast,
    values: [
      ...lists([job, '1', second, second], 500),
      ...lists(
        [`execution_at(batch_of(md5('plain' || n / 100)::uuid), n % 100)`, 'n % 100', 'n / 100 + 1'],
        500,
      ),
      ...lists(['n % 7 = 0', 'n % 2 = 0', 'to_ms(now())', 'to_ms(now())', 'to_ms(now()) - 60000'], 500),
      ...lists([`batch_of(md5('plain' || n)::uuid)`, `text 'server'`, `text 'shared'`, '5'], 5),
      'SELECT to_ms(now()) - 3600000',
    ],
    types: `uuid[], int[], bigint[], bigint[], uuid[], smallint[], int[], boolean[], boolean[], bigint[], bigint[], bigint[],
      uuid[], text[], text[], smallint[], float8`,
  },
  {
    statement: finishSucceeded,
    values: [
      `SELECT md5('worker1')::uuid`,
      ...lists([`batch_of(md5('batch' || (n + 1) * 10)::uuid)`, '1', 'n * 100 + 1', 'n * 100 + 100'], 20),
      ...lists(['n % 100', 'to_ms(now())', 'to_ms(now())', '1', '200', `text 'ok'`], 2_000),
      'SELECT NULL::bigint[]',
      ...lists(['n', 'n'], 2_000),
    ],
    types: `uuid, uuid[], int[], int[], int[], smallint[], bigint[], bigint[], int[], smallint[], text[], bigint[], int[],
      int[]`,
  },
  {
    statement: beginTriggers,
    values: [`SELECT md5('7')::uuid`, 'SELECT 100000'],
    types: 'uuid, bigint',
  },
  {
    statement: insertTriggerBatches,
    values: [
      `SELECT md5('7')::uuid`,
      `SELECT 'shared'`,
      'SELECT 2',
      `SELECT json_agg(json_build_object('batch_id', gen_random_uuid(), 'size', 100)) FROM generate_series(1, 10) AS n`,
      'SELECT 1',
    ],
    types: 'uuid, text, int, json, int',
  },
  {
    statement: measurePeers,
    values: [
      'SELECT 6000',
      `SELECT array_agg(md5('worker' || n)::uuid) FROM generate_series(1, 20) AS n`,
      'SELECT 500',
      `SELECT '{server}'::text[]`,
      'SELECT 100',
    ],
    types: 'float8, uuid[], int, text[], int',
  },
]
