// The frame of a screen, its cards, and its messages for no data, loading and errors.
import { helpForPeople } from '@carillon/contract/help-for-people.ts'
import { type ReactNode, useEffect } from 'react'
import { ApiProblem } from '../api/client.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code-block.tsx'
import { Icon } from './icon.tsx'
import { Sentence } from './sentence.tsx'

interface PageProps {
  title: string
  /** Shown instead of the title, which then names only the tab of the browser. */
  heading?: ReactNode
  /** Below the heading. */
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

export function Page({ title, heading, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Carillon`
  }, [title])
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{heading ?? title}</h1>
          {lead !== undefined && <p className="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

interface CardProps {
  title: string
  aside?: ReactNode
  children: ReactNode
  className?: string
  /** Where a link leads to. */
  id?: string
}

export function Card({ title, aside, children, className = '', id }: CardProps) {
  return (
    <section className={`card ${className}`} aria-label={title} id={id}>
      <header className="card-head">
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  )
}

interface FactsProps {
  /** A value that is missing or empty is left out with its name. */
  facts: Readonly<Record<string, ReactNode>>
  /** Further ones, with names that people chose. */
  more?: Readonly<Record<string, string>>
}

/** Names and values, one under the other. */
export function Facts({ facts, more = {} }: FactsProps) {
  const all = [...Object.entries(facts), ...Object.entries(more)]
  const known = all.filter(([, value]) => value !== undefined && value !== null && value !== '')
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface PlainTableProps {
  heads: readonly string[]
  /** The name of a last column of buttons. */
  buttons?: string
  /** Rows. */
  children: ReactNode
}

/** A short table, all of it in the page. */
export function PlainTable({ heads, buttons, children }: PlainTableProps) {
  return (
    <table className="plain-table">
      <thead>
        <tr>
          {heads.map((head) => (
            <th scope="col" key={head}>
              {head}
            </th>
          ))}
          {buttons !== undefined && (
            <th scope="col">
              <span className="unseen">{buttons}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

/** Says that there is nothing, and how to make something. */
export function Empty({ title, children, code }: { title: string; children?: ReactNode; code?: string }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
      {code !== undefined && <CodeBlock code={code} label={`How to: ${title}`} />}
    </div>
  )
}

interface Found {
  error: unknown
  isPending: boolean
  refetch?(): unknown
}

/** In place of data that is not there: its error, or that it is loading. */
export function Waiting({ found, canRetry = false }: { found: Found; canRetry?: boolean }) {
  const { error, isPending, refetch } = found
  if (error === null) return isPending && <Loading />
  return canRetry ? <ErrorBox error={error} onRetry={() => void refetch?.()} /> : <ErrorBox error={error} />
}

export function Loading({ label = 'Loading' }: { label?: string }) {
  return (
    <p className="loading" role="status">
      {label} …
    </p>
  )
}

export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof ApiProblem ? error : null
  const help = helpForPeople(problem?.help ?? '')
  return (
    <div className="error-box" role="alert">
      <p>
        <Icon name="warn" />{' '}
        <strong>
          <Sentence text={withoutMarks(error instanceof Error ? error.message : String(error))} />
        </strong>
      </p>
      {problem !== null && problem.fields.length > 0 && (
        <ul>
          {problem.fields.map((field) => (
            <li key={`${field.pointer} ${field.detail}`}>
              <code>{field.pointer}</code> <Sentence text={field.detail} />
            </li>
          ))}
        </ul>
      )}
      {help !== '' && <p>{help}</p>}
      {problem !== null && problem.code !== 'UNKNOWN' && <p className="dim">{problem.code}</p>}
      {onRetry !== undefined && (
        <Button icon="retry" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Code stands between backticks in texts of the API, which are no signs for people. */
function withoutMarks(text: string): string {
  return text.replaceAll('`', '')
}
