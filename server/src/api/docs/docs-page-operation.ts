// One operation of the reference page: its purpose, input and answers, and beside it the command to try it.
import type { DocMedia, DocOperation, DocParameter, Document } from './docs-page-document.ts'
import { exampleOf } from './docs-page-example.ts'
import { type Html, html, prose } from './docs-page-html.ts'
import { type Example, examplesOf } from './docs-page-languages.ts'
import { originMark, requestOf } from './docs-page-request.ts'
import { describe, renderSchema } from './docs-page-schema.ts'
import { renderTabs } from './docs-tabs-html.ts'

export interface PlacedOperation extends DocOperation {
  method: string
  path: string
  /** Other methods that do the same there. */
  also: string[]
}

export function idOf({ method, path }: PlacedOperation): string {
  return `${method}${path.replace(/[^a-z0-9]+/gi, '-').replace(/-$/, '')}`
}

export function renderOperation(document: Document, operation: PlacedOperation): Html {
  const { method, path, summary, description, parameters = [], requestBody, responses = {} } = operation
  // The answer about a created or started object comes before the 200 of a dry run.
  const answers = Object.entries(responses)
    .filter(([status]) => /^[123]/.test(status))
    .toSorted(([a], [b]) => Number(a === '200') - Number(b === '200'))
  return html`<section class="operation" id="${idOf(operation)}">
<div class="about">
<h3><a href="#${idOf(operation)}">${summary ?? path}</a></h3>
<p class="call"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code>${also(operation)}</p>
${description === undefined ? null : html`<p>${prose(description)}</p>`}
${(operation.security ?? []).length > 0 ? null : html`<p class="limits">No key needed.</p>`}
${['path', 'query', 'header'].map((place) => renderParameters(document, parameters, place))}
${renderBody(document, requestBody?.content ?? {})}
<h4>Answers</h4>
${answers.map(([status, answer]) => renderAnswer(document, status, answer))}
${'4XX' in responses ? html`<p class="limits">A refusal is a <a href="#errors">problem document</a> that names the error and its place.</p>` : null}
</div>
<div class="samples">
${renderExamples(document, operation)}
${renderAnswerSample(document, answers)}
</div>
</section>
`
}

function also({ also: others }: PlacedOperation): Html | null {
  if (others.length === 0) return null
  return html` <span class="limits">and ${others.map((one) => one.toUpperCase()).join(', ')}</span>`
}

const placeNames: Readonly<Record<string, string>> = { path: 'Path', query: 'Query', header: 'Headers' }

function renderParameters(
  document: Document,
  parameters: readonly DocParameter[],
  place: string,
): Html | null {
  const chosen = parameters.filter((one) => one.in === place)
  if (chosen.length === 0) return null
  const rows = chosen.map(
    ({ name, required, description, schema = {} }) => html`<li>
<span class="field">${name}</span> <span class="limits">${describe(document, schema)}</span>${
      required === true && place !== 'path' ? html` <span class="needed">required</span>` : null
    }${description === undefined ? null : html`<p>${prose(description)}</p>`}${
      schema.enum === undefined
        ? null
        : html`<p class="values">${schema.enum.map((one) => html`<code>${String(one)}</code> `)}</p>`
    }</li>`,
  )
  return html`<h4>${placeNames[place]!}</h4><ul class="fields">${rows}</ul>`
}

/** Types that take the same body share one list of its fields. */
function renderBody(document: Document, content: Record<string, DocMedia>): Html[] {
  const bySchema = Map.groupBy(Object.entries(content), ([, { schema = {} }]) => JSON.stringify(schema))
  return [...bySchema.values()].map((same) => {
    const types = same.map(([type]) => type).join(' or ')
    return html`<h4>Body <span class="limits">${types}</span></h4>${renderSchema(document, same[0]![1].schema ?? {})}`
  })
}

interface Answer {
  description?: string
  content?: Record<string, DocMedia>
}

function renderAnswer(document: Document, status: string, { description, content = {} }: Answer): Html {
  const [type, media] = Object.entries(content)[0] ?? []
  // The text that Fastify's generator writes where nobody described the answer.
  const said = description === undefined || description === 'Default Response' ? '' : description
  const head = html`<span class="status">${status}</span> ${prose(said)} <span class="limits">${type ?? 'no body'}</span>`
  if (media?.schema === undefined) return html`<p class="answer">${head}</p>`
  const { description: _said, ...schema } = media.schema
  return html`<details class="answer"><summary>${head}</summary>${renderSchema(document, schema)}</details>`
}

function renderAnswerSample(
  document: Document,
  answers: readonly (readonly [string, Answer])[],
): Html | null {
  const [status, answer] = answers[0] ?? []
  const [type, media] = Object.entries(answer?.content ?? {})[0] ?? []
  if (media?.schema === undefined || !/json/.test(type ?? '')) return null
  return renderCode(`Answer ${status}`, JSON.stringify(exampleOf(document, media), null, 2))
}

/** The request in each language; without script they stand below each other, with it they are tabs. */
function renderExamples(document: Document, operation: PlacedOperation): Html {
  const request = requestOf(document, operation.method, operation.path, operation)
  return renderLanguages(examplesOf(request))
}

export function renderLanguages(examples: readonly Example[]): Html {
  return renderTabs(examples.map(({ code, ...example }) => ({ ...example, code: html`${paint(code)}` })))
}

/** A block of code that can be copied. */
export function renderCode(title: string, code: string): Html {
  return html`<figure><figcaption>${title}<button type="button" class="copy" hidden>Copy</button></figcaption>
<pre tabindex="0"><code>${paint(code)}</code></pre></figure>`
}

/** Keys of JSON, comments and the address are told apart; the script puts the address of this server there. */
function paint(code: string): Html[] {
  const marked = new RegExp(`("[\\w-]+"(?=:)|^#.*$|${RegExp.escape(originMark)})`, 'gm')
  return code.split(marked).map((piece, at) => {
    if (at % 2 === 0) return html`${piece}`
    if (piece === originMark) return html`<span class="origin">${piece}</span>`
    return piece.startsWith('#') ? html`<i>${piece}</i>` : html`<b>${piece}</b>`
  })
}

/** A long path may be broken after a slash and nowhere else. */
function breakable(path: string): Html[] {
  return path.split('/').map((part, at) => (at === 0 ? html`${part}` : html`/<wbr>${part}`))
}
