import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'
import { OpenFilesWatch, readOpenFilesMax } from './open-files.ts'

const module = new URL('./open-files.ts', import.meta.url).href
const script = `import { OpenFilesWatch, readOpenFilesMax } from '${module}'; console.log(readOpenFilesMax())`

test('the limit of open files is the one of this process', async () => {
  const command = `ulimit -n 321 && exec "$0" --input-type=module -e "$1"`
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script])
  assert.equal(stdout.trim(), '321')
})

test('where the system does not tell the limit of open files, a usual one is assumed', () => {
  assert.equal(readOpenFilesMax('/nowhere/limits'), 1_024)
  assert.equal(readOpenFilesMax('/dev/null'), 1_024)
})

test('want of file descriptors is told once a minute, and other errors are not', () => {
  let nowMs = 0
  const told: string[] = []
  const watch = new OpenFilesWatch(
    () => nowMs,
    (code) => told.push(code),
  )
  const note = (code: string) => watch.note(Object.assign(new Error('failed'), { code }))
  for (const code of ['ECONNREFUSED', 'EMFILE', 'EMFILE', 'ENFILE']) note(code)
  watch.note(new Error('without a code'))
  watch.probe()
  assert.deepEqual(told, ['EMFILE'])
  nowMs = 60_000
  note('ENFILE')
  assert.deepEqual(told, ['EMFILE', 'ENFILE'])
})

/** Runs a script in a process that may have 64 files open. */
async function runWithFewFiles(script: string): Promise<string> {
  const imports = `
    import { HttpClient } from '${new URL('./http/client.ts', import.meta.url).href}'
    import { realTimers } from '${new URL('./time/timers.ts', import.meta.url).href}'
    import { OpenFilesWatch } from '${module}'
    import { openSync } from 'node:fs'
    const say = (code) => { console.log(code); process.exit() }
    const watch = new OpenFilesWatch(() => performance.now(), say)`
  const command = 'ulimit -n 64 && exec "$0" --input-type=module -e "$1"'
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, imports + script])
  return stdout.trim()
}

test('calls that find no file descriptor left are noticed', async () => {
  const said = await runWithFewFiles(`
    const onConnectionError = (error) => watch.note(error)
    const client = new HttpClient(realTimers, () => performance.now(), { onConnectionError })
    const request = { tenantId: 'a', method: 'GET', url: 'http://127.0.0.1:1/', headers: {}, timeoutMs: 20000 }
    for (let n = 0; n < 100; n++) client.send({ responseBytesMax: 1, previewBytesMax: 1, ...request })`)
  assert.equal(said, 'EMFILE')
})

test('a process that only takes connections notices too, by its own probe', async () => {
  const said = await runWithFewFiles(`
    watch.probe()
    try { for (;;) openSync('/dev/null') } catch {}
    watch.probe()`)
  assert.equal(said, 'EMFILE')
})
