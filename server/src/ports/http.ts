// One outgoing HTTP call. The real one is on sockets of our own; the virtual one answers from a script.
import type { StopSignal } from '../lib/stop.ts'

export interface HttpRequest {
  /** Calls of two tenants never share a connection. */
  tenantId: string
  method: string
  /** Absolute, http or https, without user name and password. */
  url: string
  /** The parsed `url`, from a caller that sends to it often; the call is then made to this. */
  target?: HttpTarget
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array
  /** For the whole call, connection included. 1 to 604,800,000. */
  timeoutMs: number
  /** A longer response ends the call with RESPONSE_TOO_LARGE. */
  responseBytesMax: number
  /** How much of the response is kept. */
  previewBytesMax: number
  /** Called once, when the request is handed to a connection: from then on the target may have seen it. */
  onStarted?: () => void
  /** Called once before the outcome, if the call was tried: the bytes sent and received, with heads and framing. */
  onTraffic?: (bytesSent: number, bytesReceived: number) => void
}

export interface HttpTarget {
  /** As `URL` spells it: `https://example.com:8443`. */
  readonly origin: string
  /** With the query; starts with a slash. */
  readonly path: string
}

export type HttpErrorType =
  | 'TIMEOUT'
  | 'CONNECTION_REFUSED'
  | 'CONNECTION_RESET'
  | 'DNS_RESOLUTION_FAILED'
  | 'TLS_ERROR'
  | 'RESPONSE_TOO_LARGE'
  | 'TARGET_FORBIDDEN'
  | 'INVALID_REQUEST'
  | 'INVALID_RESPONSE'
  | 'CANCELLED'

/** Only the headers content-type, retry-after and x-carillon-async of a response are kept. */
export type HttpOutcome =
  | { kind: 'answered'; status: number; headers: Readonly<Record<string, string>>; preview: Uint8Array }
  | { kind: 'failed'; type: HttpErrorType; message: string }

export interface Http {
  /** Never rejects: any behaviour of the target is an outcome. Redirects are answers, not followed. */
  send(request: HttpRequest, signal?: StopSignal): Promise<HttpOutcome>
}
