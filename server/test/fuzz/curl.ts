// A request as a command that repeats it.
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FuzzRequest } from './requests.ts'

/** Longer bodies go to a file beside it. */
const inlineBytesMax = 4_000

export function toCurl(origin: string, { method, path, headers, body }: FuzzRequest): string {
  const parts = ['curl -sS -i --path-as-is', `-X ${method}`]
  for (const [name, values] of Object.entries(headers)) {
    // curl leaves out `name:`; with a semicolon it sends the header empty.
    for (const value of [values].flat())
      parts.push(`-H ${quote(value === '' ? `${name};` : `${name}: ${value}`)}`)
  }
  if (body !== null) {
    if (!('content-type' in headers)) parts.push(`-H 'content-type:'`)
    parts.push(`--data-binary ${bodyArgument(body)}`)
  }
  return `${parts.join(' ')} ${quote(origin + path)}`
}

function bodyArgument(body: Buffer): string {
  // An argument of a command cannot hold a NUL.
  if (body.length <= inlineBytesMax && !body.includes(0)) return quote(body.toString('latin1'))
  const file = join(tmpdir(), `carillon-fuzz-${process.pid}-${body.length}.body`)
  writeFileSync(file, body)
  return `@${file}`
}

/** The text holds a byte in each character. */
function quote(bytes: string): string {
  if (/^[\x20-\x7e]*$/.test(bytes) && !bytes.includes("'")) return `'${bytes}'`
  const escaped = bytes
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replace(/[^\x20-\x7e]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return `$'${escaped}'`
}
