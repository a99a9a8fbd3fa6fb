// Variants of one piece of code: below each other, each under its name; the script docs-tabs.js makes tabs of them.
import { type Html, html } from './docs-page-html.ts'

export interface Variant {
  /** `sh`, `ts`: as in Markdown. */
  language: string
  /** The name of the tab; once chosen, it is shown everywhere. */
  title: string
  code: Html
}

export function renderTabs(variants: readonly Variant[]): Html {
  return html`<div class="tabs">${variants.map(
    ({ title, ...variant }) =>
      html`<div data-title="${title}"><p class="variant">${title}</p>${renderFigure(variant)}</div>`,
  )}</div>\n`
}

/** A block of code without a caption that can be copied. */
export function renderFigure({ language, code }: Omit<Variant, 'title'>): Html {
  return html`<figure class="code"><pre tabindex="0"><code class="language-${language}">${code}</code></pre><button type="button" class="copy" hidden>Copy</button></figure>`
}
