// When the job runs: a kind, its fields, a zone, and the other settings of a schedule.
import type { ReactNode } from 'react'
import { withSeconds } from '../jobs/date-time.ts'
import { Labelled } from '../jobs/labelled.tsx'
import { Choice, SelectField, TextField } from './field.tsx'
import {
  EVERY_UNITS,
  type EveryUnit,
  type ScheduleForm,
  type ScheduleKind,
  type TimesPattern,
} from './schedule-form.ts'
import { ZoneField } from './zone-field.tsx'

const kinds: { value: ScheduleKind; name: string }[] = [
  { value: 'every', name: 'Every so often' },
  { value: 'times', name: 'At times' },
  { value: 'cron', name: 'Cron' },
  { value: 'interval', name: 'ISO interval' },
  { value: 'text', name: 'In words' },
  { value: 'once', name: 'Once' },
  { value: 'after', name: 'After other jobs' },
  { value: 'now', name: 'Right away' },
]
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

interface BuilderProps {
  form: ScheduleForm
  onChange(change: Partial<ScheduleForm>): void
  /** A job that is there cannot be made to run at once. */
  isNew: boolean
  /** The fields for jobs that run after others. */
  dependencies: ReactNode
}

export function ScheduleBuilder({ form, onChange, isNew, dependencies }: BuilderProps) {
  const shown = kinds.filter(({ value }) => value !== 'now' || isNew || form.kind === 'now')
  return (
    <>
      <Choice
        legend="How it runs"
        value={form.kind}
        options={shown}
        onChoose={(kind) => onChange({ kind: kind as ScheduleKind })}
      />
      {form.kind === 'after' ? dependencies : <KindFields form={form} onChange={onChange} />}
      {!['after', 'now', 'text'].includes(form.kind) && <Options form={form} onChange={onChange} />}
    </>
  )
}

type PartProps = Pick<BuilderProps, 'form' | 'onChange'>

function KindFields({ form, onChange }: PartProps) {
  switch (form.kind) {
    case 'every':
      return <EveryFields form={form} onChange={onChange} />
    case 'times':
      return <TimesFields form={form} onChange={onChange} />
    case 'cron':
      return (
        <TextField
          label="Cron expression"
          pointer="/schedule#cron"
          isCode
          hint="minute hour day month weekday; 6 fields with seconds first; H spreads load; @daily and such"
          value={form.cron}
          onText={(cron) => onChange({ cron })}
        />
      )
    case 'interval':
      return (
        <TextField
          label="ISO 8601 interval"
          pointer="/schedule#interval"
          isCode
          hint="PT5M is every 5 minutes, P1D every day on the clock of the zone, R10/2026-01-01T00:00:00Z/PT1H ten times more"
          value={form.interval}
          onText={(interval) => onChange({ interval })}
        />
      )
    case 'text':
      return (
        <TextField
          label="When, in words"
          pointer="/schedule#text"
          hint="Such as: every 15 minutes between 9 and 17 on weekdays; last friday of the month at 18:30 in London"
          value={form.text}
          onText={(text) => onChange({ text })}
        />
      )
    case 'once':
      return <OnceField form={form} onChange={onChange} />
    default:
      return <p>It runs once, as soon as it is created.</p>
  }
}

