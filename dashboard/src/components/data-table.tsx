// A table of any length: only the visible rows are in the page, and the next page is requested when its end comes near.
// j and k (or the arrows) move from row to row; Enter or a click anywhere in a row opens its link.
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { useKey } from '../lib/keys.ts'
import { useIsPhone, useIsTouched } from '../lib/media.ts'
import { Button } from './button.tsx'
import { ErrorBox, Loading } from './page.tsx'

export interface Column<Row> {
  /** A text; empty for a column of buttons, which then needs `name`. */
  header: string
  name?: string
  /** A track of CSS grid: `8rem`, `minmax(10rem, 2fr)`. */
  width: string
  /** The first column should hold a link with `data-row-link`. */
  cell(row: Row): ReactNode
  align?: 'end'
  /** Left out at phone width. */
  wideOnly?: boolean
}

/** A column that a phone leaves out. */
export function wideColumn<Row>(
  header: string,
  width: string,
  cell: (row: Row) => ReactNode,
  align?: 'end',
): Column<Row> {
  return { header, width, cell, wideOnly: true, ...(align !== undefined && { align }) }
}

interface ListState {
  isLoading: boolean
  error: unknown
  hasMore: boolean
  isFetchingMore: boolean
  fetchMore(): void
}

interface DataTableProps<Row> {
  label: string
  rows: readonly Row[]
  /** `false` is left out. */
  columns: readonly (Column<Row> | false)[]
  rowKey(row: Row): string
  /** The answer that the rows are from, as `useList` gives it; left out: all rows are here. */
  list?: Partial<ListState>
  /** Shown when there are no rows. */
  empty: ReactNode
  isMarked?(row: Row): boolean
}

