// npm run bench:ground: how long people wait. First start, later starts, stops, and a database for a test.

import { makeDatabase, POSTGRES_VERSIONS } from '../server/test/database.ts'
import { globalSetup, globalTeardown } from '../server/test/global.ts'
import { makeDataDir, startCarillon } from './carillon.ts'

const repeats = 5
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const say = (what: string, ms: number, goal: string) =>
  console.log(`${what.padEnd(56)}${ms.toFixed(0).padStart(7)} ms   ${goal}`)

await using dataDir = await makeDataDir()
const first = await startCarillon(dataDir.path)
say('npm start to /readyz, first time', first.readyMs, 'goal: 5,000')
say('SIGTERM to the end', await first.stop('SIGTERM'), 'goal: 10,000')

const later: number[] = []
const stops: number[] = []
for (let i = 0; i < repeats; i++) {
  const carillon = await startCarillon(dataDir.path)
  later.push(carillon.readyMs)
  stops.push(await carillon.stop('SIGINT'))
}
say(`npm start to /readyz, again (median of ${repeats})`, median(later), 'goal: 5,000')
say(`Ctrl-C to the end (median of ${repeats})`, median(stops), 'goal: 10,000')

await globalSetup()
for (const version of POSTGRES_VERSIONS) {
  const creates: number[] = []
  for (let i = 0; i < 20; i++) {
    const startedMs = performance.now()
    const { drop } = await makeDatabase({ version })
    creates.push(performance.now() - startedMs)
    await drop()
  }
  say(`a test's own database, PostgreSQL ${version} (median of 20)`, median(creates), 'goal: 100')
}
await globalTeardown()
