// Valid header fields by RFC 9110, and the fields that a caller may not set.

/** Characters of a header name and of a method. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Without control characters. */
export const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Only the client frames the message: with a second framing header, two readers would see two messages. In lower case.
 */
export const fieldsOfConnection: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
])
