// The code of docs/recipes.md that readers paste into their services: it accepts a call that Carillon has signed, refuses
// any other, and does the work of a repeated call once. A language that is not on this machine is named in the report.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { checkoutDir } from '../../src/config/read.ts'
import { signWebhook } from '../../src/domain/queue/webhook-signature.ts'
import { HmacSha256 } from '../../src/lib/hmac.ts'
import { languagesHere, makeFolder, runCode } from './run-code.ts'

const page = await readFile(join(checkoutDir, 'docs/recipes.md'), 'utf8')

/** The block after this opening line; its language stands there. */
function blockOf(opening: string): string {
  const at = page.indexOf(`\`\`\`${opening}\n`)
  assert(at >= 0, `docs/recipes.md has no block ${opening}`)
  return page.slice(at).split('\n').slice(1).join('\n').split('\n```')[0]!
}

const secret = Buffer.alloc(32, 7)
const env = { CARILLON_SIGNING_KEY: `whsec_${secret.toString('base64')}` }
const body = '{"report":"sales"}'

/** Headers of a call as Carillon signs it, with the signature of an earlier key in front; `ageSeconds`: sent so long ago. */
function headersOf(signed: string, ageSeconds = 0): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
  const keys = [Buffer.alloc(32, 1), secret].map((key) => new HmacSha256(key))
  const signature = signWebhook(keys, { id: 'call-1', timestamp, body: signed })
  return { 'webhook-id': 'call-1', 'webhook-timestamp': String(timestamp), 'webhook-signature': signature }
}

const calls = [
  { name: 'as it was signed', headers: headersOf(body), status: 200 },
  { name: 'another body', headers: headersOf('{"report":"other"}'), status: 401 },
  { name: 'six minutes old', headers: headersOf(body, 360), status: 401 },
  { name: 'without a signature', headers: {}, status: 401 },
  {
    name: 'with a signature that is none',
    headers: { ...headersOf(body), 'webhook-signature': 'v1,é' },
    status: 401,
  },
]

/** Runs a program that prints the statuses of the calls as JSON. */
async function statusesOf(
  t: TestContext,
  language: 'ts' | 'python',
  files: Record<string, string>,
  program: string,
) {
  const folder = await makeFolder(t)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return JSON.parse(
    await runCode(folder, language, program, { ...env, CALLS: JSON.stringify(calls), BODY: body }),
  )
}

const expected = calls.map(({ status }) => status)

test('the Next.js route accepts a signed call and refuses any other', async (t) => {
  const program = `
    import { POST } from "./route.mts"
    const statuses = []
    for (const { headers } of JSON.parse(process.env.CALLS!)) {
      const safe = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(String(value)).toString('latin1')]))
      statuses.push((await POST(new Request('http://a/', { method: 'POST', headers: safe as Record<string, string>, body: process.env.BODY! }))).status)
    }
    console.log(JSON.stringify(statuses))`
  assert.deepEqual(await statusesOf(t, 'ts', { 'route.mts': blockOf('ts Next.js') }, program), expected)
})

test('the Express handler accepts a signed call and refuses any other', async (t) => {
  const program = `
    import { nightly } from "./server.mjs"
    const statuses: number[] = []
    for (const { headers } of JSON.parse(process.env.CALLS!)) {
      let status = 200
      const response = { status: (code: number) => ((status = code), response), send: () => {}, json: () => {} }
      nightly({ headers, body: Buffer.from(process.env.BODY!) }, response)
      statuses.push(status)
    }
    console.log(JSON.stringify(statuses))`
  assert.deepEqual(await statusesOf(t, 'ts', { 'server.mjs': blockOf('js Express') }, program), expected)
})

/** As much of FastAPI as the recipe uses. */
const fastapi = `
class HTTPException(Exception):
    def __init__(self, status_code, detail):
        self.status_code = status_code
class Request:
    pass
class FastAPI:
    def post(self, path):
        return lambda handler: handler
`

test('the FastAPI route accepts a signed call and refuses any other', async (t) => {
  if (languagesHere(t, ['python']).length === 0) return
  const program = `
import asyncio, json, os
import nightly
from fastapi import HTTPException
class Call:
    async def body(self):
        return os.environ["BODY"].encode()
statuses = []
for one in json.loads(os.environ["CALLS"]):
    call = Call()
    call.headers = one["headers"]
    try:
        assert asyncio.run(nightly.nightly(call)) == {"built": "sales"}
        statuses.append(200)
    except HTTPException as refused:
        statuses.append(refused.status_code)
print(json.dumps(statuses))`
  const files = { 'nightly.py': blockOf('python FastAPI'), 'fastapi/__init__.py': fastapi }
  assert.deepEqual(await statusesOf(t, 'python', files, program), expected)
})

test('the Rails controller is valid Ruby', (t) => {
  const checked = spawnSync('ruby', ['-c'], { input: blockOf('ruby Rails'), encoding: 'utf8' })
  if (checked.error !== undefined)
    return t.diagnostic('ruby is not on this machine: the controller was not checked')
  assert.equal(checked.status, 0, checked.stderr)
})

test('the receivers with an idempotency key do the work of a repeated call once', async (t) => {
  const folder = await makeFolder(t)
  await writeFile(join(folder, 'pay-out.mts'), blockOf('ts'))
  const again = `
    import { payOut } from "./pay-out.mts"
    const headers = { 'x-idempotency-key': 'a' }
    console.log([payOut(headers, { amount: 1 }), payOut(headers, { amount: 1 })].map(({ paid }) => paid).join())`
  assert.equal(await runCode(folder, 'ts', again, {}), 'now,before\n')
  if (languagesHere(t, ['python']).length === 0) return
  const other = await makeFolder(t)
  const twice = `${blockOf('python')}\nprint([pay_out({"x-idempotency-key": "a"}, {"amount": 1})["paid"] for _ in range(2)])`
  assert.equal(await runCode(other, 'python', twice, {}), "['now', 'before']\n")
})
