// One HTTP exchange. Over fetch here, for any runtime that has fetch; send-node.ts has the leaner one of the worker.

export interface HttpRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body: string | Uint8Array | null
  signal: AbortSignal
}

export interface HttpAnswer {
  status: number
  header(name: string): string | null
  text: string
}

export type Send = (request: HttpRequest) => Promise<HttpAnswer>

export const sendByFetch: Send = async ({ method, url, headers, body, signal }) => {
  const response = await fetch(url, {
    method,
    headers,
    signal,
    ...(body !== null && { body: body as NonNullable<RequestInit['body']> }),
  })
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    text: await response.text(),
  }
}

const neverSent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

/** Whether the server cannot have seen the request: no connection came about. */
export function wasNeverSent(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, errors } = one as NodeJS.ErrnoException & { errors?: unknown[] }
    if (code !== undefined && neverSent.includes(code)) return true
    // A name with several addresses: each was tried.
    if (Array.isArray(errors)) return errors.length > 0 && errors.every(wasNeverSent)
  }
  return false
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  if (cause instanceof Error) return reasonOf(cause)
  return message || (error as NodeJS.ErrnoException).code || error.name
}
