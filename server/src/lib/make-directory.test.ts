import assert from 'node:assert/strict'
import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { makeDirectory } from './make-directory.ts'

test('missing parents are made, existing directories are kept, a file in the way is an error', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'carillon-mkdir-'))
  t.after(() => rm(base, { recursive: true }))
  const deep = join(base, 'a/b/c')
  await makeDirectory(deep, 0o700)
  await makeDirectory(deep, 0o700)
  assert.equal((await stat(deep)).mode & 0o777, 0o700)
  await writeFile(join(base, 'file'), '')
  await assert.rejects(makeDirectory(join(base, 'file'), 0o700), { code: 'EEXIST' })
  await assert.rejects(makeDirectory(join(base, 'file/below'), 0o700), { code: 'ENOTDIR' })
  await symlink(join(base, 'nowhere'), join(base, 'dangling'))
  await assert.rejects(makeDirectory(join(base, 'dangling'), 0o700), { code: 'ENOENT' })
})

test('a place where nothing can be made is an error, not an endless loop', async () => {
  await assert.rejects(makeDirectory('/proc/nope', 0o700))
  await assert.rejects(makeDirectory('/proc/nope/deeper', 0o700))
})
