// When the job runs: a kind, its fields, a zone, and the other settings of a schedule.
import type { ReactNode } from 'react'
import { Check, Choice, TextField } from '../../components/field.tsx'
import { withSeconds } from '../jobs/date-time.ts'
import { type FormPartProps, type ScheduleField, ScheduleFields } from './form-fields.tsx'
import { EVERY_UNITS, type ScheduleForm, type ScheduleKind } from './schedule-form.ts'
import { ZoneField } from './zone-field.tsx'

const kinds: { value: ScheduleKind; name: string }[] = [
  { value: 'every', name: 'Interval' },
  { value: 'times', name: 'Specific times' },
  { value: 'cron', name: 'Cron' },
  { value: 'interval', name: 'ISO interval' },
  { value: 'text', name: 'Plain English' },
  { value: 'once', name: 'Once' },
  { value: 'after', name: 'After other jobs' },
  { value: 'now', name: 'Once, now' },
]
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

interface BuilderProps extends FormPartProps<ScheduleForm> {
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

type PartProps = FormPartProps<ScheduleForm>

/** The kinds that are written in one field. */
const written: Partial<Record<ScheduleKind, ScheduleField>> = {
  cron: {
    name: 'cron',
    label: 'Cron expression',
    isCode: true,
    hint: 'minute hour day month weekday; 6 fields with seconds first; H spreads load; @daily and such',
  },
  interval: {
    name: 'interval',
    label: 'ISO 8601 interval',
    isCode: true,
    hint: 'PT5M is every 5 minutes, P1D every day on the clock of the zone, R10/2026-01-01T00:00:00Z/PT1H ten times more',
  },
  text: {
    name: 'text',
    label: 'When, in words',
    hint: 'Such as: every 15 minutes between 9 and 17 on weekdays; last friday of the month at 18:30 in London',
  },
}

function KindFields(props: PartProps) {
  const { kind } = props.form
  const field = written[kind]
  if (field !== undefined) return <ScheduleFields {...props} fields={[field]} />
  if (kind === 'every') return <EveryFields {...props} />
  if (kind === 'times') return <TimesFields {...props} />
  if (kind === 'once') return <OnceField {...props} />
  return <p>It runs once, as soon as it is created.</p>
}

function EveryFields(props: PartProps) {
  return (
    <div className="field-row">
      <ScheduleFields
        {...props}
        fields={[
          { name: 'every', label: 'Every', kind: 'number' },
          { name: 'unit', label: 'Unit', options: EVERY_UNITS.map((value) => ({ value, name: value })) },
        ]}
      />
      <Check
        isOn={props.form.afterCompletion}
        onChange={(afterCompletion) => props.onChange({ afterCompletion })}
      >
        counted from the end of the last execution
      </Check>
    </div>
  )
}

const patterns = [
  { value: 'daily', name: 'every day' },
  { value: 'weekly', name: 'on days of the week' },
  { value: 'monthly', name: 'on days of the month' },
]

function TimesFields(props: PartProps) {
  const { pattern } = props.form
  return (
    <>
      <ScheduleFields
        {...props}
        isRow
        fields={[
          { name: 'pattern', label: 'Days', options: patterns },
          { name: 'times', label: 'Times of day', hint: '24 hours, several with commas: 09:00, 17:00' },
          pattern === 'monthly' && {
            name: 'monthDays',
            label: 'Days of the month',
            hint: '1 to 31, or L for the last: 1, 15, L',
          },
        ]}
      />
      {pattern === 'weekly' && <Weekdays {...props} />}
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
function OnceField(props: PartProps) {
  const { form, onChange } = props
  if (form.once !== '' && !plainTime.test(form.once)) {
    return <ScheduleFields {...props} fields={[{ name: 'once', label: 'When (RFC 3339)', isCode: true }]} />
  }
  return (
    <TextField
      label={<>When, on the clock of {form.timezone === '' ? 'UTC' : form.timezone}</>}
      type="datetime-local"
      step={1}
      value={form.once.replace('Z', '')}
      onText={(text) =>
        onChange({ once: text === '' ? '' : `${withSeconds(text)}${form.timezone === '' ? 'Z' : ''}` })
      }
    />
  )
}

const gaps = [
  { value: '', name: 'by default: runs right after it, unless it runs in all 24 hours' },
  { value: 'run_after', name: 'runs right after it' },
  { value: 'skip', name: 'does not run' },
]
const folds = [
  { value: '', name: 'by default: runs the first time, unless it runs in all 24 hours' },
  { value: 'first', name: 'runs the first time' },
  { value: 'both', name: 'runs both times' },
]
const exclusions: ScheduleField = {
  name: 'exclusions',
  label: 'Not on',
  rows: 3,
  isCode: true,
  hint: 'One per line: 2026-12-25, 2026-12-24 to 2026-12-26, or calendar holidays',
}

function Options(props: PartProps) {
  const { form, onChange } = props
  const zoned = (timezone: string) => ({ once: form.once.replace('Z', '') + (timezone === '' ? 'Z' : '') })
  return (
    <>
      <ZoneField
        value={form.timezone}
        onZone={(timezone) => onChange({ timezone, ...(plainTime.test(form.once) && zoned(timezone)) })}
      />
      <details>
        <summary>Start, end, run limit, exclusions, DST</summary>
        <ScheduleFields
          {...props}
          isRow
          fields={[
            { name: 'startAt', label: 'Not before', placeholder: '2026-12-01T00:00:00Z', isCode: true },
            { name: 'endAt', label: 'Not after', placeholder: '2027-12-01T00:00:00Z', isCode: true },
            form.kind !== 'once' && {
              name: 'maxRuns',
              label: 'Runs in all',
              kind: 'number',
              placeholder: 'no limit',
            },
            { name: 'dstGap', label: 'A time that a clock change skips', options: gaps },
            { name: 'dstFold', label: 'A time that happens twice', options: folds },
          ]}
        />
        <ScheduleFields {...props} fields={[exclusions]} />
      </details>
    </>
  )
}
