import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packTar } from '../../../test/bundle.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { TarError } from '../../lib/tar/read-tar.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { BundleCache } from './bundle-cache.ts'

async function setup(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), 'carillon-cache-'))
  cleanUp(t, () => rm(base, { recursive: true }))
  const directory = join(base, 'artifacts')
  const clock = {
    now: Date.UTC(2026, 0, 1),
    databaseNow() {
      this.now += 1_000
      return epochMs(this.now)
    },
  }
  const open = (bytesMax = 250_000) => new BundleCache(clock, { directory, bytesMax })
  let fetched = 0
  /** A bundle of about 100 KB. */
  const bundle = (name: string) => {
    const content = gzipSync(packTar([{ path: 'name', content: name.padEnd(100_000) }]))
    const fetch = async () => {
      fetched += 1
      return content
    }
    return { sha256: hash('sha256', content), fetch }
  }
  const use = (cache: BundleCache, name: string, work = async (_dir: string) => {}) => {
    const { sha256, fetch } = bundle(name)
    return cache.use(sha256, fetch, async (dir) => {
      assert.equal((await readFile(join(dir, 'name'), 'utf8')).trim(), name)
      await work(dir)
    })
  }
  const kept = async () => (await readdir(directory)).map((name) => name.split('.')[0]!).toSorted()
  const shaOf = (...names: string[]) => names.map((name) => bundle(name).sha256).toSorted()
  return { directory, clock, open, use, bundle, kept, shaOf, fetched: () => fetched }
}

test('a bundle is fetched once, by however many at once, and found again after a restart', async (t) => {
  const { open, use, fetched } = await setup(t)
  const cache = open()
  await Promise.all([use(cache, 'a'), use(cache, 'a'), use(cache, 'a')])
  await use(cache, 'a')
  assert.equal(fetched(), 1)
  await use(open(), 'a')
  assert.equal(fetched(), 1)
})

test('the least recently used go first, also after a restart', async (t) => {
  const { open, use, kept, shaOf } = await setup(t)
  const cache = open()
  await use(cache, 'a')
  await use(cache, 'b')
  await use(cache, 'a')
  await use(cache, 'c')
  assert.deepEqual(await kept(), shaOf('a', 'c'))
  const again = open()
  await use(again, 'd')
  assert.deepEqual(await kept(), shaOf('c', 'd'))
})

test('a bundle in use stays in a full cache, and is removed once it is unused', async (t) => {
  const { open, use, kept, shaOf } = await setup(t)
  const cache = open(150_000)
  await use(cache, 'a', async () => {
    await use(cache, 'b', async () => {
      await use(cache, 'c')
      assert.deepEqual(await kept(), shaOf('a', 'b'))
    })
    assert.deepEqual(await kept(), shaOf('a'))
  })
  assert.deepEqual(await kept(), shaOf('a'))
})

test('a bundle that was removed from the directory is fetched again', async (t) => {
  const { open, use, directory, fetched } = await setup(t)
  const cache = open()
  await use(cache, 'a')
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true })
  await use(cache, 'a')
  assert.equal(fetched(), 2)
})

test('content with another checksum is never unpacked, and the next try may succeed', async (t) => {
  const { open, bundle, use, kept, shaOf } = await setup(t)
  const cache = open()
  const { sha256 } = bundle('a')
  const other = bundle('b').fetch
  await assert.rejects(
    cache.use(sha256, other, async () => assert.fail('it ran')),
    TarError,
  )
  assert.deepEqual(await kept(), [])
  await use(cache, 'a')
  assert.deepEqual(await kept(), shaOf('a'))
})

test('a half-unpacked bundle left by a crash is removed after an hour, and one that another process is unpacking is kept', async (t) => {
  const { open, use, directory, clock, kept, shaOf } = await setup(t)
  await mkdir(join(directory, 'new-old'), { recursive: true })
  await mkdir(join(directory, 'new-now'))
  const seconds = clock.now / 1_000
  await utimes(join(directory, 'new-old'), seconds - 3_700, seconds - 3_700)
  await utimes(join(directory, 'new-now'), seconds, seconds)
  await use(open(), 'a')
  assert.deepEqual(await kept(), [...shaOf('a'), 'new-now'].toSorted())
})
