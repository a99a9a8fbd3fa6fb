// @ts-nocheck Runs in browsers; the repository is type-checked without their library.
// What the page at /docs/api gains by script, besides guide.js and the search, which are served in front of it: the address of this
// server in commands, filtering, the place in the contents. Without it everything can still be read.

for (const place of all('.origin')) place.textContent = location.origin

const filter = byId('filter')
byId('filter-label').hidden = false
const operations = all('.group .operation').map((section) => ({
  section,
  link: contents.querySelector(`a[href="#${section.id}"]`).parentElement,
  // Not the answers: nearly every word stands in the answer to something.
  text: all('.about > :not(.answer):not(.limits)', section)
    .map(({ textContent }) => textContent)
    .join(' ')
    .toLowerCase(),
}))

filter.addEventListener('input', applyFilter)
// A link leads somewhere even when the filter hides the place.
addEventListener('hashchange', () => {
  const target = byId(location.hash.slice(1))
  if (!target?.closest('[hidden]')) return
  clearFilter()
  target.scrollIntoView()
})

function clearFilter() {
  filter.value = ''
  applyFilter()
}

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const { section, link, text } of operations) {
    const hidden = !words.every((word) => text.includes(word))
    section.hidden = hidden
    link.hidden = hidden
  }
  for (const group of all('.group')) group.hidden = all('.operation:not([hidden])', group).length === 0
  for (const list of all('ul:not(.top)', contents)) {
    const empty = all('li:not([hidden])', list).length === 0
    list.hidden = empty
    list.previousElementSibling.hidden = empty
  }
  byId('nothing').hidden = operations.some(({ section }) => !section.hidden)
  for (const id of ['start', 'conventions', 'errors']) byId(id).hidden = words.length > 0
}

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && document.activeElement === filter) {
    clearFilter()
    filter.blur()
    showMenu(false)
  }
})

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue
      for (const link of all('a[aria-current]', contents)) link.removeAttribute('aria-current')
      const link = contents.querySelector(`a[href="#${target.id}"]`)
      link?.setAttribute('aria-current', 'true')
      // Not scrollIntoView: it would also scroll the page.
      if (link) contents.scrollTop = link.offsetTop - contents.clientHeight / 2
    }
  },
  { rootMargin: '-10% 0px -80% 0px' },
)
for (const section of all('.operation, .plain')) watcher.observe(section)
