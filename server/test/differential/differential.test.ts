import test from 'node:test'
import { POSTGRES_VERSIONS } from '../database.ts'
import { compareStores, seedVariable } from './compare.ts'

const seed = Number(process.env[seedVariable] ?? 3)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version} answers and stores the same as the memory store, with seed ${seed}`, async (t) => {
    await compareStores(t, seed, version)
  })
}
