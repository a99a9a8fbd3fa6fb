import assert from 'node:assert/strict'
import test from 'node:test'
import { renderDocsPage } from './docs-page.ts'
import type { DocOperation, DocSchema, Document } from './docs-page-document.ts'

function documentOf(operation: DocOperation, more: Partial<Document> = {}): Document {
  const paths = { '/api/v1/bells/{bell_id}': { post: { tags: ['bells'], ...operation } } }
  return { info: { title: 'Bells', version: '1.0.0' }, paths, ...more }
}

const withBody = (schema: DocSchema): DocOperation => ({
  requestBody: { content: { 'application/json': { schema } } },
})

/** The text that a reader sees. */
function textOf(page: string): string {
  return page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
}

test('text in the document cannot become markup', () => {
  const nasty = `<script>alert("1")</script> & 'x'`
  const page = renderDocsPage(
    documentOf({
      summary: nasty,
      description: `\`${nasty}\``,
      parameters: [{ in: 'query', name: nasty, required: true, schema: { enum: [nasty, 'b'] } }],
      ...withBody({ type: 'object', required: [nasty], properties: { [nasty]: { description: nasty } } }),
    }),
  )
  assert.doesNotMatch(page, /<script>/)
  assert.equal(page.match(/<script /g)?.length, 1)
  assert.match(page, /<code>&lt;script&gt;/)
})

test('a field says its type, limits, default, values and whether it is required', () => {
  const properties: Record<string, DocSchema> = {
    name: { type: 'string', minLength: 1, maxLength: 255, description: 'As people call it, `once`.' },
    priority: { type: 'integer', minimum: 1, maximum: 10, default: 5 },
    mode: { type: 'string', enum: ['LOUD', 'SOFT'] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 50 },
    when: { type: ['string', 'null'], format: 'date-time' },
    payload: {},
  }
  const text = textOf(
    renderDocsPage(documentOf(withBody({ type: 'object', required: ['name'], properties }))),
  )
  assert.match(text, /name string · 1 to 255 characters required As people call it, once \./)
  assert.match(text, /priority integer · 1 to 10 · default 5/)
  assert.match(text, /mode string LOUD SOFT/)
  assert.match(text, /tags array of string · at most 50 items/)
  assert.match(text, /when string or null · date-time/)
  assert.match(text, /payload any JSON/)
})

test('alternatives, parts and references are followed, and one that holds itself comes to an end', () => {
  const schemas: Record<string, DocSchema> = {
    Bell: {
      type: 'object',
      properties: { weight_kg: { type: 'number' }, beside: { $ref: '#/components/schemas/Bell' } },
    },
  }
  const schema: DocSchema = {
    oneOf: [
      { $ref: '#/components/schemas/Bell' },
      {
        allOf: [
          { properties: { a: { const: 1 } } },
          { required: ['a'], properties: { b: { type: 'boolean' } } },
        ],
      },
    ],
  }
  const text = textOf(renderDocsPage(documentOf(withBody(schema), { components: { schemas } })))
  assert.match(text, /Bell: object weight_kg number/)
  assert.match(text, /form 2: object a 1 required b boolean/)
})

test('an example can be pasted in each language: ids and key are variables, quotes in the body are safe', () => {
  const page = renderDocsPage(
    documentOf({
      security: [{ bearer: [] }],
      parameters: [
        { in: 'path', name: 'bell_id', required: true, schema: { type: 'string' } },
        { in: 'header', name: 'If-Match', required: true, schema: { type: 'string' } },
      ],
      requestBody: { content: { 'application/json': { example: { note: "it's `so`", loud: true } } } },
    }),
  )
  const codes = page.match(/<pre[\s\S]*?<\/pre>/g)!.map((one) => one.replace(/<[^>]*>/g, ''))
  const [curl, typescript, python, go] = codes
    .slice(-4)
    .map((one) => one.replaceAll('&quot;', '"').replaceAll('&#39;', "'"))
  assert.equal(
    curl,
    `curl "http://127.0.0.1:7420/api/v1/bells/$BELL_ID" \\
  -H "Authorization: Bearer $CARILLON_API_KEY" \\
  -H 'If-Match: *' \\
  -H 'Content-Type: application/json' \\
  -d '{
  "note": "it'\\''s \`so\`",
  "loud": true
}'`,
  )
  assert.equal(
    typescript,
    `const answer = await fetch(\`http://127.0.0.1:7420/api/v1/bells/\${process.env.BELL_ID}\`, {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.CARILLON_API_KEY}\`,
    'If-Match': '*',
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({
    "note": "it's \`so\`",
    "loud": true
  }),
})
console.log(answer.status, await answer.text())`,
  )
  assert.equal(
    python,
    `import json
import os
import urllib.request

request = urllib.request.Request(
    f"http://127.0.0.1:7420/api/v1/bells/{os.environ['BELL_ID']}",
    method="POST",
    headers={
        "Authorization": f"Bearer {os.environ['CARILLON_API_KEY']}",
        "If-Match": "*",
        "Content-Type": "application/json",
    },
    data=json.dumps({
        "note": "it's \`so\`",
        "loud": True,
    }).encode(),
)
with urllib.request.urlopen(request) as answer:
    print(answer.status)
    for line in answer:
        print(line.decode(), end="")`,
  )
  assert.match(
    go!,
    /NewRequest\("POST", "http:\/\/127\.0\.0\.1:7420\/api\/v1\/bells\/"\+os\.Getenv\("BELL_ID"\), body\)/,
  )
  assert.match(go!, /strings\.NewReader\(`\{\n {2}"note": "it's \\u0060so\\u0060",/)
})

test('methods that do the same on one path are shown once', () => {
  const same = { summary: 'Ring', tags: ['bells'] }
  const page = renderDocsPage({
    info: { title: 'Bells', version: '1' },
    paths: { '/ring': { get: same, post: same, put: same } },
  })
  assert.equal(page.match(/class="operation" id="get-ring"/g)?.length, 1)
  assert.match(textOf(page), /GET \/ ring and POST, PUT/)
})

test('the answer about a created object comes before that of a dry run, and media types of the same form share a list', () => {
  const media = { schema: { type: 'object', properties: { weight_kg: { type: 'number' } } } }
  const page = renderDocsPage(
    documentOf({
      requestBody: { content: { 'application/json': media, 'application/merge-patch+json': media } },
      responses: {
        200: { content: { 'application/json': media } },
        201: { content: { 'application/json': media } },
      },
    }),
  )
  const text = textOf(page)
  assert.match(text, /Answer 201/)
  assert.doesNotMatch(text, /Answer 200/)
  assert.match(text, /Body application\/json or application\/merge-patch\+json weight_kg number Answers/)
})
