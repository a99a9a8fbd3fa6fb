// Dead letters: first the errors, grouped, then the letters one by one; redriven, corrected or discarded.
import { ERROR_TYPES } from '@carillon/contract/constants.ts'
import type { DeadLetter } from '@carillon/contract/dead-letter.ts'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { useOperation } from '../../components/bulk.tsx'
import { Button } from '../../components/button.tsx'
import { type Column, DataTable, DimText, TwoLines, wideColumn } from '../../components/data-table.tsx'
import { FilterBar, FilterSelect } from '../../components/filter-bar.tsx'
import { Empty, Page } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { type Filters, useFilters, useQueryOf } from '../../lib/filters.ts'
import { formatCount, shortId, words } from '../../lib/format.ts'
import { foundText } from '../../lib/found-text.ts'
import { useLiveRefresh } from '../../live/hooks.ts'
import { DayFilters, JobFilter } from '../executions/more-filters.tsx'
import { Clusters } from './clusters.tsx'
import { LetterDialog } from './letter-dialog.tsx'
import { letterFilterNames, reasons, reasonTexts } from './letter-filters.ts'
import { RedriveDialog } from './redrive-dialog.tsx'
import { SelectionBar, selectionMax } from './selection-bar.tsx'
import './dead-letters.css'

/** A cancelled execution is no dead letter. */
const errorTypes = ERROR_TYPES.filter((type) => type !== 'CANCELLED')
/** Longer lists are read again when a person asks, not with every event. */
const liveRowsMax = 100

export function DeadLettersScreen() {
  const [filters, change] = useFilters()
  const may = useMay('operate')
  const query = useQueryOf(letterFilterNames)
  const list = useList<DeadLetter>('/dead-letters', 'dead_letters', { query })
  useLiveRefresh(
    ['executions'],
    [list.items.length <= liveRowsMax ? '/dead-letters' : '/dead-letters/clusters'],
    5_000,
  )
  const [redriven, setRedriven] = useState<Record<string, string> | null>(null)
  const [progress, start] = useOperation('/dead-letters')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const columns = useMemo(() => columnsOf(may ? { chosen, setChosen } : null), [chosen, may])
  const isFiltered = Object.keys(query).length > 0
  const letterId = filters['letter']
  return (
    <Page
      title="Dead letters"
      lead="Executions that used up their retries and wait for a person."
      actions={
        may && (
          <Button icon="retry" disabled={list.items.length === 0} onClick={() => setRedriven(query)}>
            {isFiltered ? 'Redrive all that match' : 'Redrive all'}
          </Button>
        )
      }
    >
      {progress}
      <Clusters query={query} onRedrive={may ? setRedriven : null} />
      <FilterBar names={letterFilterNames}>
        <FilterSelect
          name="error_type"
          label="Error"
          options={errorTypes.map((value) => ({ value, name: words(value) }))}
        />
        <FilterSelect
          name="reason"
          label="Reason"
          options={reasons.map((value) => ({ value, name: reasonTexts[value]! }))}
        />
        <DayFilters />
        <JobFilter />
      </FilterBar>
      <div className="letters-head">
        <h2>Dead letters</h2>
        <span className="dim">
          {list.total !== null && `${foundText({ ...list, loaded: list.items.length })}, newest first`}
        </span>
        {may && list.items.length > 0 && (
          <Button
            kind="quiet"
            onClick={() =>
              setChosen(new Set(list.items.slice(0, selectionMax).map((letter) => letter.execution_id)))
            }
          >
            Select the ones shown
          </Button>
        )}
      </div>
      <SelectionBar chosen={chosen} onClear={() => setChosen(new Set())} />
      <DataTable
        label="Dead letters"
        rows={list.items}
        columns={columns}
        rowKey={(letter) => letter.execution_id}
        isMarked={(letter) => chosen.has(letter.execution_id)}
        list={list}
        empty={<NoLetters isFiltered={isFiltered} />}
      />
      {redriven !== null && (
        <RedriveDialog query={redriven} onClose={() => setRedriven(null)} onStarted={start} />
      )}
      {letterId !== undefined && (
        <LetterDialog executionId={letterId} onClose={() => change({ letter: undefined })} />
      )}
    </Page>
  )
}

interface Choice {
  chosen: ReadonlySet<string>
  setChosen(chosen: ReadonlySet<string>): void
}

function columnsOf(choice: Choice | null): (Column<DeadLetter> | false)[] {
  return [
    choice !== null && {
      header: '',
      name: 'Select',
      width: 'var(--row-check)',
      cell: ({ execution_id, job_name }) => (
        <label className="row-check">
          <input
            type="checkbox"
            aria-label={`Select ${job_name} ${shortId(execution_id)}`}
            checked={choice.chosen.has(execution_id)}
            disabled={!choice.chosen.has(execution_id) && choice.chosen.size >= selectionMax}
            onChange={() => {
              const next = new Set(choice.chosen)
              if (!next.delete(execution_id)) next.add(execution_id)
              choice.setChosen(next)
            }}
          />
        </label>
      ),
    },
    { header: 'Job', width: 'minmax(8rem, 1.5fr)', cell: (letter) => <LetterCell letter={letter} /> },
    wideColumn('Last error', 'minmax(10rem, 3fr)', (letter) => <LastError letter={letter} />),
    wideColumn('Reason', '12rem', ({ dlq_reason }) => reasonTexts[dlq_reason] ?? words(dlq_reason)),
    wideColumn('Attempts', '5rem', ({ total_attempts }) => formatCount(total_attempts), 'end'),
    { header: 'Since', width: '8rem', cell: ({ dlq_timestamp }) => <Time at={dlq_timestamp} /> },
    wideColumn('Notes', '9rem', ({ edited_at, auto_redrive_at }) => (
      <span className="dim">
        {edited_at !== null && 'payload edited '}
        {auto_redrive_at !== null && (
          <>
            by itself <Time at={auto_redrive_at} />
          </>
        )}
      </span>
    )),
  ]
}

function LetterCell({ letter }: { letter: DeadLetter }) {
  return (
    <TwoLines below={<LastError letter={letter} />}>
      <Link
        to="/dead-letters"
        search={((before: Filters) => ({ ...before, letter: letter.execution_id })) as never}
        resetScroll={false}
        data-row-link
      >
        {letter.job_name}
      </Link>
    </TwoLines>
  )
}

function LastError({ letter }: { letter: DeadLetter }) {
  const last = letter.error_history.at(-1)
  if (last === undefined) return <span className="dim">none on record</span>
  const text = [last.type, last.message].filter((part) => part !== null).join(': ')
  return <DimText text={text} />
}

const example = {
  name: 'in vain',
  schedule: { type: 'IMMEDIATE' },
  retry_policy: { max_retries: 0 },
  execution: { callback_url: 'ECHO?status=503' },
}

function NoLetters({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No dead letter matches.">Clear a filter.</Empty>
  return (
    <Empty title="No dead letters." code={exampleJob(example)}>
      An execution that used up its retries comes here, with the errors of all its attempts. To see one, make
      a job that fails:
    </Empty>
  )
}
