// @ts-nocheck Runs in browsers, and in the test beside it; the repository is type-checked without the library of browsers.
// Which passages of the search index answer a query, the best first, each with a line of its text.

/** Words of a question that say nothing about its subject. */
const idle = new Set(
  'a an and are at be can do does for how i if in is it my of on or the to what when where which why will with'.split(
    ' ',
  ),
)
const resultsMax = 12
/** So that one long page does not fill the list. */
const resultsOfPageMax = 4
const wordsMax = 10
const before = 50
const after = 130

/**
 * `all` is false when no passage has all words, and the results have at least one of them.
 * A result: `{ page, heading, address, line }`; `line` is a list of `[text, isHit]`.
 */
export function search(index, query) {
  const words = wordsOf(query)
  if (words.length === 0) return { all: true, results: [] }
  const phrase = query.toLowerCase().trim().replace(/\s+/g, ' ')
  const scored = lowered(index).map((passage) => ({ passage, ...scoreOf(passage, words, phrase) }))
  const complete = scored.filter(({ found }) => found === words.length)
  const all = complete.length > 0
  const some = all ? complete : scored.filter(({ found }) => found > 0)
  const ranked = some.toSorted((one, other) => other.found - one.found || other.score - one.score)
  const perPage = new Map()
  const results = []
  for (const { passage } of ranked) {
    const count = perPage.get(passage.page) ?? 0
    if (count === resultsOfPageMax) continue
    perPage.set(passage.page, count + 1)
    results.push(resultOf(index, passage, words, phrase))
    if (results.length === resultsMax) break
  }
  return { all, results }
}

/** Each with its stem, so that `retries` finds `retry`, and `pausing` finds `pause`. */
function wordsOf(query) {
  const all = query
    .toLowerCase()
    .split(/[\s,;?!"“”()]+/)
    .map((word) => word.replace(/^[.:]+|[.:]+$/g, ''))
    .filter((word) => word !== '')
  const telling = all.filter((word) => !idle.has(word))
  return [...new Set(telling.length > 0 ? telling : all)]
    .slice(0, wordsMax)
    .map((word) => ({ word, stem: stemOf(word) }))
}

function stemOf(word) {
  if (!/^[a-z]+$/.test(word)) return word
  const stem = word.replace(/(ies|ing|ed|es|e|s|y)$/, '')
  return stem.length >= (word === `${stem}s` ? 3 : 4) ? stem : word
}

const loweredIndexes = new WeakMap()
function lowered(index) {
  if (!loweredIndexes.has(index))
    loweredIndexes.set(
      index,
      index.passages.map(([page, id, heading, text]) => ({
        page,
        id,
        heading,
        text,
        weight: index.pages[page][2],
        title: index.pages[page][0].toLowerCase(),
        lowHeading: heading.toLowerCase(),
        lowText: text.toLowerCase(),
      })),
    )
  return loweredIndexes.get(index)
}

function scoreOf(passage, words, phrase) {
  const { title, lowHeading, lowText, weight } = passage
  let score = 0
  let found = 0
  for (const { word, stem } of words) {
    const gained =
      placeOf(lowHeading, word, stem) * 6 + placeOf(title, word, stem) * 2 + placeOf(lowText, word, stem)
    if (gained > 0) found += 1
    score += gained
  }
  // `Idempotency-Key` asks for the heading `Idempotency keys`.
  const spaced = phrase.replace(/[-_]/g, ' ')
  if (lowHeading === phrase || lowHeading === spaced || lowHeading === `${spaced}s`) score += 30
  else if (words.length > 1 && lowHeading.includes(phrase)) score += 12
  else if (words.length > 1 && lowText.includes(phrase)) score += 6
  return { score: score * weight, found }
}

/** 3: the word itself; 2: a word that begins so; 1: a part of a word; 0: nothing. */
function placeOf(text, word, stem) {
  const at = text.indexOf(stem)
  if (at < 0) return 0
  let best = 1
  for (
    let from = at, looked = 0;
    from >= 0 && looked < 50;
    from = text.indexOf(stem, from + 1), looked += 1
  ) {
    const isStart = from === 0 || !isLetter(text[from - 1])
    if (!isStart) continue
    if (text.startsWith(word, from) && !isLetter(text[from + word.length])) return 3
    best = 2
  }
  return best
}

function isLetter(character) {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character)
}

function resultOf(index, { page, id, heading, text, lowText }, words, phrase) {
  const [title, path] = index.pages[page]
  const stems = words.map(({ stem }) => stem)
  const wanted = [phrase, ...words.map(({ word }) => word), ...stems]
  const first = wanted.map((one) => lowText.indexOf(one)).find((at) => at >= 0) ?? 0
  return {
    page: title,
    heading,
    address: id === '' ? path : `${path}#${id}`,
    line: markHits(lineAround(text, first), stems),
  }
}

function lineAround(text, at) {
  let start = Math.max(0, at - before)
  let end = Math.min(text.length, at + after)
  if (start > 0) start = text.indexOf(' ', start) + 1 || start
  if (end < text.length) end = Math.max(text.lastIndexOf(' ', end), at + 1)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

function markHits(line, stems) {
  // The rest of a word is marked with its stem.
  const pattern = (stem) =>
    `${stem.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}${/^[a-z]+$/.test(stem) ? '[a-z]*' : ''}`
  const hit = new RegExp(`(${stems.map(pattern).join('|')})`, 'i')
  return line
    .split(hit)
    .map((piece, at) => [piece, at % 2 === 1])
    .filter(([piece]) => piece !== '')
}
