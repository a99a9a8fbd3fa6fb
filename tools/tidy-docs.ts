// The rules of tidy for documents: links lead somewhere, and the index of the decision records is the list of their files.
import { dirname, join, normalize } from 'node:path'

/** Links of a document that lead to no file. */
export function deadLinks(path: string, text: string, exists: (path: string) => boolean): string[] {
  return [...text.replace(/```[\s\S]*?```/g, '').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/.test(link) && !exists(normalize(join(dirname(path), link))))
    .map((link) => `${path}: links to ${link}, which is not there`)
}

interface DecisionRecord {
  /** In docs/decisions. */
  name: string
  text: string
}

/** Each record once, in the order of numbers, under the title that it has itself. */
export function checkDecisionIndex(index: string, records: readonly DecisionRecord[]): string[] {
  const path = 'docs/decisions/README.md'
  const listed = [...index.matchAll(/^\| (\d+) \| \[(.*?)\]\(([^)]+)\)/gm)].map(
    ([, number, title, name]) => `${name}: # ${number}. ${title}`,
  )
  const written = records
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, text }) => `${name}: ${text.split('\n', 1)[0]}`)
  const misnumbered = records
    .filter(({ name, text }) => Number(name.slice(0, 4)) !== Number(/^# (\d+)\. /.exec(text)?.[1]))
    .map(({ name }) => `docs/decisions/${name}: its title begins with another number than its name`)
  const missing = written.filter((one) => !listed.includes(one)).map((one) => `${path}: does not list ${one}`)
  const wrong = listed.filter((one) => !written.includes(one)).map((one) => `${path}: no record is ${one}`)
  const repeated = listed.filter((one, i) => listed.indexOf(one) !== i).map((one) => `${path}: twice ${one}`)
  const isOrdered = [...missing, ...wrong, ...repeated].length > 0 || `${listed}` === `${written}`
  return [
    ...misnumbered,
    ...missing,
    ...wrong,
    ...repeated,
    ...(isOrdered ? [] : [`${path}: list the records in the order of their numbers`]),
  ]
}
