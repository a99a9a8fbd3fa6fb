// Markdown as our docs use it, made into HTML: headings, paragraphs, lists, tables, quotes, code, rules, emphasis, links and
// pictures. Everything else is text. Nothing in it can become markup of its own: HTML is shown, not obeyed, and a link leads
// only where `follow` lets it.
import { Html, html } from './docs-page-html.ts'

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
}

export function renderMarkdown(text: string, options: MarkdownOptions): RenderedMarkdown {
  const page = new Page(options)
  const body = page.render(text.replaceAll('\r\n', '\n').split('\n'))
  return { body, headings: page.headings }
}

/** As GitHub makes it, so that a link to a heading works there and here. */
export function idOfHeading(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

const fence = /^```(\w*)\s*$/
const heading = /^(#{1,6}) (.*)$/
const rule = /^---+$/
const item = /^( *)(?:[-*]|(\d{1,9})\.) (.*)$/
const quote = /^> ?(.*)$/
const tableRow = /^\|(.*)\|\s*$/
const tableRule = /^\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/

class Page {
  readonly headings: Heading[] = []
  readonly #options: MarkdownOptions
  readonly #ids = new Map<string, number>()

  constructor(options: MarkdownOptions) {
    this.#options = options
  }

  render(lines: readonly string[]): Html {
    const blocks: Html[] = []
    let at = 0
    while (at < lines.length) {
      const from = at
      const line = lines[at]!
      if (line.trim() === '') at += 1
      else if (fence.test(line)) at = this.#code(blocks, lines, at)
      else if (heading.test(line)) at = this.#heading(blocks, line, at)
      else if (rule.test(line)) at = push(blocks, html`<hr>`, at + 1)
      else if (quote.test(line)) at = this.#quote(blocks, lines, at)
      else if (tableRow.test(line) && tableRule.test(lines[at + 1] ?? '')) at = this.#table(blocks, lines, at)
      else if (item.test(line)) at = this.#list(blocks, lines, at)
      else at = this.#paragraph(blocks, lines, at)
      // Every step goes on: a line that nothing takes would stop us for ever.
      if (at === from) throw new Error(`line ${at + 1} is of no kind`)
    }
    return html`${blocks}`
  }

  #heading(blocks: Html[], line: string, at: number): number {
    const [, marks, text] = heading.exec(line)! as unknown as [string, string, string]
    const level = marks.length
    const plain = plainOf(text)
    const id = this.#idOf(plain)
    this.headings.push({ level, text: plain, id })
    const words = this.#inline(text)
    const open = new Html(`<h${level} id="${id}">`)
    const close = new Html(`</h${level}>`)
    // The title is the page itself; every other place can be linked to.
    const inner = level === 1 ? words : html`<a href="#${id}">${words}</a>`
    return push(blocks, html`${open}${inner}${close}\n`, at + 1)
  }

  #idOf(text: string): string {
    const id = idOfHeading(text) || 'section'
    const seen = this.#ids.get(id) ?? 0
    this.#ids.set(id, seen + 1)
    return seen === 0 ? id : `${id}-${seen}`
  }

  #code(blocks: Html[], lines: readonly string[], at: number): number {
    const language = fence.exec(lines[at]!)![1]!
    let end = at + 1
    while (end < lines.length && lines[end]!.trimEnd() !== '```') end += 1
    const code = lines.slice(at + 1, end).join('\n')
    const block = html`<figure class="code"><pre tabindex="0"><code class="language-${language || 'text'}">${code}</code></pre><button type="button" class="copy" hidden>Copy</button></figure>\n`
    return push(blocks, block, end + 1)
  }

  #quote(blocks: Html[], lines: readonly string[], at: number): number {
    let end = at
    while (end < lines.length && quote.test(lines[end]!)) end += 1
    const inner = this.render(lines.slice(at, end).map((line) => quote.exec(line)![1]!))
    return push(blocks, html`<blockquote>${inner}</blockquote>\n`, end)
  }

  #table(blocks: Html[], lines: readonly string[], at: number): number {
    const head = cellsOf(lines[at]!)
    let end = at + 2
    while (end < lines.length && tableRow.test(lines[end]!)) end += 1
    const rows = lines.slice(at + 2, end).map((line) => {
      const cells = cellsOf(line).slice(0, head.length)
      return html`<tr>${cells.map((cell) => html`<td>${this.#inline(cell)}</td>`)}</tr>`
    })
    const heads = head.map((cell) => html`<th>${this.#inline(cell)}</th>`)
    const table = html`<div class="table" tabindex="0"><table><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>\n`
    return push(blocks, table, end)
  }

  /** Lines that are indented further belong to the item before, and may be a list themselves. */
  #list(blocks: Html[], lines: readonly string[], at: number): number {
    const first = item.exec(lines[at]!)!
    const indent = first[1]!.length
    const isNumbered = first[2] !== undefined
    const items: Html[] = []
    let end = at
    while (end < lines.length) {
      const found = item.exec(lines[end]!)
      if (found === null || found[1]!.length !== indent || (found[2] !== undefined) !== isNumbered) break
      const inner = [found[3]!]
      end += 1
      while (end < lines.length && isInside(lines, end, indent)) inner.push(unindent(lines[end++]!, indent))
      items.push(html`<li>${this.#item(inner)}</li>`)
    }
    const list = isNumbered ? html`<ol>${items}</ol>\n` : html`<ul>${items}</ul>\n`
    return push(blocks, list, end)
  }

  /** Without a paragraph of its own when it is one line of words and perhaps a list. */
  #item(lines: readonly string[]): Html {
    const rest = lines.findIndex((line, index) => index > 0 && (line.trim() === '' || isBlock(line)))
    const words = this.#inline((rest === -1 ? lines : lines.slice(0, rest)).join(' '))
    return rest === -1 ? words : html`${words}${this.render(lines.slice(rest))}`
  }

  #paragraph(blocks: Html[], lines: readonly string[], at: number): number {
    let end = at + 1
    while (end < lines.length && lines[end]!.trim() !== '' && !isBlock(lines[end]!)) end += 1
    const text = lines
      .slice(at, end)
      .map((line) => line.trim())
      .join(' ')
    return push(blocks, html`<p>${this.#inline(text)}</p>\n`, end)
  }

  #inline(text: string): Html {
    const parts: (Html | string)[] = []
    let rest = text
    while (rest !== '') {
      const found = spanOf(rest)
      if (found === null) {
        parts.push(rest)
        break
      }
      if (found.index > 0) parts.push(rest.slice(0, found.index))
      parts.push(this.#span(found))
      rest = rest.slice(found.index + found[0].length)
    }
    return html`${parts}`
  }

  #span(found: RegExpExecArray): Html | string {
    const groups = found.groups!
    if (groups.code !== undefined) return html`<code>${groups.code}</code>`
    if (groups.escaped !== undefined) return groups.escaped
    if (groups.strong !== undefined) return html`<strong>${this.#inline(groups.strong)}</strong>`
    if (groups.soft !== undefined) return html`<em>${this.#inline(groups.soft)}</em>`
    if (groups.bare !== undefined) return this.#link(groups.bare, html`${groups.bare}`)
    if (groups.picture !== undefined) {
      const source = this.#options.follow(groups.source!)
      return source === null
        ? groups.picture
        : html`<img src="${source}" alt="${groups.picture}" loading="lazy">`
    }
    return this.#link(groups.target!, this.#inline(groups.words!))
  }

  #link(target: string, words: Html): Html {
    const followed = this.#options.follow(target)
    if (followed === null) return words
    return /^https?:/.test(followed)
      ? html`<a href="${followed}" rel="noreferrer">${words}</a>`
      : html`<a href="${followed}">${words}</a>`
  }
}

