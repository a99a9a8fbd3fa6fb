// The forms of texts in requests, each with its words: an error says the words instead of a pattern or of lengths, which
// say little to people. Plain data without a schema library, so that the dashboard loads it too.

/** Completes the sentence "must be …", with an example after "such as". Required beside `pattern` and `format`. */
export const expected = (words: string) => ({ 'x-expected': words })

/** Identifiers that the caller chooses. */
export const namePattern = '^[a-z0-9._-]{1,128}$'

/** `noun` with its article. */
export const nameForm = (noun: string, example: string) => ({
  pattern: namePattern,
  ...expected(
    `${noun} of 1 to 128 lowercase letters, digits, dots, underscores and hyphens, such as ${example}`,
  ),
})

export const checksumForm = {
  pattern: '^[0-9a-fA-F]{64}$',
  ...expected(
    'a SHA-256 of 64 hexadecimal digits, such as e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  ),
}