function EveryFields({ form, onChange }: PartProps) {
  return (
    <div className="field-row">
      <TextField
        label="Every"
        pointer="/schedule#every"
        kind="number"
        value={form.every}
        onText={(every) => onChange({ every })}
      />
      <SelectField
        label="Unit"
        pointer="/schedule#unit"
        value={form.unit}
        options={EVERY_UNITS.map((unit) => ({ value: unit, name: unit }))}
        onText={(unit) => onChange({ unit: unit as EveryUnit })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={form.afterCompletion}
          onChange={(event) => onChange({ afterCompletion: event.target.checked })}
        />{' '}
        counted from the end of the last execution
      </label>
    </div>
  )
}

function TimesFields({ form, onChange }: PartProps) {
  return (
    <>
      <div className="field-row">
        <SelectField
          label="Days"
          pointer="/schedule#pattern"
          value={form.pattern}
          options={[
            { value: 'daily', name: 'every day' },
            { value: 'weekly', name: 'on days of the week' },
            { value: 'monthly', name: 'on days of the month' },
          ]}
          onText={(pattern) => onChange({ pattern: pattern as TimesPattern })}
        />
        <TextField
          label="Times of day"
          pointer="/schedule#times"
          hint="24 hours, several with commas: 09:00, 17:00"
          value={form.times}
          onText={(times) => onChange({ times })}
        />
        {form.pattern === 'monthly' && (
          <TextField
            label="Days of the month"
            pointer="/schedule#monthDays"
            hint="1 to 31, or L for the last: 1, 15, L"
            value={form.monthDays}
            onText={(monthDays) => onChange({ monthDays })}
          />
        )}
      </div>
      {form.pattern === 'weekly' && <Weekdays form={form} onChange={onChange} />}
    </>
  )
}

function Weekdays({ form, onChange }: PartProps) {
  const toggle = (day: number) =>
    onChange({
      weekdays: form.weekdays.includes(day)
        ? form.weekdays.filter((one) => one !== day)
        : [...form.weekdays, day],
    })
  return (
    <fieldset className="choice">
      <legend className="unseen">Days of the week</legend>
      {[1, 2, 3, 4, 5, 6, 0].map((day) => (
        <label key={day} className="chip">
          <input type="checkbox" checked={form.weekdays.includes(day)} onChange={() => toggle(day)} />
          {weekdays[day]}
        </label>
      ))}
    </fieldset>
  )
}

const plainTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z?$/

/** The field of the browser has no zone: the time is that of the schedule's zone, and Z stands for UTC. */
function OnceField({ form, onChange }: PartProps) {
  if (form.once !== '' && !plainTime.test(form.once)) {
    return (
      <TextField
        label="When (RFC 3339)"
        pointer="/schedule#once"
        isCode
        value={form.once}
        onText={(once) => onChange({ once })}
      />
    )
  }
  const zone = form.timezone === '' ? 'UTC' : form.timezone
  return (
    <Labelled label={<>When, on the clock of {zone}</>}>
      {(id) => (
        <input
          id={id}
          type="datetime-local"
          step={1}
          className="input"
          value={form.once.replace('Z', '')}
          onChange={({ target: { value } }) =>
            onChange({ once: value === '' ? '' : `${withSeconds(value)}${form.timezone === '' ? 'Z' : ''}` })
          }
        />
      )}
    </Labelled>
  )
}

function Options({ form, onChange }: PartProps) {
  const isOnce = form.kind === 'once'
  return (
    <>
      <ZoneField
        value={form.timezone}
        onZone={(timezone) =>
          onChange({
            timezone,
            ...(plainTime.test(form.once) && {
              once: form.once.replace('Z', '') + (timezone === '' ? 'Z' : ''),
            }),
          })
        }
      />
      <details>
        <summary>From, until, how often, not on, clock changes</summary>
        <div className="field-row">
          <TextField
            label="Not before"
            pointer="/schedule/start_at"
            placeholder="2026-12-01T00:00:00Z"
            isCode
            value={form.startAt}
            onText={(startAt) => onChange({ startAt })}
          />
          <TextField
            label="Not after"
            pointer="/schedule/end_at"
            placeholder="2027-12-01T00:00:00Z"
            isCode
            value={form.endAt}
            onText={(endAt) => onChange({ endAt })}
          />
          {!isOnce && (
            <TextField
              label="Runs in all"
              pointer="/schedule#maxRuns"
              kind="number"
              placeholder="no limit"
              value={form.maxRuns}
              onText={(maxRuns) => onChange({ maxRuns })}
            />
          )}
          <SelectField
            label="A time that a clock change skips"
            pointer="/schedule/dst_gap"
            value={form.dstGap}
            options={[
              { value: '', name: 'as the schedule does' },
              { value: 'run_after', name: 'runs right after it' },
              { value: 'skip', name: 'does not run' },
            ]}
            onText={(dstGap) => onChange({ dstGap })}
          />
          <SelectField
            label="A time that happens twice"
            pointer="/schedule/dst_fold"
            value={form.dstFold}
            options={[
              { value: '', name: 'as the schedule does' },
              { value: 'first', name: 'runs the first time' },
              { value: 'both', name: 'runs both times' },
            ]}
            onText={(dstFold) => onChange({ dstFold })}
          />
        </div>
        <TextField
          label="Not on"
          pointer="/schedule#exclusions"
          rows={3}
          isCode
          hint="One a line: 2026-12-25, 2026-12-24 to 2026-12-26, or calendar holidays"
          value={form.exclusions}
          onText={(exclusions) => onChange({ exclusions })}
        />
      </details>
    </>
  )
}
