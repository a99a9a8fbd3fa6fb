// The API reference for people, made from the OpenAPI document on the server: it can be read without script, without
// network and without a key. The script beside it only copies, filters and puts in the address of this server.
import { ERRORS } from '@carillon/contract/errors.ts'
import { type Group, groupsOf } from './docs-groups.ts'
import { renderHeader } from './docs-header.ts'
import type { Document } from './docs-page-document.ts'
import { type Html, html, prose } from './docs-page-html.ts'
import { examplesOf } from './docs-page-languages.ts'
import { idOf, renderCode, renderLanguages, renderOperation } from './docs-page-operation.ts'
import { type ExampleRequest, keyVariable, originMark } from './docs-page-request.ts'

export function renderDocsPage(document: Document): string {
  const { title, version, description = '' } = document.info
  const groups = groupsOf(document)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/page.css">
<script type="module" src="/docs/page.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the reference</a>
${renderHeader(`API ${version}`)}
<nav id="contents" aria-label="Contents">
<label id="filter-label" hidden>Filter <input type="search" id="filter" placeholder="path, field or word" autocomplete="off" spellcheck="false"></label>
<ul class="top"><li><a href="/docs">All docs</a></li><li><a href="#start">First steps</a></li><li><a href="#conventions">Conventions</a></li><li><a href="#errors">Errors</a></li></ul>
${groups.map(renderMenu)}
</nav>
<main id="main">
<section class="intro">
<h1>${title} API</h1>
<p class="lead">${prose(description)}</p>
<p>JSON over HTTP. This page shows version ${version} of the server it came from; programs read the same from <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
</section>
${renderStart()}
${renderConventions()}
<p id="nothing" hidden>No call matches the filter.</p>
${groups.map(
  (
    group,
  ) => html`<section class="group" id="${groupId(group)}"><h2>${capitalised(group.name)}</h2><p class="lead">${prose(group.description)}</p>
${group.operations.map((operation) => renderOperation(document, operation))}</section>`,
)}
${renderErrors()}
</main>
</body>
</html>
`.text
}

function renderMenu(group: Group): Html {
  const items = group.operations.map(
    (operation) =>
      html`<li><a href="#${idOf(operation)}"><span class="method ${operation.method}">${operation.method.toUpperCase()}</span> ${operation.summary ?? operation.path}</a></li>`,
  )
  return html`<h2><a href="#${groupId(group)}">${capitalised(group.name)}</a></h2><ul>${items}</ul>`
}

const keyHeader: ExampleRequest['headers'][0] = [
  'Authorization',
  [{ text: 'Bearer ' }, { variable: keyVariable }],
]

const createFirst: ExampleRequest = {
  method: 'POST',
  url: [{ text: `${originMark}/api/v1/jobs` }],
  headers: [keyHeader, ['Content-Type', [{ text: 'application/json' }]]],
  body: {
    json: {
      name: 'hello',
      schedule: 'every minute',
      execution: { callback_url: `${originMark}/echo`, payload: { hello: 'world' } },
    },
  },
  isStream: false,
}

const lookFirst: ExampleRequest = {
  method: 'GET',
  url: [{ text: `${originMark}/api/v1/jobs/` }, { variable: 'JOB_ID' }, { text: '/executions' }],
  headers: [keyHeader],
  body: null,
  isStream: false,
}

function renderStart(): Html {
  return html`<section class="operation" id="start"><div class="about"><h2>First steps</h2>
<p>Create a job that calls <code>/echo</code> of this server once a minute, then look at its executions. <code>npm start</code> prints the API key and keeps it in its data directory.</p>
<p>Every example takes the key from <code>${keyVariable}</code> and ids from variables such as <code>JOB_ID</code>, so it can be pasted as it is. TypeScript needs Node 20 or newer; Python and Go need their standard library only.</p></div>
<div class="samples">${renderCode('The key', `export ${keyVariable}=$(cat .carillon/api-key)`)}
${renderLanguages(examplesOf(createFirst))}
${renderCode('The job id, from the answer', 'export JOB_ID=…')}
${renderLanguages(examplesOf(lookFirst))}</div></section>`
}

function renderConventions(): Html {
  return html`<section id="conventions" class="plain"><h2>Conventions</h2>
<ul>
<li><b>Keys.</b> Everything under <code>/api/v1</code> needs <code>Authorization: Bearer KEY</code>.</li>
<li><b>Fields.</b> An unknown field is refused by name, never ignored. Times are UTC, RFC 3339.</li>
<li><b>Lists.</b> <code>limit</code> says how many; <code>pagination.next_cursor</code> of a page is the <code>cursor</code> of the next one, and null on the last.</li>
<li><b>Repeats.</b> Under one <code>Idempotency-Key</code> a POST is done once, however often it is sent. With <code>dry_run=true</code> nothing changes, and the answer is the one you would have got.</li>
<li><b>Versions.</b> <code>ETag</code> is the version of a job; with <code>If-Match</code> a change is made only to that version.</li>
<li><b>Errors.</b> A problem document (RFC 9457) with a stable <code>code</code>; each of <code>errors</code> points to a field.</li>
</ul></section>`
}

function renderErrors(): Html {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title, help }]) =>
      html`<tr id="error-${code}"><td>${status}</td><td><code>${code}</code></td><td>${title}. ${prose(help)}</td></tr>`,
  )
  return html`<section id="errors" class="plain"><h2>Errors</h2>
<p class="lead">The body of every refusal is <code>application/problem+json</code>. Programs go by <code>code</code>, people by <code>detail</code> and <code>help</code>.</p>
<table><thead><tr><th>Status</th><th>Code</th><th>Meaning and remedy</th></tr></thead><tbody>${rows}</tbody></table></section>`
}

function groupId({ name }: Group): string {
  return `group-${name.replace(/[^a-z0-9]+/gi, '-')}`
}

function capitalised(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1)
}
