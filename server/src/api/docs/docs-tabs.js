// @ts-nocheck Runs in browsers; the repository is type-checked without their library.
// Makes tabs of the variants of a piece of code. A choice holds for all of them, on every page, and is remembered.

const choicesKey = 'carillon-docs-tabs'
const choicesMax = 8

/** The titles that were chosen, the latest first. */
let choices = readChoices()

function readChoices() {
  try {
    const read = JSON.parse(localStorage.getItem(choicesKey) ?? '[]')
    return Array.isArray(read) ? read.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

function choose(title) {
  choices = [title, ...choices.filter((one) => one !== title)].slice(0, choicesMax)
  try {
    localStorage.setItem(choicesKey, JSON.stringify(choices))
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
  }
}

const groups = all('.tabs').map((root, at) => makeTabs(root, at))

function makeTabs(root, at) {
  const list = document.createElement('div')
  list.className = 'tab-list'
  list.setAttribute('role', 'tablist')
  list.setAttribute('aria-label', 'Language of the example')
  const tabs = [...root.children].map((panel, i) => {
    const { title } = panel.dataset
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = title
    button.id = `tab-${at}-${i}`
    button.setAttribute('role', 'tab')
    panel.id = `panel-${at}-${i}`
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-labelledby', button.id)
    button.setAttribute('aria-controls', panel.id)
    list.append(button)
    button.addEventListener('click', () => chooseTab(root, title))
    return { title, button, panel }
  })
  list.addEventListener('keydown', (event) => moveByKey(event, root, tabs))
  root.prepend(list)
  return { root, tabs }
}

function moveByKey(event, root, tabs) {
  const at = tabs.findIndex(({ button }) => button === event.target)
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
  if (to === undefined || at < 0) return
  event.preventDefault()
  const { title, button } = tabs.at(to % tabs.length)
  chooseTab(root, title)
  button.focus()
}

/** The other examples change too, those above with another height: the chosen one stays under the pointer. */
function chooseTab(root, title) {
  const before = root.getBoundingClientRect().top
  choose(title)
  showChosen()
  scrollBy({ top: root.getBoundingClientRect().top - before, behavior: 'instant' })
}

function showChosen() {
  for (const { tabs } of groups) {
    const titles = tabs.map(({ title }) => title)
    const shown = choices.find((title) => titles.includes(title)) ?? titles[0]
    for (const { title, button, panel } of tabs) {
      const isShown = title === shown
      panel.hidden = !isShown
      button.setAttribute('aria-selected', String(isShown))
      button.tabIndex = isShown ? 0 : -1
    }
  }
}

showChosen()
