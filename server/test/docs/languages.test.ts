// The examples of the API reference are valid in every language. A language that is not on this machine is named in the
// report; the others are checked.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import test from 'node:test'
import { groupsOf } from '../../src/api/docs/docs-groups.ts'
import type { Document } from '../../src/api/docs/docs-page-document.ts'
import { type Example, examplesOf } from '../../src/api/docs/docs-page-languages.ts'
import { requestOf } from '../../src/api/docs/docs-page-request.ts'
import { setupApp } from '../app.ts'
import { languagesHere, makeFolder } from './run-code.ts'

function allExamples(document: Document): Example[][] {
  const operations = groupsOf(document).flatMap((group) => group.operations)
  return operations.map((one) => examplesOf(requestOf(document, one.method, one.path, one)))
}

test('every example of the reference is valid shell, TypeScript, Python and Go', async (t) => {
  const { get } = await setupApp(t)
  const all = allExamples((await get('/openapi.json')).json())
  assert(all.length > 80)
  const codesOf = (language: string) =>
    all.map((examples) => examples.find((one) => one.language === language)!.code)
  const folder = await makeFolder(t)
  for (const code of codesOf('ts')) assert.doesNotThrow(() => stripTypeScriptTypes(code), code)
  const shell = spawnSync('sh', ['-n'], { input: codesOf('sh').join('\n'), encoding: 'utf8' })
  assert.equal(shell.status, 0, shell.stderr)
  if (languagesHere(t, ['python']).length > 0) {
    const script = 'import json, sys\nfor code in json.load(sys.stdin): compile(code, code, "exec")'
    const checked = spawnSync('python3', ['-c', script], {
      input: JSON.stringify(codesOf('python')),
      encoding: 'utf8',
    })
    assert.equal(checked.status, 0, checked.stderr)
  }
  if (spawnSync('gofmt', ['-h']).error === undefined) {
    const files = codesOf('go').map((code, at) => ({ path: join(folder, `${at}.go`), code }))
    for (const { path, code } of files) await writeFile(path, `${code}\n`)
    const checked = spawnSync('gofmt', ['-l', ...files.map(({ path }) => path)], { encoding: 'utf8' })
    assert.equal(checked.status, 0, checked.stderr)
    assert.equal(checked.stdout, '', 'gofmt would write these in another way')
  } else t.diagnostic('gofmt is not on this machine: the examples in Go were not checked')
})