/** The first of: code, an escaped sign, strong, emphasis, a picture, a link, an address in angle brackets. */
function spanOf(text: string): RegExpExecArray | null {
  return /`(?<code>[^`]+)`|\\(?<escaped>[\\`*_{}[\]()#+.!|<>-])|\*\*(?<strong>.+?)\*\*|(?<![\w*])\*(?<soft>[^\s*](?:[^*]*[^\s*])?)\*(?!\w)|!\[(?<picture>[^\]]*)\]\((?<source>[^)\s]+)\)|\[(?<words>(?:[^[\]]|\[[^\]]*\])+)\]\((?<target>[^)\s]+)\)|<(?<bare>https?:\/\/[^>\s]+)>/.exec(
    text,
  )
}

/** What a reader sees of it. */
function plainOf(text: string): string {
  return text
    .replace(/\[((?:[^[\]]|\[[^\]]*\])+)\]\([^)\s]+\)/g, '$1')
    .replace(/`([^`]+)`/g, '$1')
    .replace(/\*\*(.+?)\*\*/g, '$1')
}

function cellsOf(line: string): string[] {
  const inner = tableRow.exec(line)![1]!
  // A bar within code, or behind a backslash, is a bar.
  return (inner.match(/(?:`[^`]*`|\\\||[^|])+|(?<=\|)(?=\|)/g) ?? []).map((cell) =>
    cell.trim().replaceAll('\\|', '|'),
  )
}

function isBlock(line: string): boolean {
  return [fence, heading, rule, item, quote, tableRow].some((kind) => kind.test(line))
}

function isInside(lines: readonly string[], at: number, indent: number): boolean {
  const line = lines[at]!
  if (line.trim() === '')
    return at + 1 < lines.length && /^\s/.test(lines[at + 1]!) && indentOf(lines[at + 1]!) > indent
  return indentOf(line) > indent || (!isBlock(line) && lines[at - 1]!.trim() !== '')
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function unindent(line: string, indent: number): string {
  return line.slice(Math.min(indentOf(line), indent + 2))
}

function push(blocks: Html[], block: Html, next: number): number {
  blocks.push(block)
  return next
}
