// One outgoing HTTP call. The real one is on undici; the virtual one answers from a script.

export interface HttpRequest {
  method: string
  /** Absolute, http or https. */
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array
  /** For the whole call, connection included. 1 to 604,800,000. */
  timeoutMs: number
  /** A longer response ends the call with RESPONSE_TOO_LARGE. */
  responseBytesMax: number
  /** How much of the response is kept. */
  previewBytesMax: number
}

export type HttpErrorType =
  | 'TIMEOUT'
  | 'CONNECTION_REFUSED'
  | 'CONNECTION_RESET'
  | 'DNS_RESOLUTION_FAILED'
  | 'TLS_ERROR'
  | 'RESPONSE_TOO_LARGE'
  | 'INVALID_REQUEST'
  | 'INVALID_RESPONSE'
  | 'CANCELLED'

export type HttpOutcome =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string>>; preview: Uint8Array }
  | { kind: 'failed'; type: HttpErrorType; message: string }

export interface Http {
  /** Never rejects: whatever the target does is an outcome. Redirects are answers, not followed. */
  send(request: HttpRequest, signal?: AbortSignal): Promise<HttpOutcome>
}
