import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import { isWholeApiKey } from '../domain/access/api-key.ts'
import { realRandom } from '../lib/random.ts'
import { loadOperatorKey } from './operator-key.ts'

async function setup(t: TestContext) {
  const parent = await mkdtemp(join(tmpdir(), 'carillon-key-'))
  cleanUp(t, () => rm(parent, { recursive: true }))
  const dataDir = join(parent, 'data')
  return { dataDir, load: () => loadOperatorKey({ apiKey: null, dataDir }, realRandom) }
}

test('the first start makes a key that only its owner can read, later starts keep it', async (t) => {
  const { dataDir, load } = await setup(t)
  const first = await load()
  assert(isWholeApiKey(first.key))
  assert.equal((await stat(first.file!)).mode & 0o777, 0o600)
  assert.deepEqual(await load(), first)
  assert.deepEqual(await readdir(dataDir), ['api-key'])
})

test('two first starts at once agree on one key', async (t) => {
  const { load } = await setup(t)
  const [a, b] = await Promise.all([load(), load()])
  assert.equal(a.key, b.key)
})

test('a configured key is used as it is and nothing is written', async (t) => {
  const { dataDir } = await setup(t)
  const loaded = await loadOperatorKey({ apiKey: 'a-key-of-my-own-choice', dataDir }, realRandom)
  assert.deepEqual(loaded, { key: 'a-key-of-my-own-choice', file: null })
  await assert.rejects(stat(dataDir))
})

test('a damaged key file stops the start with advice', async (t) => {
  const { load } = await setup(t)
  const { file, key } = await load()
  await writeFile(file!, key.slice(0, 20))
  await assert.rejects(load(), /is damaged.*remove it to get a new key/)
})
