// Before all browser tests: a plain server with handlers for the journeys, and one with the demo world to look at.
// After them both are ended and their data removed.
import { join } from 'node:path'
import { ServerProcess } from './server-process.ts'
import { type ServerName, variableOf } from './servers.ts'

const servers: ServerProcess[] = []

export async function globalSetup(): Promise<void> {
  // One after the other: the first builds the dashboard when it is older than its sources.
  await open('plain', ['--handlers', join(import.meta.dirname, 'handlers.ts')])
  await open('demo', ['--demo'])
}

export async function globalTeardown(): Promise<void> {
  await Promise.all(servers.map((server) => server.remove()))
}

async function open(name: ServerName, added: readonly string[]): Promise<void> {
  // A developer writing tests keeps servers running for them.
  if (process.env[variableOf(name)] !== undefined) return
  const server = await ServerProcess.start({ arguments: added })
  servers.push(server)
  const { url, key, link, pid } = server
  process.env[variableOf(name)] = JSON.stringify({ url, key, link, pid })
}
