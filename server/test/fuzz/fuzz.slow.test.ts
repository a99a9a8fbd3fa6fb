import { randomInt } from 'node:crypto'
import test from 'node:test'
import { fuzz, seedVariable } from './fuzz.ts'

test('no request of a new seed gets an answer that the document does not have', async (t) => {
  await fuzz(t, Number(process.env[seedVariable] ?? randomInt(2 ** 31)), 10_000)
})

test('ten thousand requests of a fixed seed get no answer that the document does not have', async (t) => {
  await fuzz(t, 20_260_101, 10_000)
})
