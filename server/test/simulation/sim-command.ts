// `npm run sim` in a process of its own, since the hooks of `node:test` make every promise three times as dear.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'

export function sim(...args: string[]): Promise<{ code: number; said: string }> {
  const file = new URL('./main.ts', import.meta.url).pathname
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), said: `${stdout}${stderr}` })
    })
  })
}

/** Runs so many seeds from 1 on: the same each time; `npm run sim -- --seeds 2000` looks somewhere else. */
export async function assertSoundSeeds(seeds: number, executionsMin: number): Promise<void> {
  const { code, said } = await sim('--seed', '1', '--seeds', String(seeds))
  assert.equal(code, 0, said)
  assert.match(said, /^violations +0$/m)
  const executions = Number(/^executions +(\d+)$/m.exec(said)![1])
  assert.ok(executions > executionsMin, `only ${executions} executions`)
}
