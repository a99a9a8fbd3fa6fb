// Every action of the page is a request that a program can send too: this writes it down as curl.

export interface ApiRequest {
  method: string
  /** Below /api/v1. */
  path: string
  body?: unknown
  /** The version that the change is based on. */
  ifMatch?: number
  /** The same by the command line, without the word `carillon`; left out: it has none. */
  cli?: string
}

/** `tenantId` is the tenant that an operator acts for; null: that of the key. */
export function curlOf(
  { method, path, body, ifMatch }: ApiRequest,
  origin: string,
  tenantId: string | null = null,
): string {
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${quote(`${origin}/api/v1${path}`)}`,
    `-H "Authorization: Bearer $CARILLON_API_KEY"`,
  ]
  if (tenantId !== null) lines.push(`-H ${quote(`X-Tenant-ID: ${tenantId}`)}`)
  if (ifMatch !== undefined) lines.push(`-H 'If-Match: "${ifMatch}"'`)
  if (body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`)
  return lines.join(' \\\n  ')
}

/** One word for a POSIX shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
