// Which URLs can be called, and how they are split. A URL we cannot use is refused with a reason, never quietly
// changed: a password that is not sent, or a fragment nobody sees, is a surprise found in production.
import type { HttpTarget } from '../../ports/http.ts'

const lengthMax = 2_048

/** Why a callback URL is refused when a job is created, as a sentence; null when it is fine. */
export function checkCallbackUrl(text: string): string | null {
  if (text.length > lengthMax) return `the URL is longer than ${lengthMax} characters`
  // URL also reads `http:example.com`, drops line breaks and takes `\` for `/`; other parsers do not.
  if (!/^https?:\/\/[^\s\\\p{Cc}]*$/iu.test(text)) return 'the URL is not an absolute http or https URL'
  // Read from the text: `http:///path` has an empty host, which URL fills with `path`.
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1] ?? ''
  if (authority.includes('@')) return 'the URL carries a user name or password; send them in a header'
  if (authority === '' || authority.startsWith(':')) return 'the URL has no host'
  if (text.includes('#')) return 'the URL has a fragment (#), which is never sent'
  if (URL.parse(text) === null) return 'the URL is not valid: its host or port cannot be read'
  return null
}

/** The address that a call to the URL connects to; null if it is not http or https or carries credentials. */
export function parseTarget(text: string): HttpTarget | null {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null
  if (url.username !== '' || url.password !== '') return null
  return { origin: url.origin, path: url.pathname + url.search }
}
