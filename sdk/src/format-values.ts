// Values that user code logs or throws, as text: one form for handlers of the SDK, `--handlers` and bundles.
import { inspect } from 'node:util'

/** The arguments of a call of `log`, as one line: strings as they are, all other values as Node shows them. */
export function formatValues(values: readonly unknown[]): string {
  return values.map(formatValue).join(' ')
}

export function formatValue(value: unknown): string {
  return typeof value === 'string'
    ? value
    : inspect(value, { depth: 4, breakLength: Number.POSITIVE_INFINITY })
}