const rowPx = 33
/** On a phone, and for fingers. */
const highRowPx = 49
/** The parts that cover the first and the last rows: the sticky head, the bar of a phone. */
const headPx = 40
const barPx = 70
/** Pages that brought nothing new and were followed by another without being asked. */
const emptyPagesMax = 4

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, columns, rowKey, list = {}, empty, isMarked } = props
  const { isLoading = false, error = null, hasMore = false, isFetchingMore = false, fetchMore } = list
  const isPhone = useIsPhone()
  const isHigh = useIsTouched() || isPhone
  const body = useRef<HTMLDivElement>(null)
  const margin = useOffsetTop(body)
  const shown = columns.filter(
    (column) => column !== false && !(isPhone && column.wideOnly === true),
  ) as Column<Row>[]
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (isHigh ? highRowPx : rowPx),
    overscan: 12,
    scrollMargin: margin,
    scrollPaddingStart: headPx,
    scrollPaddingEnd: barPx,
    getItemKey: (index) => rowKey(rows[index]!),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height of all rows
  useEffect(() => virtual.measure(), [isHigh, virtual])
  const items = virtual.getVirtualItems()
  useMoreAtTheEnd(list, rows.length, (items.at(-1)?.index ?? 0) >= rows.length - 20)

  const move = (step: number) => {
    const current = document.activeElement?.closest<HTMLElement>('[data-index]')
    const inside = current !== null && current !== undefined && body.current?.contains(current) === true
    const next = inside ? Number(current.dataset['index']) + step : (items[0]?.index ?? 0)
    if (next < 0 || next >= rows.length) return
    virtual.scrollToIndex(next, { align: 'auto' })
    requestAnimationFrame(() => {
      const row = body.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)
      const target = row?.querySelector<HTMLElement>('[data-row-link], a, button')
      target?.focus({ preventScroll: true })
    })
  }
  useKey('j', 'Next row', () => move(1))
  useKey('k', 'Previous row', () => move(-1))
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined || (event.target as HTMLElement).closest('input, [role=menu]') !== null) return
    event.preventDefault()
    move(step)
  }

  if (error !== null && rows.length === 0) return <ErrorBox error={error} />
  if (isLoading && rows.length === 0) return <Loading />
  if (rows.length === 0 && !hasMore) return empty
  const tracks = { gridTemplateColumns: shown.map(({ width }) => width).join(' ') }
  return (
    <div className="table-frame">
      <div role="table" className="table" aria-label={label} aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <div role="rowgroup" className="table-head">
          <div role="row" aria-rowindex={1} className="row" style={tracks}>
            {shown.map((column) => (
              <div
                role="columnheader"
                key={keyOf(column)}
                className={column.align === 'end' ? 'cell end' : 'cell'}
              >
                {column.header === '' ? <span className="unseen">{column.name}</span> : column.header}
              </div>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          ref={body}
          className="table-body"
          style={{ height: virtual.getTotalSize() }}
          onKeyDown={onKeyDown}
        >
          {items.map((item) => {
            const row = rows[item.index]!
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the link of the row handles the keys
              <div
                role="row"
                key={item.key}
                aria-rowindex={item.index + 2}
                data-index={item.index}
                className={isMarked?.(row) === true ? 'row marked' : 'row'}
                onClick={openRow}
                style={{ ...tracks, height: item.size, transform: `translateY(${item.start - margin}px)` }}
              >
                {shown.map((column) => (
                  <div
                    role="cell"
                    key={keyOf(column)}
                    className={column.align === 'end' ? 'cell end' : 'cell'}
                  >
                    {column.cell(row)}
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
      {hasMore && (
        <Button busy={isFetchingMore} onClick={fetchMore}>
          {isFetchingMore ? 'Looking further …' : 'Look further'}
        </Button>
      )}
    </div>
  )
}

const ownTargets = 'a, button, input, label, select, summary, [role=menu]'

/** A click anywhere in a row follows its link, unless it is meant for something else or selects a text. */
function openRow(event: MouseEvent<HTMLElement>): void {
  if ((event.target as HTMLElement).closest(ownTargets) !== null) return
  if (getSelection()?.isCollapsed === false) return
  const link = event.currentTarget.querySelector<HTMLAnchorElement>('a[data-row-link]')
  if (link === null) return
  if (event.ctrlKey || event.metaKey) window.open(link.href, '_blank', 'noopener')
  else link.click()
}

function keyOf({ header, name }: { header: string; name?: string }): string {
  return name ?? header
}

/** A text of less weight, which may be cut. */
export function DimText({ text }: { text: string | undefined }) {
  return (
    <span className="dim" title={text}>
      {text}
    </span>
  )
}

/** The first cell of a row: its link, and on a phone the rest of the row in a second line. */
export function TwoLines({
  below,
  title,
  children,
}: {
  below: ReactNode
  title?: string
  children: ReactNode
}) {
  const isPhone = useIsPhone()
  return (
    <span className={isPhone ? 'two-lines' : ''} title={title}>
      {children}
      {isPhone && below}
    </span>
  )
}

// A search may answer pages without a hit; after a few of them in a row a person decides whether to go on.
function useMoreAtTheEnd(list: Partial<ListState>, count: number, isNearEnd: boolean): void {
  const { hasMore = false, isFetchingMore = false, error = null, fetchMore } = list
  const state = useRef({ rows: -1, empties: 0 })
  useEffect(() => {
    if (!hasMore || isFetchingMore || !isNearEnd || error !== null) return
    const seen = state.current
    const empties = count === seen.rows ? seen.empties + 1 : 0
    if (empties > emptyPagesMax) return
    state.current = { rows: count, empties }
    fetchMore?.()
  }, [hasMore, isFetchingMore, isNearEnd, count, fetchMore, error])
}

// Where the rows begin in the page; it moves when something above them grows.
function useOffsetTop(element: { current: HTMLElement | null }): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => {
      if (element.current !== null)
        setTop(Math.round(element.current.getBoundingClientRect().top + window.scrollY))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  })
  return top
}
