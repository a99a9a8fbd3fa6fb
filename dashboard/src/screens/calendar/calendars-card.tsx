// Calendars: days on which jobs that name them do not run. Listed, made, changed, deleted.
import type { Calendar } from '@carillon/contract/calendar.ts'
import { useState } from 'react'
import type { useList } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmAction, ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { Card, Empty, ErrorBox, PlainTable } from '../../components/page.tsx'
import { plural } from '../../lib/format.ts'
import { entriesOf, linesOf } from './calendar-entries.ts'

type CalendarList = ReturnType<typeof useList<Calendar>>

export function CalendarsCard({ list }: { list: CalendarList }) {
  const [edited, setEdited] = useState<Calendar | 'new' | null>(null)
  const may = useMay('write')
  return (
    <Card
      title="Exclusion calendars"
      aside={
        may && (
          <Button icon="plus" onClick={() => setEdited('new')}>
            New calendar
          </Button>
        )
      }
    >
      {list.error !== null && <ErrorBox error={list.error} />}
      {!list.isLoading && list.error === null && list.items.length === 0 && (
        <Empty title="There is no calendar yet.">
          A calendar is a list of days, such as holidays. A job that names it under "Not on" skips its slots
          on them.
        </Empty>
      )}
      {list.items.length > 0 && (
        <PlainTable heads={['Calendar', 'Days']} buttons="Actions">
          {list.items.map((calendar) => (
            <tr key={calendar.name}>
              <th scope="row">
                {calendar.name}
                {calendar.description !== null && <div className="dim">{calendar.description}</div>}
              </th>
              <td>{summary(calendar)}</td>
              <td className="calendar-actions">
                {may && (
                  <>
                    <Button
                      kind="quiet"
                      icon="edit"
                      aria-label={`Edit ${calendar.name}`}
                      onClick={() => setEdited(calendar)}
                    />
                    <DeleteCalendar calendar={calendar} />
                  </>
                )}
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
      {list.hasMore && (
        <Button busy={list.isFetchingMore} onClick={list.fetchMore}>
          More calendars
        </Button>
      )}
      {edited !== null && (
        <CalendarDialog calendar={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />
      )}
    </Card>
  )
}

function DeleteCalendar({ calendar }: { calendar: Calendar }) {
  const path = `/calendars/${calendar.name}`
  return (
    <ConfirmAction
      label=""
      name={`Delete ${calendar.name}`}
      icon="trash"
      kind="quiet"
      title={`Delete the calendar ${calendar.name}`}
      verb="Delete calendar"
      danger
      apiRequest={{ method: 'DELETE', path }}
      done={`The calendar ${calendar.name} is deleted.`}
      invalidates={['/calendars']}
    >
      <p>It cannot be deleted while a job names it.</p>
    </ConfirmAction>
  )
}

const namePattern = /^[a-z0-9._-]{1,128}$/
const nameRule = '1 to 128 of a-z 0-9 . _ -'

function CalendarDialog({ calendar, onClose }: { calendar: Calendar | null; onClose(): void }) {
  const [name, setName] = useState(calendar?.name ?? '')
  const [description, setDescription] = useState(calendar?.description ?? '')
  const [days, setDays] = useState(() => linesOf(calendar?.entries ?? []))
  const read = entriesOf(days)
  const isName = namePattern.test(name)
  const path = `/calendars/${name}`
  const body = {
    ...(description.trim() !== '' && { description: description.trim() }),
    entries: read.entries,
  }
  return (
    <ConfirmDialog
      title={calendar === null ? 'New calendar' : `Edit the calendar ${calendar.name}`}
      verb={calendar === null ? 'Create calendar' : 'Save calendar'}
      apiRequest={{ method: 'PUT', path, body }}
      disabled={!isName || read.error !== null}
      done={`The calendar ${name} is saved.`}
      invalidates={['/calendars', '/jobs']}
      onClose={onClose}
    >
      {calendar === null && (
        <TextField
          label="Name"
          hint={nameRule}
          error={name === '' || isName ? null : nameRule}
          value={name}
          onText={setName}
        />
      )}
      <TextField label="Description" maxLength={4_096} value={description} onText={setDescription} />
      <TextField
        label="Days"
        rows="tall"
        isCode
        placeholder={'2026-12-25\n2026-12-24 to 2026-12-26'}
        error={read.error}
        hint={`${plural(read.entries.length, 'entry', 'entries')} of at most 500. One per line: a day, or "A to B".`}
        value={days}
        onText={setDays}
      />
    </ConfirmDialog>
  )
}

const shownMax = 4

function summary({ entries }: Calendar): string {
  const shown = linesOf(entries.slice(0, shownMax)).replaceAll('\n', ', ')
  return entries.length > shownMax ? `${shown} and ${entries.length - shownMax} more` : shown
}
