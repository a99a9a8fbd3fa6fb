// A grid of cells that one key after the other walks through: arrows move, the cell that is chosen is told below.
import { type KeyboardEvent, type ReactNode, useRef } from 'react'
import { type Counts, type Span, sayCounts } from './calendar-grid.ts'

export interface Cell extends Span {
  id: string
  /** When, in words. */
  name: string
  counts: Counts
  jobId?: string
  /** Shown besides the numbers, such as the day. */
  head?: ReactNode
  isDim?: boolean
  isNow?: boolean
}

interface CellGridProps {
  label: string
  className: string
  columns: readonly string[]
  rows: readonly { id: string; head: ReactNode; cells: readonly Cell[] }[]
  chosen: string | null
  onChoose(cell: Cell): void
}

export function CellGrid(props: CellGridProps) {
  const { label, className, columns, rows, chosen, onChoose } = props
  const root = useRef<HTMLDivElement>(null)
  const cells = rows.map((row) => row.cells)
  // The fullest cell has the strongest colour.
  const most = cells.flat().reduce((all, { counts }) => Math.max(all, counts.ok + counts.bad), 0)
  const isKnown = cells.some((row) => row.some(({ id }) => id === chosen))
  const stop = isKnown ? chosen : (cells.flat().find(({ isNow }) => isNow === true)?.id ?? cells[0]?.[0]?.id)
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
    }
    const move = moves[event.key]
    const at = (event.target as HTMLElement).dataset['cell']
    const row = cells.findIndex((all) => all.some(({ id }) => id === at))
    if (move === undefined || row < 0) return
    event.preventDefault()
    const column = cells[row]!.findIndex(({ id }) => id === at)
    const next = cells[row + move[0]]?.[column + move[1]]
    if (next === undefined) return
    onChoose(next)
    root.current?.querySelector<HTMLElement>(`[data-cell="${CSS.escape(next.id)}"]`)?.focus()
  }
  return (
    <div ref={root} role="grid" aria-label={label} className={`cell-grid ${className}`} onKeyDown={onKeyDown}>
      <div role="row" className="cell-row cell-heads">
        <span role="columnheader" className="row-head">
          <span className="unseen">{className === 'lanes' ? 'Job' : 'Time'}</span>
        </span>
        {columns.map((column) => (
          <span role="columnheader" key={column}>
            {column}
          </span>
        ))}
      </div>
      {rows.map((row) => (
        <div role="row" className="cell-row" key={row.id}>
          <span role="rowheader" className="row-head">
            {row.head}
          </span>
          {row.cells.map((cell) => (
            <CellBox
              key={cell.id}
              cell={cell}
              most={most}
              isChosen={cell.id === chosen}
              isStop={cell.id === stop}
              onChoose={onChoose}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

interface CellBoxProps {
  cell: Cell
  most: number
  isChosen: boolean
  isStop: boolean
  onChoose(cell: Cell): void
}

function CellBox({ cell, most, isChosen, isStop, onChoose }: CellBoxProps) {
  const { ok, bad, ahead, isAbout } = cell.counts
  const past = ok + bad
  const kind = past > 0 ? 'is-past' : ahead > 0 ? 'is-ahead' : ''
  const strength = most === 0 ? 0 : Math.round(8 + 30 * Math.sqrt(Math.min(1, past / most)))
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid around it handles the keys
    <div
      role="gridcell"
      data-cell={cell.id}
      className={`calendar-cell ${kind} ${cell.isDim === true ? 'is-dim' : ''} ${cell.isNow === true ? 'is-now' : ''}`}
      tabIndex={isStop ? 0 : -1}
      aria-selected={isChosen}
      title={`${cell.name}: ${sayCounts(cell.counts)}`}
      style={{
        ['--strength' as never]: `${strength}%`,
        ['--bad' as never]: bad === 0 ? '0' : `max(${(bad / past) * 100}%, 8px)`,
      }}
      onClick={() => onChoose(cell)}
    >
      <span className="unseen">
        {cell.name}: {sayCounts(cell.counts)}
      </span>
      {cell.head !== undefined && <span aria-hidden="true">{cell.head}</span>}
      {past > 0 && (
        <span aria-hidden="true" className="cell-count">
          {shortCount(past)}
        </span>
      )}
      {ahead > 0 && (
        <span aria-hidden="true" className="cell-count cell-ahead">
          {isAbout ? '≈' : ''}
          {shortCount(ahead)}
        </span>
      )}
    </div>
  )
}

// A cell has little room; its exact number is in its name.
const short = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 })

function shortCount(count: number): string {
  return short.format(count)
}
