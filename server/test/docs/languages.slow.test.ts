// The examples of the docs are run in every language that is on this machine, against a listening API.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import type { Document } from '../../src/api/docs/docs-page-document.ts'
import { examplesOf } from '../../src/api/docs/docs-page-languages.ts'
import { originMark, requestOf } from '../../src/api/docs/docs-page-request.ts'
import { checkoutDir } from '../../src/config/read.ts'
import { serveDocs } from './docs-app.ts'
import { type Language, languagesHere, makeFolder, runCode } from './run-code.ts'

const all: readonly Language[] = ['sh', 'ts', 'python', 'go']

test('one example of the reference does the same in each language', { timeout: 300_000 }, async (t) => {
  const { url, key, get, call } = await serveDocs(t)
  const document: Document = (await get('/openapi.json')).json()
  const codeOf = (language: Language, method: string, path: string) =>
    examplesOf(requestOf(document, method, path, document.paths![path]![method]!))
      .find((one) => one.language === language)!
      .code.replaceAll(originMark, url)
  const folder = await makeFolder(t)
  const here = languagesHere(t, all)
  for (const language of here) {
    const env = { CARILLON_API_KEY: key }
    const created = await runCode(folder, language, codeOf(language, 'post', '/api/v1/jobs'), env)
    const [job] = (await call('GET', '/jobs')).json().jobs
    assert(created.includes(job.job_id), `${language} printed ${created}`)
    const pause = codeOf(language, 'patch', '/api/v1/jobs/{job_id}/pause')
    const paused = await runCode(folder, language, pause, { ...env, JOB_ID: job.job_id })
    assert.match(paused, /"status":"PAUSED"/, `${language} printed ${paused}`)
  }
  assert.equal((await call('GET', '/jobs')).json().pagination.total, here.length)
  assert(here.includes('ts'))
})

/** The blocks of a page in one language, in order, as one program. */
function programOf(page: string, language: Language): string {
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code!)
  const [first, ...rest] = blocks
  return language === 'go' ? `${first}\nfunc main() {\n${rest.join('')}\n}` : blocks.join('\n')
}

test('the main examples of docs/api.md run in each language, one after the other', {
  timeout: 300_000,
}, async (t) => {
  const page = (await readFile(join(checkoutDir, 'docs/api.md'), 'utf8')).split('## From TypeScript')[0]!
  for (const language of languagesHere(t, ['ts', 'python', 'go'])) {
    const { url, key, call } = await serveDocs(t)
    const program = programOf(page, language).replaceAll(originMark, url)
    assert(program.split('\n').length > 40, language)
    const said = await runCode(await makeFolder(t), language, program, { CARILLON_API_KEY: key })
    const { jobs } = (await call('GET', '/jobs')).json()
    assert.deepEqual(
      jobs.map(({ name, status }: { name: string; status: string }) => [name, status]),
      [
        ['Nightly report', 'ACTIVE'],
        ['Daily Sales Report', 'ACTIVE'],
      ],
    )
    const [execution] = (await call('GET', '/executions')).json().executions
    assert.equal(execution.kind, 'trigger')
    assert.match(said, /Daily Sales Report[\s\S]*PENDING\s*$|PENDING \S+\s*$/, `${language} printed ${said}`)
  }
})
