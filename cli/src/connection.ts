// Which server, with which key, for which tenant; and the calls that the SDK has not.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, createClient } from '@carillon/sdk'
import { checkoutDir } from '@carillon/server/config/read.ts'
import { didYouMean } from '@carillon/server/lib/did-you-mean.ts'
import { CliError, EXIT } from './exit-code.ts'
import type { Io } from './io.ts'
import type { Values } from './parse.ts'
import { requireProof } from './server-proof.ts'

export interface Connection {
  url: string
  client: Client
  /** For many calls one after the other: it waits when a limit is reached. */
  patient: Client
  /** Values of `Authorization` and `X-Tenant-ID`, for calls by `fetch`. */
  headers: Readonly<Record<string, string>>
}

export interface Address {
  url: string
  /** Null: none was found. */
  key: string | null
  /** Where the key was found. */
  keyFrom: string
  /** The file of a data directory that the key was found in; null: the user gave it. */
  keyFile: string | null
}

/** A lost answer is asked for again; a server that is not there is told of within a second. */
const retries = 2
const patientRetries = 10
const patientMs = 120_000
const tenantPagesMax = 50
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export async function connect(values: Values, io: Io): Promise<Connection> {
  const { url, key } = await readProvenAddress(values, io)
  if (key === null) {
    throw new CliError(EXIT.auth, 'no API key is known for this server.', [
      'Give --key KEY or set CARILLON_API_KEY; a local server keeps its key in .carillon/api-key, or where CARILLON_DATA says.',
    ])
  }
  const tenant = values.text('tenant')
  const tenantId = tenant === undefined ? undefined : await findTenant(tenant, url, key)
  const options = { url, key, ...(tenantId === undefined ? {} : { tenantId }) }
  return {
    url,
    client: createClient({ ...options, retries }),
    patient: createClient({ ...options, retries: patientRetries, timeoutMs: patientMs }),
    headers: {
      authorization: `Bearer ${key}`,
      ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }),
    },
  }
}

/** For calls with the key: one that the user did not give goes to the server of its data directory alone. */
export async function readProvenAddress(values: Values, io: Pick<Io, 'env'>): Promise<Address> {
  const address = await readAddress(values, io)
  const { url, key, keyFile } = address
  if (key !== null && keyFile !== null) await requireProof(url, key, keyFile)
  return address
}

export async function readAddress(values: Values, { env }: Pick<Io, 'env'>): Promise<Address> {
  const url =
    values.text('url') ?? (env['CARILLON_URL'] || `http://127.0.0.1:${env['CARILLON_PORT'] || '7420'}`)
  if (!URL.canParse(url) || !/^https?:/i.test(url))
    throw new CliError(EXIT.usage, `--url is ${JSON.stringify(url)}: it must be an http or https address.`)
  const given = values.text('key')
  if (given !== undefined) return { url, key: given, keyFrom: '--key', keyFile: null }
  const set = env['CARILLON_API_KEY']
  if (set) return { url, key: set, keyFrom: 'CARILLON_API_KEY', keyFile: null }
  // The key of the server here is not for strangers.
  if (!isLocal(url)) return { url, key: null, keyFrom: 'nowhere', keyFile: null }
  for (const dir of dataDirs(env)) {
    const file = join(dir, 'api-key')
    const text = await readFile(file, 'utf8').catch(() => null)
    if (text !== null) return { url, key: text.trim(), keyFrom: file, keyFile: file }
  }
  return { url, key: null, keyFrom: 'nowhere', keyFile: null }
}

/** Where a server of this machine keeps its data, if it was not told otherwise. */
export function dataDirs(env: Io['env']): string[] {
  const set = env['CARILLON_DATA']
  return set ? [set] : ['.carillon', join(checkoutDir, '.carillon')]
}

export function isLocal(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

async function findTenant(tenant: string, url: string, key: string): Promise<string> {
  if (uuid.test(tenant)) return tenant
  const names: string[] = []
  let cursor: string | null = null
  const client = createClient({ url, key, retries })
  for (let i = 0; i < tenantPagesMax; i++) {
    const { tenants, pagination } = await client.tenants
      .list({ limit: 200, ...(cursor === null ? {} : { cursor }) })
      .page()
    const found = tenants.find(({ name }) => name === tenant)
    if (found !== undefined) return found.tenant_id
    names.push(...tenants.map(({ name }) => name))
    cursor = pagination.next_cursor
    if (cursor === null) break
  }
  throw new CliError(EXIT.notFound, `there is no tenant "${tenant}".${didYouMean(tenant, names)}`)
}

export function isUuid(text: string): boolean {
  return uuid.test(text)
}
