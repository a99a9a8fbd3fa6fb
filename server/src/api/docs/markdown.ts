// A page of Markdown as HTML, by markdown-it: CommonMark and tables, without indented code, underlined headings, entities and
// link references. Nothing on a page becomes markup of its own: HTML is shown as text, and a link leads only where `follow`
// lets it. Loaded with the first page of the docs.
import MarkdownIt, { type Token } from 'markdown-it'
import { Html, html } from './docs-page-html.ts'
import { renderFigure, renderTabs, type Variant } from './docs-tabs-html.ts'

export interface Heading {
  level: number
  text: string
  id: string
}

export interface RenderedMarkdown {
  body: Html
  headings: Heading[]
}

export interface MarkdownOptions {
  /** Where a link of the page leads; null: it is shown as text. */
  follow: (link: string) => string | null
  /** The title of the page behind a link, shown where its text is the name of a file; null: the text stays. */
  titleOf?: (link: string) => string | null
}

const markdown = new MarkdownIt({ html: false }).disable([
  'code',
  'lheading',
  'entity',
  'reference',
  'strikethrough',
])
const { renderer } = markdown
const { rules } = renderer
/** Elements that end a line of the page's source. */
const ownLine = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'blockquote'])

// A link is taken as it is written, with any scheme: `follow` decides, and attributes are escaped.
markdown.validateLink = () => true
markdown.normalizeLink = (link) => link
markdown.normalizeLinkText = (link) => link
renderer.renderToken = (tokens, at) => {
  const token = tokens[at]!
  if (token.hidden) return ''
  const isEnd = token.nesting === -1
  return `<${isEnd ? '/' : ''}${token.tag}${renderer.renderAttrs(token)}>${isEnd && ownLine.has(token.tag) ? '\n' : ''}`
}
rules['softbreak'] = () => ' '
rules['table_open'] = () => '<div class="table" tabindex="0"><table>'
rules['table_close'] = () => '</table></div>\n'
rules['fence'] = (tokens, at) => `${renderFigure(variantOf(tokens[at]!)).text}\n`
rules['variants'] = (tokens, at) => renderTabs(tokens[at]!.children!.map(variantOf)).text

/** Languages whose neighbouring blocks are variants of one example, by the name that a tab has. */
const tabNames: Record<string, string> = {
  sh: 'curl',
  js: 'JavaScript',
  ts: 'TypeScript',
  python: 'Python',
  go: 'Go',
  ruby: 'Ruby',
}

/** The words after the language name the tab, as in ```ts Next.js. */
function variantOf({ info, content }: Token): Variant {
  const [language = '', ...title] = info.trim().split(/\s+/)
  const code = html`${content.replace(/\n$/, '')}`
  return { language: language || 'text', title: title.join(' ') || (tabNames[language] ?? language), code }
}

/** Blocks of code in different languages with nothing between them become one token. */
function gatherVariants(tokens: readonly Token[]): Token[] {
  const gathered: Token[] = []
  for (const token of tokens) {
    const last = gathered.at(-1)
    const before: readonly Token[] =
      last?.type === 'variants' ? last.children! : last?.type === 'fence' ? [last] : []
    const titles = [...before, token].map((one) => variantOf(one).title)
    const isVariant =
      before.length > 0 &&
      token.type === 'fence' &&
      [...before, token].every((one) => Object.hasOwn(tabNames, variantOf(one).language)) &&
      new Set(titles).size === titles.length
    if (!isVariant) {
      gathered.push(token)
      continue
    }
    const together = new MarkdownIt.Token('variants', 'div', 0)
    together.children = [...before, token]
    gathered.splice(-1, 1, together)
  }
  return gathered
}

export function renderMarkdown(text: string, { follow, titleOf }: MarkdownOptions): RenderedMarkdown {
  const tokens = markdown.parse(text, {})
  for (const [at, token] of tokens.entries()) {
    // A column without a name has no heading that a screen reader could read.
    if (token.type === 'th_open' && tokens[at + 1]!.content === '') token.tag = tokens[at + 2]!.tag = 'td'
    // A style of its own is refused by the policy of the page.
    if (token.tag === 'th' || token.tag === 'td') token.attrs = null
    if (token.children === null) continue
    if (titleOf !== undefined) nameLinks(token.children, titleOf)
    token.children = followLinks(token.children, follow)
  }
  const headings = anchorHeadings(tokens)
  const body = renderer.render(gatherVariants(tokens), markdown.options, {})
  return { body: new Html(body), headings }
}

