// @ts-nocheck Runs in browsers; the repository is type-checked without their library.
// What a page of the docs gains by script: copying, the address of this server in commands, and contents that fold on a phone.

const all = (selector, root = document) => [...root.querySelectorAll(selector)]
const byId = (id) => document.getElementById(id)

// Commands are for the server that the page came from.
const usualAddress = 'http://127.0.0.1:7420'
for (const code of all('.guide pre code')) {
  if (code.textContent.includes(usualAddress))
    code.textContent = code.textContent.replaceAll(usualAddress, location.origin)
}

for (const button of all('.copy')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const code = button.closest('figure').querySelector('code')
    button.textContent = (await copy(code)) ? 'Copied' : 'Select and copy'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  })
}

// Without HTTPS only loopback pages get the clipboard; then the text is at least selected.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent)
    return true
  } catch {
    getSelection().selectAllChildren(code)
    return false
  }
}

const menu = byId('menu')
const contents = byId('contents')
document.body.classList.add('scripted')
menu.hidden = false
const showMenu = (open) => {
  document.body.classList.toggle('menu-open', open)
  menu.setAttribute('aria-expanded', String(open))
}
menu.addEventListener('click', () => showMenu(menu.getAttribute('aria-expanded') !== 'true'))
contents.addEventListener('click', (event) => {
  if (event.target.closest('a')) showMenu(false)
})
