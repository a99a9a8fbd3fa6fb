// @ts-nocheck Runs in browsers; the repository is type-checked without their library.
// The search box in the head of every page, served behind guide.js and docs-search-rank.js: `/` leads there, the arrows go
// through the results, Enter opens one, Escape leaves. The index is loaded when the box is used for the first time.

const searchBox = byId('search-box')
const searchInput = byId('search')
const searchStatus = byId('search-status')
const searchResults = byId('search-results')
searchBox.hidden = false

let searchIndex = null
let chosenResult = -1

function loadIndex() {
  searchIndex ??= import('/docs/search-index.js').catch((error) => {
    // So that the next use tries again.
    searchIndex = null
    throw error
  })
  return searchIndex
}

searchInput.addEventListener('focus', () => {
  loadIndex().catch(() => {})
  if (searchInput.value.trim() !== '') showResults()
})
searchInput.addEventListener('input', showResults)

async function showResults() {
  const query = searchInput.value
  if (query.trim() === '') return closeResults()
  let index
  try {
    index = (await loadIndex()).index
  } catch {
    listResults([])
    searchStatus.textContent = 'The search index could not be loaded. Is the server running?'
    return
  }
  // Somebody wrote on while the index was loading.
  if (query !== searchInput.value) return
  const { all: isComplete, results } = search(index, query)
  listResults(results)
  searchStatus.textContent =
    results.length === 0
      ? `Nothing found for “${query.trim()}”.`
      : isComplete
        ? `${results.length} ${results.length === 1 ? 'result' : 'results'}`
        : 'No passage has all of these words. Closest matches:'
}

function listResults(results) {
  chosenResult = -1
  searchInput.removeAttribute('aria-activedescendant')
  searchResults.replaceChildren(...results.map(makeResult))
  searchResults.hidden = results.length === 0
  searchResults.scrollTop = 0
  searchInput.setAttribute('aria-expanded', String(results.length > 0))
  document.body.classList.add('searching')
}

function makeResult({ page, heading, address, line }, at) {
  const link = document.createElement('a')
  link.id = `search-result-${at}`
  link.href = address
  link.tabIndex = -1
  link.setAttribute('role', 'option')
  link.setAttribute('aria-selected', 'false')
  const head = document.createElement('span')
  head.className = 'result-heading'
  head.textContent = heading
  const place = document.createElement('span')
  place.className = 'result-page'
  place.textContent = page === heading ? '' : page
  const context = document.createElement('span')
  context.className = 'result-line'
  for (const [text, isHit] of line) {
    const piece = document.createElement(isHit ? 'mark' : 'span')
    piece.textContent = text
    context.append(piece)
  }
  link.append(head, ' ', place, ' ', context)
  return link
}

function closeResults() {
  listResults([])
  searchStatus.textContent = ''
  document.body.classList.remove('searching')
}

function chooseResult(at) {
  const options = all('[role=option]', searchResults)
  if (options.length === 0) return
  chosenResult = (at + options.length) % options.length
  for (const [i, option] of options.entries())
    option.setAttribute('aria-selected', String(i === chosenResult))
  const option = options[chosenResult]
  searchInput.setAttribute('aria-activedescendant', option.id)
  option.scrollIntoView({ block: 'nearest' })
}

searchInput.addEventListener('keydown', (event) => {
  if (event.isComposing) return
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault()
    if (searchResults.hidden) return void showResults()
    chooseResult(event.key === 'ArrowDown' ? chosenResult + 1 : Math.max(chosenResult, 0) - 1)
  }
  if (event.key === 'Enter') {
    event.preventDefault()
    const options = all('[role=option]', searchResults)
    options[Math.max(chosenResult, 0)]?.click()
  }
  if (event.key === 'Escape') {
    event.preventDefault()
    searchInput.value = ''
    closeResults()
    searchInput.blur()
  }
})
// A result on the same page moves the page under the list.
searchResults.addEventListener('click', (event) => {
  if (event.target.closest('a') === null) return
  closeResults()
  searchInput.blur()
})
document.addEventListener('pointerdown', (event) => {
  if (!event.target.closest('#search-box')) closeResults()
})
searchBox.addEventListener('focusout', (event) => {
  if (event.relatedTarget !== null && !searchBox.contains(event.relatedTarget)) closeResults()
})

document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, textarea, select, [contenteditable]')) return
  event.preventDefault()
  searchInput.focus()
  searchInput.select()
})
