// A text as it is, with a button that copies it. It is always text: nothing in it is ever taken for markup.
import { CopyButton } from './button.tsx'

/** The rest is shown only by its size; the copy is whole. */
const charsMax = 32_768

/** `label`: a description for people unable to see the block. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  const isCut = code.length > charsMax
  return (
    <div className="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} role="group" aria-label={label}>
        {isCut ? `${code.slice(0, charsMax)}\n… ${code.length - charsMax} characters more` : code}
      </pre>
      <CopyButton text={code} />
    </div>
  )
}

export function JsonBlock({ value, label }: { value: unknown; label: string }) {
  return <CodeBlock code={JSON.stringify(value, null, 2) ?? ''} label={label} />
}