/** A heading with the plain text up to the next heading, for the search. */
export interface Passage extends Heading {
  words: string
}

/** The passages of a page, in order, each with its code after its prose; text above the first heading is in none. */
export function readPassages(text: string, titleOf: (link: string) => string | null = () => null): Passage[] {
  const tokens = markdown.parse(text, {})
  for (const { children } of tokens) nameLinks(children ?? [], titleOf)
  const passages: Passage[] = []
  const headings = anchorHeadings(tokens).values()
  const code = new Map<Passage, string>()
  let isHeading = false
  for (const { type, children, content } of tokens) {
    if (type === 'heading_open') {
      passages.push({ ...headings.next().value!, words: '' })
      isHeading = true
    } else if (type === 'heading_close') isHeading = false
    const last = passages.at(-1)
    if (last === undefined || isHeading) continue
    if (type === 'fence') code.set(last, `${code.get(last) ?? ''} ${squeezed(content)}`)
    if (type === 'inline') last.words = `${last.words} ${squeezed(plainOf(children!))}`.trim()
  }
  for (const passage of passages) passage.words = `${passage.words}${code.get(passage) ?? ''}`.trim()
  return passages
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** As GitHub makes it, so that a link to a heading works there and here. */
export function idOfHeading(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** On GitHub the name of a file is a good text for a link; on a page that people read its title is better. */
function nameLinks(tokens: readonly Token[], titleOf: (link: string) => string | null): void {
  for (const [at, open] of tokens.entries()) {
    const text = tokens[at + 1]
    if (open.type !== 'link_open' || text?.type !== 'text' || tokens[at + 2]?.type !== 'link_close') continue
    if (/^[\w./-]+(\.md|\/)$/.test(text.content))
      text.content = titleOf(String(open.attrGet('href'))) ?? text.content
  }
}

/** A link or a picture that leads nowhere leaves its words. */
function followLinks(tokens: readonly Token[], follow: MarkdownOptions['follow']): Token[] {
  let isOpen = false
  return tokens.flatMap((token) => {
    if (token.type === 'image') return followPicture(token, follow)
    if (token.type === 'link_close') return isOpen ? [token] : []
    if (token.type !== 'link_open') return [token]
    const target = follow(String(token.attrGet('href')))
    isOpen = target !== null
    if (target === null) return []
    token.attrSet('href', target)
    if (/^https?:/.test(target)) token.attrSet('rel', 'noreferrer')
    return [token]
  })
}

function followPicture(token: Token, follow: MarkdownOptions['follow']): Token[] {
  const source = follow(String(token.attrGet('src')))
  if (source === null) return token.children ?? []
  token.attrSet('src', source)
  token.attrSet('loading', 'lazy')
  return [token]
}

function anchorHeadings(tokens: readonly Token[]): Heading[] {
  const seen = new Map<string, number>()
  return tokens.flatMap((open, at) => {
    if (open.type !== 'heading_open') return []
    const words = tokens[at + 1]!
    const level = Number(open.tag.slice(1))
    const text = plainOf(words.children!)
    const id = idOfHeading(text) || 'section'
    const before = seen.get(id) ?? 0
    seen.set(id, before + 1)
    const unique = before === 0 ? id : `${id}-${before}`
    open.attrSet('id', unique)
    // The title is the page itself; every other place can be linked to.
    if (level > 1) words.children = linked(words.children!, `#${unique}`)
    return [{ level, text, id: unique }]
  })
}

function linked(tokens: readonly Token[], target: string): Token[] {
  const open = new MarkdownIt.Token('link_open', 'a', 1)
  open.attrSet('href', target)
  return [open, ...tokens, new MarkdownIt.Token('link_close', 'a', -1)]
}

function plainOf(tokens: readonly Token[]): string {
  return tokens.map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('')
}
