import { randomInt } from 'node:crypto'
import test from 'node:test'
import { fuzz, seedVariable } from './fuzz.ts'

test('no request of a new seed gets an answer that the document does not have', async (t) => {
  await fuzz(t, Number(process.env[seedVariable] ?? randomInt(2 ** 31)))
})
