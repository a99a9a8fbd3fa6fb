import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { ConnectionError } from '@carillon/sdk'
import type { Command } from './command.ts'
import { createContext } from './context.ts'
import { parseCommand } from './parse.ts'
import { present } from './present.ts'

const command: Command = {
  path: ['look'],
  about: '',
  options: {},
  shows: true,
  load: async () => async () => 0,
}

/** Watches the steps one after the other, and is interrupted after the last. */
async function watch(
  steps: (() => string)[],
  size: { columns: number; rows: number },
  name = 'AbortError',
): Promise<string> {
  let out = ''
  const stop = new AbortController()
  const sink = new Writable({
    write(chunk, _encoding, done) {
      out += chunk
      done()
    },
  })
  const stdout = Object.assign(sink, { isTTY: true, ...size })
  const io = { stdin: [] as never, stdout, stderr: stdout, env: { NO_COLOR: '1' }, signal: stop.signal }
  const context = createContext(command, parseCommand(command, ['--watch', '0.2']), io)
  const left = [...steps]
  const shown = present(context, async () => {
    const step = left.shift()
    if (step === undefined) stop.abort()
    const text = step?.() ?? ''
    return { json: {}, text: () => text }
  })
  await assert.rejects(shown, { name })
  return out
}

test('a server that went away while somebody looks on is waited for', async () => {
  const away = () => {
    throw new ConnectionError('No answer from there')
  }
  const out = await watch([() => 'first\n', away, () => 'second\n'], { columns: 80, rows: 24 })
  const frames = out.split('\u001b[H').map(stripVTControlCharacters)
  assert.equal(frames[2], 'first\n')
  assert.equal(frames[3], 'first\n\n! No answer from there; trying again\n')
  assert.equal(frames[4], 'second\n')
  assert(out.endsWith('\u001b[?25h'))
})

test('a failure of the first read ends the watch', async () => {
  const refused = () => {
    throw new ConnectionError('No answer from there')
  }
  await watch([refused], { columns: 80, rows: 24 }, 'ConnectionError')
})

test('text longer or wider than the terminal is cut, so that it can be redrawn in place', async () => {
  const text = `${'x'.repeat(100)}\n`.repeat(30)
  const out = await watch([() => text], { columns: 40, rows: 10 })
  const frame = stripVTControlCharacters(out.split('\u001b[H')[2]!)
  const lines = frame.trimEnd().split('\n')
  assert.equal(lines.length, 9)
  assert.equal(lines[0], `${'x'.repeat(39)}…`)
  assert.equal(lines[8], '… 22 more')
})
