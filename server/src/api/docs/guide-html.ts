// One page of the docs as HTML: contents on the left, the page in the middle, its headings on the right. Reads well without
// script; links between Markdown files become links between pages.
import { posix } from 'node:path'
import { renderHeader } from './docs-header.ts'
import { type Html, html } from './docs-page-html.ts'
import type { GuidePage, GuideSection } from './guide-pages.ts'
import { type Heading, renderMarkdown } from './markdown.ts'

export function renderGuidePage(sections: readonly GuideSection[], page: GuidePage): string {
  const { body, headings } = renderMarkdown(page.text, {
    follow: linksOf(sections, page),
    titleOf: titlesOf(sections, page),
  })
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.name === '' ? 'Carillon docs' : `${page.title} · Carillon docs`}</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="text/markdown" href="${markdownOf(page)}">
<link rel="stylesheet" href="/docs/page.css">
<link rel="stylesheet" href="/docs/guide.css">
<script type="module" src="/docs/guide.js"></script>
</head>
<body class="guide">
<a class="skip" href="#main">Skip to the page</a>
${renderHeader('docs')}
<nav id="contents" aria-label="Contents">
<ul class="top"><li><a href="/">Dashboard</a></li></ul>
${sections.map((section) => renderSection(section, page))}
</nav>
<main id="main">
<article>
${body}
<p class="markdown-link"><a href="${markdownOf(page)}">This page as Markdown</a></p>
</article>
${renderHeadings(headings)}
</main>
</body>
</html>
`.text
}

/** For programs that read docs: an index with the addresses of the Markdown. */
export function renderLlmsText(sections: readonly GuideSection[]): string {
  const lines = sections.flatMap(({ title, pages }) => [
    `## ${title}`,
    '',
    ...pages.map(
      (page) => `- [${page.title}](${markdownOf(page)})${page.about === '' ? '' : `: ${page.about}`}`,
    ),
    '',
  ])
  const about = 'A distributed job scheduler: cron as a service that a team runs itself.'
  return [
    '# Carillon',
    '',
    `> ${about}`,
    '',
    '- [OpenAPI 3.1](/openapi.json): every call',
    '',
    ...lines,
  ].join('\n')
}

function renderSection({ title, pages }: GuideSection, current: GuidePage): Html {
  const items = pages.map((page) =>
    page === current
      ? html`<li><a href="${addressOf(page)}" aria-current="page">${page.label}</a></li>`
      : html`<li><a href="${addressOf(page)}">${page.label}</a></li>`,
  )
  const reference = title === 'API' ? html`<li><a href="/docs/api">API reference</a></li>` : null
  const list = html`<ul>${reference}${items}</ul>`
  const isFolded = title === 'Decisions' && !pages.includes(current)
  return isFolded
    ? html`<details><summary>${title}</summary>${list}</details>`
    : html`<h2>${title}</h2>${list}`
}

function renderHeadings(headings: readonly Heading[]): Html | null {
  const shown = headings.filter(({ level }) => level === 2 || level === 3)
  if (shown.length < 2) return null
  const items = shown.map(
    ({ level, id, text }) => html`<li class="level-${level}"><a href="#${id}">${text}</a></li>`,
  )
  return html`<aside aria-label="On this page"><h2>On this page</h2><ul>${items}</ul></aside>`
}

export function addressOf({ name }: GuidePage): string {
  return name === '' ? '/docs' : `/docs/${name}`
}

function markdownOf({ name }: GuidePage): string {
  return `/docs/${name === '' ? 'README' : name}.md`
}

/** The file of the repository that a link of the page means. */
function fileOf(page: GuidePage, link: string): string {
  return posix.normalize(posix.join(posix.dirname(page.file), link.split('#', 1)[0]!))
}

/** The name that a page has in the contents, by a link to its file. */
export function titlesOf(
  sections: readonly GuideSection[],
  page: GuidePage,
): (link: string) => string | null {
  const byFile = new Map(sections.flatMap(({ pages }) => pages.map(({ file, label }) => [file, label])))
  return (link) => {
    const file = fileOf(page, link)
    return byFile.get(file) ?? (file.endsWith('/') ? (byFile.get(`${file}README.md`) ?? null) : null)
  }
}

/** Links to files that are pages lead there; to other files of the repository nowhere: they are not served. */
function linksOf(sections: readonly GuideSection[], page: GuidePage): (link: string) => string | null {
  const byFile = new Map(sections.flatMap(({ pages }) => pages.map((one) => [one.file, addressOf(one)])))
  return (link) => {
    if (/^(https?:|mailto:|#)/.test(link)) return link
    if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return null
    if (link.startsWith('/')) return link
    const fragment = link.split('#', 2)[1]
    const file = fileOf(page, link)
    const image = /^docs\/images\/([\w-]+\.png)$/.exec(file)?.[1]
    if (image !== undefined) return `/docs/images/${image}`
    const address =
      file === 'README.md' ? '/docs' : file === 'docs/decisions/' ? firstDecision(sections) : byFile.get(file)
    if (address === undefined) return null
    return fragment === undefined ? address : `${address}#${fragment}`
  }
}

function firstDecision(sections: readonly GuideSection[]): string | undefined {
  const first = sections.find(({ title }) => title === 'Decisions')?.pages[0]
  return first === undefined ? undefined : addressOf(first)
}
