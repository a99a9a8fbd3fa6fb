import { testWorkers } from '../../test/conformance/workers.ts'
import { POSTGRES_VERSIONS, useDatabase } from '../../test/database.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { MemoryWorkers } from './memory/workers.ts'
import { StoredWorkers } from './workers.ts'

for (const version of POSTGRES_VERSIONS) {
  testWorkers(`PostgreSQL ${version}`, async (t) => {
    const { database, client } = await useDatabase(t, { version })
    return {
      workers: new StoredWorkers(database),
      async age(ms) {
        await client.query(`UPDATE workers SET beat_at = beat_at - $1 * interval '1 millisecond'`, [ms])
      },
    }
  })
}

testWorkers('memory', async () => {
  const world = createVirtualWorld()
  return { workers: new MemoryWorkers(world.clock), age: (ms) => world.advance(ms) }
})
