import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packTar, type TarPart } from '../../../test/bundle.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { TarError } from './read-tar.ts'
import { unpackTar } from './unpack-tar.ts'

const limits = { entriesMax: 100, bytesMax: 4 * 2 ** 20 }

async function setup(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-tar-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const target = join(dir, 'deep', 'target')
  await mkdir(target, { recursive: true })
  const unpack = (parts: readonly TarPart[], changes = {}) =>
    unpackTar(gzipSync(packTar(parts)), target, { ...limits, ...changes })
  const refused = async (parts: readonly TarPart[], words: RegExp, changes = {}) => {
    await assert.rejects(unpack(parts, changes), (error: Error) => {
      assert(error instanceof TarError, String(error.stack))
      assert.match(error.message, words)
      return true
    })
    assert.deepEqual(await readdir(dir), ['deep'], 'nothing beside it')
    assert.deepEqual(await readdir(join(dir, 'deep')), ['target'])
  }
  return { dir, target, unpack, refused }
}

for (const format of ['ustar', 'pax', 'gnu', 'v7']) {
  test(`an archive packed by tar --format=${format} comes out as it was`, async (t) => {
    const { dir, target } = await setup(t)
    const source = join(dir, 'source')
    const long = format === 'v7' ? 'short' : `${'d'.repeat(90)}/${'n'.repeat(90)}`
    await mkdir(join(source, 'sub', long), { recursive: true })
    const big = Buffer.alloc(200_001, 'x')
    await writeFile(join(source, 'main.js'), 'export const a = 1\n')
    await writeFile(join(source, 'sub', long, 'ünï.txt'), big)
    await writeFile(join(source, 'run.sh'), '#!/bin/sh\n')
    await writeFile(join(source, 'empty'), '')
    await chmod(join(source, 'run.sh'), 0o4711)
    await symlink('../main.js', join(source, 'sub', 'link.js'))
    await link(join(source, 'main.js'), join(source, 'same.js'))
    const file = join(dir, 'bundle.tar.gz')
    execFileSync('tar', [`--format=${format}`, '-czf', file, '-C', source, '.'])
    const bytes = await unpackTar(await readFile(file), target, limits)
    assert.equal(bytes, big.length + 19 + 10)
    assert.deepEqual(await readFile(join(target, 'sub', long, 'ünï.txt')), big)
    assert.equal((await readFile(join(target, 'same.js'))).length, 19)
    assert.equal((await readFile(join(target, 'empty'))).length, 0)
    assert.equal(await readlink(join(target, 'sub', 'link.js')), '../main.js')
    assert.equal((await stat(join(target, 'run.sh'))).mode & 0o7777, 0o555, 'nothing but to be run')
    assert.equal((await stat(join(target, 'main.js'))).mode & 0o7777, 0o444)
  })
}

test('nothing is written outside, by any path', async (t) => {
  const { refused } = await setup(t)
  for (const path of [
    '../evil',
    '/evil',
    'a/../../evil',
    'a/..',
    '..',
    'a\\..\\evil',
    `${'d/'.repeat(600)}x`,
  ]) {
    await refused([{ path, content: 'x' }], /outside of it/)
  }
})

test('no link leads outside, not even by way of others', async (t) => {
  const { refused, target } = await setup(t)
  const links: TarPart[][] = [
    [{ path: 'a', type: '2', target: '/etc/passwd' }],
    [{ path: 'a', type: '2', target: '..' }],
    [{ path: 'a', type: '2', target: 'nowhere' }],
    [{ path: 'a', type: '2', target: 'a' }],
    [
      { path: 'c/b', type: '2', target: '..' },
      { path: 'x', content: '' },
      { path: 'a', type: '2', target: 'c/b/../..' },
    ],
    [
      { path: 'c/b', type: '2', target: '..' },
      { path: 'c/x', content: '' },
      { path: 'c/target', content: '' },
      // By its letters c/target; in truth the directory itself, seen from above.
      { path: 'a', type: '2', target: 'c/b/../../deep' },
    ],
  ]
  for (const parts of links) {
    await refused(parts, /leads out of it, or nowhere|do not go together/)
    await rm(target, { recursive: true })
    await mkdir(target)
  }
  await refused([{ path: 'a', type: '1', target: '../../../etc/passwd' }], /outside of it/)
})

test('nothing is written through a link', async (t) => {
  const { refused } = await setup(t)
  const parts = [
    { path: 'a', type: '2', target: '..' },
    { path: 'a/evil', content: 'x' },
  ]
  await refused(parts, /do not go together/)
})

test('two files with the same name, devices and sparse files are refused', async (t) => {
  const { refused } = await setup(t)
  await refused(
    [
      { path: 'a', content: '1' },
      { path: 'a', content: '2' },
    ],
    /do not go together \(EEXIST/,
  )
  await refused([{ path: 'd', type: '3' }], /kind that is not taken/)
  await refused([{ path: 'd', type: '6' }], /kind that is not taken/)
  await refused([{ path: 'p', type: 'x', content: '25 GNU.sparse.major=1.0\nx' }], /sparse|cannot be read/)
})

test('a bundle has an end: of files, of bytes', async (t) => {
  const { refused, unpack } = await setup(t)
  const many = Array.from({ length: 11 }, (_, i) => ({ path: `f${i}`, content: '' }))
  await refused(many, /more than 10 files/, { entriesMax: 10 })
  const bomb = [{ path: 'zeros', content: Buffer.alloc(8 * 2 ** 20) }]
  await refused(bomb, /more than 4 MiB/)
  assert.equal(await unpack([{ path: 'fine', content: 'x' }]), 1)
})

test('a damaged archive is refused, wherever it is cut', async (t) => {
  const { target, refused } = await setup(t)
  const whole = packTar([{ path: 'file', content: 'x'.repeat(1_000) }])
  for (const cut of [1, 511, 512, 600, 1_100, 1_500]) {
    const packed = gzipSync(whole.subarray(0, cut))
    await assert.rejects(unpackTar(packed, target, limits), TarError, String(cut))
    await rm(target, { recursive: true })
    await mkdir(target)
  }
  const packed = gzipSync(whole)
  await assert.rejects(unpackTar(packed.subarray(0, packed.length - 9), target, limits), TarError)
  await assert.rejects(unpackTar(Buffer.from('no gzip at all'), target, limits), TarError)
  await assert.rejects(unpackTar(gzipSync(Buffer.alloc(512, 'a')), target, limits), TarError)
  const renamed = Buffer.from(whole)
  renamed.write('fine')
  await assert.rejects(unpackTar(gzipSync(renamed), target, limits), /is not a tar archive, or damaged/)
  await refused([{ path: 'x', type: 'L', size: 2 ** 30, content: '' }], /too long/)
})
