// What a header field may be, by RFC 9110, and which of them are not a caller's to set.

/** Of a name, and of a method. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Without control characters. */
export const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** What frames the message is the client's to say: a second word on it, and two readers see two messages. In lower case. */
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
