import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'
import { readOpenFilesMax } from './open-files.ts'

const module = new URL('./open-files.ts', import.meta.url).href
const script = `import { readOpenFilesMax } from '${module}'; console.log(readOpenFilesMax())`

test('the limit of open files is the one of this process', async () => {
  const command = `ulimit -n 321 && exec "$0" --input-type=module -e "$1"`
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script])
  assert.equal(stdout.trim(), '321')
})

test('where the system does not tell the limit of open files, a usual one is assumed', () => {
  assert.equal(readOpenFilesMax('/nowhere/limits'), 1_024)
  assert.equal(readOpenFilesMax('/dev/null'), 1_024)
})
