// The statements that the API reads with, as the role as which it reads: none lacks a right.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import type { Sql } from '../../lib/sql.ts'
import { apiRole, prepareApiRole } from '../connection/api-role.ts'

const writes = /\b(INSERT INTO|UPDATE|DELETE FROM|SHARE)\b/
/** They change nothing, and are none of the ports that the API reads by. */
const others = [
  ...['selectHistory', 'selectPartitions'],
  ...['selectDeletedTenants', 'selectDueLetters', 'selectResumable'],
]

test('the role of the reads may do all that changes nothing, and nothing else', async (t) => {
  const { client, database } = await useDatabase(t)
  await prepareApiRole(database)
  const postgres = join(import.meta.dirname, '..')
  const names = (await readdir(postgres, { recursive: true })).filter((name) =>
    /^(history|jobs|graphs|scheduling)\/.*\.sql\.ts$/.test(name),
  )
  assert(names.length > 20)
  const modules = await Promise.all(names.map((name) => import(join(postgres, name))))
  const statements = modules.flatMap((module) => Object.values(module as Record<string, Sql>))
  await client.query(`SET ROLE ${apiRole}`)
  for (const name of ['unlocked', 'triggered'])
    await client.query(`SELECT set_config('carillon.${name}', '{}', false)`)
  const denied: string[] = []
  for (const { name, text } of statements) {
    await client.query(`EXPLAIN (GENERIC_PLAN) ${text}`).catch((error: { code?: string }) => {
      if (error.code !== '42501') throw error
      denied.push(name)
    })
  }
  const expected = statements.filter(({ name, text }) => others.includes(name) || writes.test(text))
  assert.deepEqual(denied.toSorted(), expected.map(({ name }) => name).toSorted())
})
