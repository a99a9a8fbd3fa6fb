// Output of a measurement: tables for people, and with --json one line per figure on stdout, where nothing else is
// written then.
import { Console } from 'node:console'

export interface Figure {
  bench: string
  metric: string
  value: number
  unit: string
  /** Ours over theirs, measured in the same run. */
  ratio?: number
  against?: string
}

const json = process.argv.includes('--json')
const people = json ? new Console(process.stderr) : console

export function figure({ ratio, value, ...one }: Figure): void {
  if (!json) return
  const exact = { ...one, value: round(value), ...(ratio !== undefined && { ratio: round(ratio) }) }
  console.log(JSON.stringify(exact))
}

export function say(text: string): void {
  people.log(text)
}

export function table(rows: readonly object[]): void {
  people.table(rows)
}

/** Three figures are more than this machine can tell twice. */
function round(value: number): number {
  return Number(value.toPrecision(4))
}
