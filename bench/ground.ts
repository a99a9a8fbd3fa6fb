// npm run bench:ground: how long people wait. First start, later starts, stops, and a database for a test.

import { join } from 'node:path'
import pg from 'pg'
import { makeDataDir, startCarillon } from './carillon.ts'

const repeats = 5
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const say = (what: string, ms: number, goal: string) =>
  console.log(`${what.padEnd(44)}${ms.toFixed(0).padStart(7)} ms   ${goal}`)

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

await using _carillon = await startCarillon(dataDir.path)
const client = new pg.Client({ host: join(dataDir.path, 'pg'), user: 'postgres', database: 'postgres' })
await client.connect()
await client.query('CREATE DATABASE bench_template TEMPLATE carillon').catch(async () => {
  // The running server holds connections to its database; an empty template costs the same.
  await client.query('CREATE DATABASE bench_template')
})
const creates: number[] = []
for (let i = 0; i < repeats; i++) {
  const startedMs = performance.now()
  await client.query(`CREATE DATABASE bench_${i} TEMPLATE bench_template`)
  creates.push(performance.now() - startedMs)
}
say(`a database from a template (median of ${repeats})`, median(creates), 'goal: 100')
await client.end()
