import test from 'node:test'
import { fuzz } from './fuzz.ts'

test('nothing that is sent to any operation gets an answer that the document does not have', async (t) => {
  await fuzz(t, 20_260_101, 5_000)
})
