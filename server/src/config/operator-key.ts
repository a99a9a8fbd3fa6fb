// The bootstrap operator key: the configured one, or one made at the first start and kept in the data directory.
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { apiKeyBytes, formatApiKey, isWholeApiKey } from '../domain/access/api-key.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { OperatingError } from '../lib/operating-error.ts'
import type { Random } from '../ports/random.ts'
import type { Config } from './read.ts'

export interface OperatorKey {
  key: string
  /** Null: it came from CARILLON_API_KEY. */
  file: string | null
}

export async function loadOperatorKey(
  config: Pick<Config, 'apiKey' | 'dataDir'>,
  random: Random,
): Promise<OperatorKey> {
  if (config.apiKey !== null) return { key: config.apiKey, file: null }
  const file = join(config.dataDir, 'api-key')
  const key = (await read(file)) ?? (await make(file, config.dataDir, random))
  if (!isWholeApiKey(key)) {
    throw new OperatingError(
      `${file} is damaged: it holds no whole key. Restore it, or remove it to get a new key.`,
    )
  }
  return { key, file }
}

async function read(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new OperatingError(`The API key cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

// Written aside and linked into place: never half a key, and of two first starts one wins for both.
async function make(file: string, dataDir: string, random: Random): Promise<string> {
  await makeDirectory(dataDir, 0o700)
  const draft = `${file}.draft-${random.bytes(8).toHex()}`
  await writeFile(draft, `${formatApiKey(random.bytes(apiKeyBytes))}\n`, { mode: 0o600, flush: true })
  try {
    await link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return (await read(file))!
}
