// The head of every page of the docs: the way home, the search box, and the button for the contents on a phone.
import { type Html, html } from './docs-page-html.ts'

/** The box stays hidden without script: the search runs in the browser. */
export function renderHeader(about: string): Html {
  return html`<header>
<a class="name" href="/docs">Carillon <span>${about}</span></a>
<div id="search-box" role="search" hidden>
<input type="search" id="search" role="combobox" aria-label="Search the docs" aria-autocomplete="list" aria-expanded="false" aria-controls="search-results" placeholder="Search" maxlength="200" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>
<p id="search-status" role="status"></p>
<div id="search-results" role="listbox" aria-label="Search results" hidden></div>
</div>
<a class="dashboard" href="/">Dashboard</a>
<button type="button" id="menu" aria-expanded="false" aria-controls="contents" hidden>Contents</button>
</header>`
}
