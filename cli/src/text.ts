// Text for a terminal: how wide it is, cut to a width, and free of sequences that would move the cursor. Names and
// messages come from others: an escape sequence in one must not reach the terminal of a person viewing it.

const segmenter = new Intl.Segmenter()
/** Hangul, CJK, fullwidth forms; emoji are found by their property. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^[\u{20000}-\u{3fffd}]/u
const zeroWidth = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]/u
const ascii = /^[\x20-\x7e]*$/

/** In columns. */
export function widthOf(text: string): number {
  if (ascii.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) {
    if (!zeroWidth.test(segment)) width += wide.test(segment) ? 2 : 1
  }
  return width
}

/** At most so many columns, with an ellipsis for the omitted part. */
export function cut(text: string, widthMax: number): string {
  if (widthOf(text) <= widthMax) return text
  let kept = ''
  let width = 0
  for (const { segment } of segmenter.segment(text)) {
    width += widthOf(segment)
    if (width > widthMax - 1) break
    kept += segment
  }
  return widthMax < 1 ? '' : `${kept}…`
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + spaces : spaces + text
}

const control = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu
const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** On one line, with invisible characters written out. */
export function clean(text: string): string {
  return text.replace(control, (sign) => {
    // A joiner makes one emoji of several.
    if (sign === '\u200d') return sign
    const code = sign.codePointAt(0)!
    return named[sign] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`)
  })
}

/** The same for text of several lines, which stays that. */
export function cleanLines(text: string): string {
  return text.split(/\r?\n/).map(clean).join('\n')
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}
