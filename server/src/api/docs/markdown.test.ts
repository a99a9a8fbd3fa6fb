import assert from 'node:assert/strict'
import test from 'node:test'
import { idOfHeading, readPassages, renderMarkdown } from './markdown.ts'

function render(text: string): string {
  return renderMarkdown(text, {
    follow: (link) => (link.startsWith('javascript:') ? null : link),
  }).body.text.trim()
}

test('paragraphs, headings and rules', () => {
  assert.equal(render('One\ntwo\n\nthree'), '<p>One two</p>\n<p>three</p>')
  assert.equal(render('# A title'), '<h1 id="a-title">A title</h1>')
  assert.equal(
    render('## `next` and *more*'),
    '<h2 id="next-and-more"><a href="#next-and-more"><code>next</code> and <em>more</em></a></h2>',
  )
  assert.equal(render('---'), '<hr>')
})

test('a heading that comes twice has two ids, as on GitHub', () => {
  const { headings } = renderMarkdown('## Run it now\n\n## Run it now\n\n### What ran?', {
    follow: () => null,
  })
  assert.deepEqual(
    headings.map(({ level, id }) => [level, id]),
    [
      [2, 'run-it-now'],
      [2, 'run-it-now-1'],
      [3, 'what-ran'],
    ],
  )
  assert.equal(idOfHeading('Every slot, and why'), 'every-slot-and-why')
  assert.equal(idOfHeading('`--demo` for measuring'), '--demo-for-measuring')
})

test('the passages of a page are its headings with their text as plain words, the code last', () => {
  const text =
    'lost\n\n# A *title*\n\nIt `runs`\non [time](x.md).\n\n## Then\n\n```sh\ncurl  x\n```\n\n| a | b |\n|---|---|\n| c | |'
  assert.deepEqual(readPassages(text), [
    { level: 1, text: 'A title', id: 'a-title', words: 'It runs on time.' },
    { level: 2, text: 'Then', id: 'then', words: 'a b c curl x' },
  ])
})

test('words can be strong, soft, code, links and pictures', () => {
  assert.equal(
    render('**Bold** and *soft*, `a | b`'),
    '<p><strong>Bold</strong> and <em>soft</em>, <code>a | b</code></p>',
  )
  assert.equal(
    render('[`POST /jobs`](api.md#create-a-job)'),
    '<p><a href="api.md#create-a-job"><code>POST /jobs</code></a></p>',
  )
  assert.equal(
    render('<https://example.com/a?b=1&c=2>'),
    '<p><a href="https://example.com/a?b=1&amp;c=2" rel="noreferrer">https://example.com/a?b=1&amp;c=2</a></p>',
  )
  assert.equal(render('![Now](now.png)'), '<p><img src="now.png" alt="Now" loading="lazy"></p>')
  assert.equal(
    render('2 * 3 * 4 and * alone, snake_case_name'),
    '<p>2 * 3 * 4 and * alone, snake_case_name</p>',
  )
})

test('lists nest, are numbered, and go on over lines', () => {
  assert.equal(
    render('- one\n  goes on\n- two\n  - inner\n- three'),
    '<ul><li>one goes on</li><li>two<ul><li>inner</li></ul>\n</li><li>three</li></ul>',
  )
  assert.equal(render('1. first\n2. second'), '<ol><li>first</li><li>second</li></ol>')
  assert.equal(render('- a\nlazily\n\nnext'), '<ul><li>a lazily</li></ul>\n<p>next</p>')
})

test('a bar behind a backslash stays in its cell, also in code, and rows are cut to the head', () => {
  assert.equal(
    render('| A | B |\n|---|---|\n| `x \\| y` | a \\| b |\n| 1 | 2 | 3 |'),
    '<div class="table" tabindex="0"><table><thead><tr><th>A</th><th>B</th></tr></thead><tbody>' +
      '<tr><td><code>x | y</code></td><td>a | b</td></tr><tr><td>1</td><td>2</td></tr></tbody></table></div>',
  )
  // A style of its own would be refused by the policy of the page.
  assert.match(render('| A |\n|:-:|\n| a |'), /<th>A<\/th>.*<td>a<\/td>/)
  assert.match(render('| `limit` | |\n|---|---|\n| a | |'), /<tr><td>a<\/td><td><\/td><\/tr>/)
  assert.match(
    render('| `limit` | |\n|---|---|\n| a | |'),
    /<tr><th><code>limit<\/code><\/th><td><\/td><\/tr>/,
  )
})

test('code is shown as it is, also when nobody closes it', () => {
  const code = render('```sh\necho "<b>" && true\n# not a heading\n```\nafter')
  assert.match(
    code,
    /<code class="language-sh">echo &quot;&lt;b&gt;&quot; &amp;&amp; true\n# not a heading<\/code>/,
  )
  assert.match(code, /<p>after<\/p>/)
  assert.match(render('```\nopen'), /<code class="language-text">open<\/code>/)
})

test('neighbouring blocks of code in different languages are variants, each under its name', () => {
  const rendered = render('```sh\ncurl x\n```\n\n```python\nimport x\n```\n\nthen\n\n```sh\ny\n```')
  assert.match(
    rendered,
    /^<div class="tabs"><div data-title="curl">.*<div data-title="Python">.*<\/div>\n<p>then/s,
  )
  assert.equal(rendered.match(/data-title/g)!.length, 2)
  assert.match(
    render('```ts Next.js\na\n```\n```ts Express\nb\n```'),
    /data-title="Next.js".*data-title="Express"/s,
  )
})

test('blocks of one language, and of no programming language, stay apart', () => {
  for (const text of ['```sh\na\n```\n```sh\nb\n```', '```sh\na\n```\n```json\n{}\n```'])
    assert.doesNotMatch(render(text), /data-title/)
})

test('a quote has blocks of its own', () => {
  assert.equal(
    render('> **State:** it fires\n> - one'),
    '<blockquote><p><strong>State:</strong> it fires</p>\n<ul><li>one</li></ul>\n</blockquote>',
  )
})

test('a link that is named after its file gets the title of the page, and any other keeps its words', () => {
  const titleOf = (link: string) => (link.startsWith('retries.md') ? 'Retries & letters' : null)
  const { body } = renderMarkdown(
    '[retries.md](retries.md#a), [how](retries.md), [x.md](x.md), [a.md `b`](retries.md)',
    {
      follow: (link) => link,
      titleOf,
    },
  )
  assert.equal(
    body.text.trim(),
    '<p><a href="retries.md#a">Retries &amp; letters</a>, <a href="retries.md">how</a>, <a href="x.md">x.md</a>, <a href="retries.md">a.md <code>b</code></a></p>',
  )
})

test('nothing in a page becomes markup, and a link leads nowhere that is not allowed', () => {
  const nasty = '<script>alert(1)</script>'
  for (const text of [
    nasty,
    `# ${nasty}`,
    `- ${nasty}`,
    `| ${nasty} |\n|---|\n| ${nasty} |`,
    `> ${nasty}`,
    `\`${nasty}\``,
  ])
    assert.doesNotMatch(render(text), /<script/)
  assert.equal(render('[x](javascript:alert(1))'), '<p>x</p>')
  assert.match(render('[x](https://a"onmouseover="b)'), /href="https:\/\/a&quot;onmouseover=&quot;b"/)
  assert.match(render('![a" onerror="b](x.png)'), /alt="a&quot; onerror=&quot;b"/)
})
