import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyRequest } from 'fastify'
import { collectRoutes, schemasOf } from '../../../test/routes.ts'
import { foldWords, type WordTree, wordTreeOf } from './words.ts'

const parts = [
  ['querystring', 'query'],
  ['body', 'body'],
] as const

/** A value with the first word of each closed set in the other case. */
function otherCase({ words, fields, items }: WordTree): unknown {
  if (words !== null) {
    const [word] = words.known
    return word === word!.toLowerCase() ? word!.toUpperCase() : word!.toLowerCase()
  }
  if (items !== null) return [otherCase(items)]
  return Object.fromEntries(fields.map(([name, child]) => [name, otherCase(child)]))
}

test('every route reads the words of its query string and of its body in any case', async (t) => {
  const { routes } = await collectRoutes(t)
  const read: string[] = []
  for (const { method, url, schema = {}, preValidation = [] } of routes) {
    for (const [part, field] of parts) {
      for (const one of schemasOf(schema[part] as object | undefined)) {
        const tree = wordTreeOf(one)
        const given = otherCase(tree)
        if (foldWords(tree, given) === given) continue
        const request = { headers: { 'if-match': '*' }, [field]: given } as unknown as FastifyRequest
        for (const hook of [preValidation].flat())
          await Reflect.apply(hook, undefined, [request]).catch(() => {})
        const left = request[field]
        assert.equal(foldWords(tree, left), left, `${method} ${url}: ${JSON.stringify(left)}`)
        read.push(`${method} ${url} ${field}`)
      }
    }
  }
  for (const one of [
    'GET /api/v1/workers query',
    'GET /api/v1/sla query',
    'POST /api/v1/workers/report body',
  ])
    assert(read.includes(one), `${one} is not among ${read.join(', ')}`)
})
