import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { allTestFiles, divide, isForEachVersion, isSlow, root } from './test-files.ts'

const quick = allTestFiles().filter((file) => !isSlow(file))

test('every test file of the repository is in exactly one of the two runs', () => {
  const named = [
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '--deduplicate',
    '*.test.ts',
    '*.test.tsx',
  ]
  const known = execFileSync('git', named, { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const deleted = execFileSync('git', ['ls-files', '--deleted'], { cwd: root, encoding: 'utf8' }).split('\n')
  const there = known.filter((file) => !deleted.includes(file))
  assert.deepEqual([...quick, ...allTestFiles().filter(isSlow)].toSorted(), there.toSorted())
})

test('every file of a run is in exactly one process', () => {
  assert.deepEqual(divide(quick).flat().toSorted(), quick)
})

test('a slow test is for PostgreSQL 18 alone: the run on 15 takes tests by their names, slow ones among them', () => {
  assert.deepEqual(
    allTestFiles().filter((file) => isSlow(file) && isForEachVersion(file)),
    [],
  )
})

test('a test for each version has the version in its name, by which the run on PostgreSQL 15 finds it', () => {
  for (const file of allTestFiles().filter(isForEachVersion)) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, loop] of text.matchAll(/^for \(const version of POSTGRES_VERSIONS\) \{\n([\s\S]*?)^\}/gm)) {
      const names = [...loop!.matchAll(/\btest\(\s*(['`])(.*?)\1/g)].map(([, , name]) => name!)
      assert(names.length > 0, `${file}: no test is found in the loop`)
      for (const name of names) assert.match(name, /PostgreSQL \$\{version\}/, file)
    }
  }
})
