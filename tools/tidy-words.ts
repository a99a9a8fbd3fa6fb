// The word rules of tidy. A comment, a text that a user reads, or a test's name in a failure report, is read without the
// code around it: its subject must have a name. A question may ask for one.
import { type SourceFile, withoutComments } from './source-file.ts'

/** Words that stand for a subject without naming it. */
const vagueWords = /\b(?:what|whatever|who|whoever|those)\b|\bof one(?=\s*(?:[.,:;)]|$))/i
/** In documents a person may have a relative clause, and "whatever" may mean "no matter which". */
const vagueInDocs =
  /\b(?:what|whoever|those)\b|(?<!\b(?:people|person,|everyone|anyone|users?) )\bwho\b|\bof one(?=\s*(?:[.,:;)]|$))/i
/** Earlier migrations have been applied, and stay as they are. */
const lastUncheckedMigration = 29

export function wordsOfSource(file: SourceFile): string[] {
  return complain(file.path, [...commentsAndNames(file), ...textsForUsers(file)], vagueWords)
}

export function wordsOfDocument(path: string, text: string): string[] {
  return complain(path, text.replace(/```[\s\S]*?```/g, '').split('\n'), vagueInDocs)
}

export function wordsOfMigration(path: string, text: string): string[] {
  const number = Number(/(\d+)-[^/]*\.sql$/.exec(path)?.[1] ?? 0)
  if (number <= lastUncheckedMigration) return []
  const comments = [...text.matchAll(/--.*$/gm)].map(([line]) => line)
  return complain(path, comments, vagueWords)
}

function commentsAndNames({ text }: SourceFile): string[] {
  const comments = [...text.matchAll(/^\s*(?:\/\/|\*|\/\*|--).*$|\s\/\/ .*$/gm)].map(([line]) => line)
  const names = [...text.matchAll(/\b(?:test|it)\(\s*([`'"])((?:(?!\1).)*)\1/g)].map((match) => match[2]!)
  return [...comments, ...names]
}

/** Texts of three words or more in a shipped file: errors, help, logs, descriptions of the API, the dashboard's. */
function textsForUsers({ path, text, isTest }: SourceFile): string[] {
  if (isTest || !/^(contract|cli|sdk|server|dashboard)\/src\//.test(path) || path.endsWith('.sql.ts'))
    return []
  const code = withoutComments(text)
  const quoted = [...code.matchAll(/(['`])((?:\\.|(?!\1)[^\\\n])*)\1/g)].map((match) => match[2]!)
  const shown = path.endsWith('.tsx') ? textsOfElements(code) : []
  return [...quoted, ...shown].filter((words) => words.split(' ').length > 2)
}

/** Attributes of elements, and the text between tags and expressions. Code has a sign that such text never has. */
function textsOfElements(code: string): string[] {
  const attributes = [...code.matchAll(/[\w-]="([^"]*)"/g)].map((match) => match[1]!)
  const texts = [...code.matchAll(/(?<=[>}])[^<>{}]+(?=[<{])/g)].map(([text]) => text.replace(/\s+/g, ' '))
  return [
    ...attributes,
    ...texts.filter((text) => !/[=;[\]]|\b(?:const|return|case|if) |\w\(|\)\s*$/.test(text)),
  ]
}

function complain(path: string, texts: readonly string[], vague: RegExp): string[] {
  return texts
    .map((words) => words.replace(/`[^`]*`|"[^"]*"|\$\{[^}]*\}|[^.:;|]*\?/g, ''))
    .filter((words) => vague.test(words))
    .map((words) => `${path}: name the subject instead of ${vague.exec(words)![0]}: ${words.trim()}`)
}
