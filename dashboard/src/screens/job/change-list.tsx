// The differences, field by field: the old value is crossed out, the new one stands below.
import type { Change } from './diff.ts'
import './change-list.css'

const textMax = 2_000

export function ChangeList({ changes, label }: { changes: readonly Change[]; label: string }) {
  if (changes.length === 0) return <p className="dim">Nothing is different.</p>
  return (
    <ul className="changes" aria-label={label}>
      {changes.map(({ path, before, after }) => (
        <li key={path}>
          <code className="change-path">{path === '' ? 'all of it' : path}</code>
          {before !== undefined && <del>{textOf(before)}</del>}
          {after !== undefined && <ins>{textOf(after)}</ins>}
        </li>
      ))}
    </ul>
  )
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? '')
  if (text === '') return '""'
  return text.length > textMax ? `${text.slice(0, textMax)} …` : text
}
