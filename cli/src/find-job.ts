// A job by its id, its key or its exact name.
import type { Job } from '@carillon/contract/job.ts'
import type { Client } from '@carillon/sdk'
import { didYouMean } from '@carillon/server/lib/did-you-mean.ts'
import { isUuid } from './connection.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'

/** Beyond this many jobs a misspelt name gets no suggestion. */
const suggestedFromMax = 1_000
const searchedMax = 20_000
const queryMax = 255

/** Found by its key or name it lacks its payload. */
export async function findJob(client: Client, word: string): Promise<Job> {
  if (isUuid(word)) return client.jobs.get(word)
  const named: Job[] = []
  let looked = 0
  for await (const job of client.jobs.list({ q: word.slice(0, queryMax), limit: 200 })) {
    if (job.key === word) return job
    if (job.name === word) named.push(job)
    if (++looked >= searchedMax) break
  }
  if (named.length === 1) return named[0]!
  if (named.length === 0) throw await notFound(client, word)
  throw new CliError(EXIT.conflict, `${named.length} jobs are named "${word}": name one by id or key.`, [
    ...named.slice(0, 10).map(({ job_id, key, status }) => `  ${job_id}  ${key ?? '(no key)'}  ${status}`),
  ])
}

/** With its payload, which a list leaves out. */
export async function findWholeJob(client: Client, word: string): Promise<Job> {
  const found = await findJob(client, word)
  return isUuid(word) ? found : client.jobs.get(found.job_id)
}

/** The job of `--job`, as a condition of a list. */
export async function jobOf({ values, connect }: Context): Promise<{ job_id?: string }> {
  const word = values.text('job')
  return word === undefined ? {} : { job_id: (await findJob((await connect()).client, word)).job_id }
}

/** Each once, however often it is named. */
export async function findJobs(client: Client, words: readonly string[]): Promise<Job[]> {
  const found = new Map<string, Job>()
  for (const word of words) {
    const job = await findJob(client, word)
    found.set(job.job_id, job)
  }
  return [...found.values()]
}

async function notFound(client: Client, word: string): Promise<CliError> {
  const names = await jobWords(client, suggestedFromMax)
  return new CliError(EXIT.notFound, `there is no job "${word}".${didYouMean(word, names)}`, [
    'A job is named by its id, its key or its exact name; carillon jobs list shows them.',
  ])
}

/** Keys, and the names of jobs without one. */
export async function jobWords(client: Client, countMax: number, signal?: AbortSignal): Promise<string[]> {
  const words: string[] = []
  let looked = 0
  for await (const { key, name } of client.jobs.list(
    { limit: 200 },
    signal === undefined ? {} : { signal },
  )) {
    words.push(...(key === null ? [name] : [key, name]))
    if (++looked >= countMax) break
  }
  return words
}

/** The name of a job in messages to people: its key if it has one. */
export function wordOf({ key, name }: Pick<Job, 'key' | 'name'>): string {
  return key ?? name
}
