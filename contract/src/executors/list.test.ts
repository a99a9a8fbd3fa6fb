import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { ExecutionRequest, JobExecution } from '../executor.ts'
import { EXECUTOR_FACTS, EXECUTORS, fieldsOf } from './list.ts'

const namesOf = (type: (typeof EXECUTORS)[number]) => fieldsOf(type).map(([name]) => name)

for (const type of EXECUTORS) {
  const { target, rows } = EXECUTOR_FACTS[type]

  test(`${type}: the target is a required text with an option of the CLI`, () => {
    const [, field] = fieldsOf(type).find(([name]) => name === target)!
    assert(field.shape === 'text' && field.isRequired && field.flag !== undefined)
  })

  test(`${type}: each field is in the schema of a request and of a reply, and once in the job form`, () => {
    assert.deepEqual(rows.flat().toSorted(), namesOf(type).toSorted())
    for (const name of namesOf(type)) {
      assert(name in ExecutionRequest.properties, name)
      assert(name in JobExecution.properties, name)
    }
  })
}

test('a field, an option and a target belong to one kind', () => {
  const fields = EXECUTORS.flatMap(fieldsOf)
  const names = fields.map(([name]) => name)
  const flags = fields.flatMap(([, { flag }]) => flag?.name ?? [])
  assert.equal(new Set(names).size, names.length)
  assert.equal(new Set(flags).size, flags.length)
})

test('the facts of the kinds import no schema library, which the dashboard would load', () => {
  for (const file of globSync('*.ts', { cwd: import.meta.dirname, exclude: ['*.test.ts'] })) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    const imported = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from)
    assert(
      imported.every((from) => /^(\.\/[\w-]+|\.\.\/(constants|expected))\.ts$/.test(from!)),
      file,
    )
  }
})
