// Exit codes by cause, and the messages for failures. docs/cli.md has the same table; a test compares them.
import { helpForPeople } from '@carillon/contract/help-for-people.ts'
import { CarillonError } from '@carillon/sdk'

export const EXIT = {
  ok: 0,
  /** A bug of ours, or of the machine. */
  unexpected: 1,
  usage: 2,
  notFound: 3,
  /** The server refused the content of the request. */
  refused: 4,
  auth: 5,
  conflict: 6,
  unreachable: 7,
  serverError: 8,
  /** The awaited or inspected execution or check ended badly. */
  failed: 9,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends the command with this code and these words. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  /** Further lines: advice. */
  readonly hints: readonly string[]

  constructor(exitCode: ExitCode, message: string, hints: readonly string[] = []) {
    super(message)
    this.exitCode = exitCode
    this.hints = hints
  }
}

/** A failure in a form for programs: `--json` prints it under `error`. */
export interface Failure {
  code: string
  message: string
  help: string | null
  fields: readonly object[]
  exit_code: number
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof Error && error.name === 'AbortError') return EXIT.interrupted
  if (!(error instanceof CarillonError)) return EXIT.unexpected
  const { status, problem } = error
  // Something that is not Carillon answered: that is as good as nobody.
  if (status === null || problem === null) return EXIT.unreachable
  if (status === 401 || status === 403) return EXIT.auth
  if (status === 404) return EXIT.notFound
  if (status === 409 || status === 412 || status === 428) return EXIT.conflict
  return status >= 500 || status === 429 ? EXIT.serverError : EXIT.refused
}

export function describeFailure(error: unknown): Failure {
  const exitCode = exitCodeOf(error)
  const plain = { fields: [], exit_code: exitCode }
  if (error instanceof CliError) {
    return { code: nameOf(exitCode), message: error.message, help: error.hints.join(' ') || null, ...plain }
  }
  if (error instanceof CarillonError) {
    const { code, message, problem, errors } = error
    return { ...plain, code: code ?? nameOf(exitCode), message, help: problem?.help ?? null, fields: errors }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { code: nameOf(exitCode), message, help: null, ...plain }
}

/** Advice in words of the command line, in place of advice on headers and bodies. */
const ownHelp: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: 'Give --key KEY or set CARILLON_API_KEY.',
  SCOPE_MISSING: 'Give a key with that scope. A key with the scope admin can create one.',
  TENANT_MISMATCH: 'Leave out --tenant. Only operators may act for other tenants.',
  OPERATOR_ONLY: 'Give the operator key of the installation, or a key made for operators.',
  JOB_NOT_FOUND: 'carillon jobs list shows all jobs.',
}

/** The message for stderr. */
export function writeFailure(error: unknown): string {
  if (error instanceof CliError) return [`carillon: ${error.message}`, ...error.hints].join('\n')
  if (error instanceof CarillonError) {
    const { message, problem, errors } = error
    // The message is about the first error; with several, each has its own line.
    const heading = errors.length > 1 ? message.replace(problem!.detail, () => `${problem!.title}:`) : message
    const lines = [`carillon: ${heading}`]
    // A misspelt field first: a missing one after it is often its other half.
    const misspelt = ({ code }: { code?: string }) => Number(code === 'UNKNOWN_FIELD')
    const inOrder = errors.toSorted((one, other) => misspelt(other) - misspelt(one))
    for (const { pointer, detail, suggestions = [] } of inOrder) {
      if (!heading.includes(detail)) lines.push(`  ${pointer} ${detail}`)
      const unsaid = suggestions.filter((suggestion) => !detail.includes(suggestion))
      if (unsaid.length > 0) lines.push(`  Try: ${suggestions.join(' | ')}`)
    }
    const omitted = problem?.errors_omitted ?? 0
    if (omitted > 0) lines.push(`  and ${omitted} more`)
    const help = ownHelp[problem?.code ?? ''] ?? helpForPeople(problem?.help ?? '')
    if (problem !== null && help !== '') lines.push(help)
    if (problem === null)
      lines.push(
        'Is it running there? carillon doctor checks the connection; carillon start starts a server here.',
      )
    return lines.join('\n')
  }
  return `carillon: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
}

function nameOf(exitCode: ExitCode): string {
  const name = Object.entries(EXIT).find(([, code]) => code === exitCode)![0]
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}
