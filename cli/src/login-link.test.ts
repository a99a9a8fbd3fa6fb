// `carillon login-link` against a real server, with the key of its data directory; and the words of two refusals.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { cli, startServer } from '../test/cli.ts'

test('carillon login-link, and refusals in words of the command line', async (t) => {
  const server = await startServer(t)
  const { url, dataDir, call } = server
  const logIn = (code: string) =>
    fetch(`${url}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    })

  await t.test('the link logs in once, with the key of the data directory', async () => {
    const { code, out, err } = await cli(['login-link'], {
      env: { CARILLON_URL: url, CARILLON_DATA: dataDir },
    })
    assert.equal(code, 0, err)
    const [, secret] = /^http:\/\/[\w.:]+\/#code=([\w-]{43})\n$/.exec(out) ?? []
    assert(secret !== undefined, out)
    const first = await logIn(secret)
    assert.equal(((await first.json()) as { operator: boolean }).operator, true)
    assert.equal((await logIn(secret)).status, 401)
  })

  await t.test('with --json it says until when', async () => {
    const { out } = await call(['login-link', '--json'])
    const { url: link, expires_at: until } = JSON.parse(out) as { url: string; expires_at: string }
    assert(link.startsWith(`${url}/#code=`), link)
    assert(Date.parse(until) > Date.now(), until)
  })

  await t.test('a wrong key gets advice on the command and not on headers', async () => {
    const { code, err } = await cli(['jobs', 'list', '--url', url, '--key', 'crl_wrong'])
    assert.equal(code, 5)
    assert.match(err, /does not look like a complete API key.\nGive --key KEY or set CARILLON_API_KEY\.\n$/)
  })

  await t.test('a job without a target is refused in grammatical words', async () => {
    const { err } = await call(['jobs', 'create', '--name', 'X'])
    assert.match(err, /jobs create: the job needs a target: --callback-url, /)
  })

  await t.test('apply names a misspelt field before the missing ones', async () => {
    const file = join(dataDir, 'misspelt.yaml')
    await writeFile(file, 'jobs:\n  - key: x\n    name: x\n    schedul: every hour\n')
    const { err } = await call(['apply', '-f', file, '--yes'])
    const lines = err.split('\n').filter((line) => line.startsWith('  /'))
    assert.match(lines[0] ?? '', /\/schedul is not a known field; did you mean schedule\?/, err)
    assert.match(lines[1] ?? '', /is required/, err)
    assert.doesNotMatch(err, /`|openapi/)
  })

  await t.test('a schedule that is not understood gets no advice for programs', async () => {
    const target = ['--callback-url', `${url}/echo`]
    const { err } = await call(['jobs', 'create', '--name', 'X', '--schedule', 'evry day', ...target])
    assert.match(err, /"evry" at position 0 is not understood/)
    assert.doesNotMatch(err, /`|meant for programs/)
  })
})
