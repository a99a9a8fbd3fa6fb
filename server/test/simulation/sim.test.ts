// A short simulation, by the command that people use, in a process of its own, since the hooks of `node:test` make every
// promise three times as dear. The seeds are the same each time: `npm run sim -- --seeds 2000` looks somewhere else.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'

function sim(...args: string[]): Promise<{ code: number; said: string }> {
  const file = new URL('./main.ts', import.meta.url).pathname
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), said: `${stdout}${stderr}` })
    })
  })
}

test('50 seeds with every kind of fault keep every invariant', async () => {
  const { code, said } = await sim('--seed', '1', '--seeds', '50')
  assert.equal(code, 0, said)
  assert.match(said, /^violations +0$/m)
  const executions = Number(/^executions +(\d+)$/m.exec(said)![1])
  assert.ok(executions > 1_000, `only ${executions} executions`)
})

test('one seed is run alone, and wrong arguments are refused with help', async () => {
  const { code, said } = await sim('--seed', '7', '--minutes', '1')
  assert.equal(code, 0, said)
  assert.match(said, /^seeds +1$/m)
  for (const args of [['--seeds', '0'], ['--seed', 'x'], ['--minutes', '1.5'], ['--speed', '3'], ['7']]) {
    const refused = await sim(...args)
    assert.equal(refused.code, 2, refused.said)
    assert.match(refused.said, /usage: npm run sim/)
  }
})
