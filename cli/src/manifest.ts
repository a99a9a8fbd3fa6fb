// Files that say which jobs there shall be: YAML or JSON, one file or all of a folder.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError, EXIT } from './exit-code.ts'
import { type Io, readStdin } from './io.ts'
import type { Document } from './job-document.ts'
import { readText } from './payload.ts'

export interface Placed {
  job: Document
  /** File and position, for messages about the job. */
  where: string
}

export interface Manifest {
  jobs: Placed[]
  /** By name. */
  calendars: Map<string, Document>
}

const filesMax = 1_000
const jobsMax = 10_000

export async function readDocuments(path: string, io: Pick<Io, 'stdin'>): Promise<Manifest> {
  const manifest: Manifest = { jobs: [], calendars: new Map() }
  if (path === '-') await addText(await readStdin(io), 'standard input', manifest)
  else for (const file of await filesOf(path)) await addText(await readText(file), file, manifest)
  if (manifest.jobs.length > jobsMax)
    throw new CliError(EXIT.usage, `${manifest.jobs.length} jobs are more than ${jobsMax} at once.`)
  return manifest
}

async function filesOf(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => null)
  if (found === null) throw new CliError(EXIT.usage, `there is no file or folder ${path}.`)
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name))
  if (names.length === 0)
    throw new CliError(EXIT.usage, `${path} has no file that ends in .yaml, .yml or .json.`)
  if (names.length > filesMax) throw new CliError(EXIT.usage, `${path} has more than ${filesMax} files.`)
  return names.toSorted().map((name) => join(path, name))
}

async function addText(text: string, file: string, manifest: Manifest): Promise<void> {
  const { parseAllDocuments } = await import('yaml')
  // JSON is YAML, too.
  const documents = parseAllDocuments(text)
  if (!Array.isArray(documents)) return
  documents.forEach((document, i) => {
    const [error] = document.errors
    if (error !== undefined) throw new CliError(EXIT.usage, `${file}: ${error.message.trim()}`)
    const where = documents.length > 1 ? `${file}, document ${i + 1}` : file
    add(document.toJS({ maxAliasCount: 100 }), where, manifest)
  })
}

function add(value: unknown, where: string, manifest: Manifest): void {
  if (value === null || value === undefined) return
  if (Array.isArray(value)) {
    for (const [i, job] of value.entries())
      manifest.jobs.push({ job: toObject(job, where), where: `${where}, job ${i + 1}` })
    return
  }
  const { jobs, calendars, ...rest } = toObject(value, where)
  if (jobs === undefined && calendars === undefined) {
    if (rest['execution'] === undefined && rest['name'] === undefined)
      throw new CliError(EXIT.usage, `${where}: it has no "jobs" and is not a job itself.`)
    manifest.jobs.push({ job: rest, where })
    return
  }
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined)
    throw new CliError(EXIT.usage, `${where}: "${unknown}" is unknown; only jobs and calendars are allowed.`)
  if (jobs !== undefined && !Array.isArray(jobs))
    throw new CliError(EXIT.usage, `${where}: "jobs" must be a list of jobs, each with its key.`)
  add(jobs ?? [], where, manifest)
  for (const [name, calendar] of Object.entries(toObject(calendars ?? {}, where)))
    manifest.calendars.set(name, toObject(calendar, where))
}

function toObject(value: unknown, where: string): Document {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Document
  throw new CliError(EXIT.usage, `${where}: must be an object, not ${JSON.stringify(value)?.slice(0, 80)}.`)
}
