// A sentence of the server, with its instants on the clock that the person chose.
import { formatExact } from '../lib/format.ts'
import { formatInstantInText, splitInstants } from '../lib/instants.ts'
import { useNow } from '../lib/now.ts'
import { timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'

export function Sentence({ text }: { text: string }) {
  return splitInstants(text).map((part, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
    return 'text' in part ? part.text : <InstantInText key={index} at={part.instant} />
  })
}

/** An absolute time with its zone, in the midst of a sentence or on its own. */
export function InstantInText({ at }: { at: string }) {
  const mode = useStore(timeMode)
  const now = useNow()
  return (
    <time dateTime={at} title={`${formatExact(at, 'UTC')}\n${formatExact(at, 'local')} here`}>
      {formatInstantInText(at, mode, now)}
    </time>
  )
}
