// Retries, the policies for overlaps and misfires, and limits.
import { Card } from '../../components/page.tsx'
import { type FormPartProps, JobFields } from './form-fields.tsx'
import type { JobForm } from './job-form.ts'

const overlaps = [
  { value: 'SKIP', name: 'the new one is skipped' },
  { value: 'ALLOW', name: 'both run' },
  { value: 'BUFFER_ONE', name: 'one waits, more are skipped' },
  { value: 'BUFFER_ALL', name: 'all wait' },
  { value: 'CANCEL_RUNNING', name: 'the earlier one is cancelled' },
]
const misfires = [
  { value: 'FIRE_ONCE', name: 'the latest one runs' },
  { value: 'FIRE_ALL', name: 'all run, in order' },
  { value: 'SKIP', name: 'none runs' },
]
const backoffs = [
  { value: 'EXPONENTIAL', name: 'doubles each time' },
  { value: 'LINEAR', name: 'grows by the attempt' },
  { value: 'FIXED', name: 'stays the same' },
]

export function RetryCard(props: FormPartProps<JobForm>) {
  return (
    <Card title="Retries">
      <JobFields
        {...props}
        isRow
        fields={[
          { name: 'maxRetries', label: 'Retries', hint: 'Attempts after the first: 0 to 100.' },
          { name: 'backoff', label: 'The delay', options: backoffs },
          { name: 'initialDelay', label: 'First delay (ms)' },
          { name: 'maxDelay', label: 'Longest delay (ms)' },
          {
            name: 'autoRedrive',
            label: 'Redrive a dead letter after (seconds)',
            placeholder: 'only by a person',
          },
        ]}
      />
    </Card>
  )
}

export function LimitsCard(props: FormPartProps<JobForm>) {
  return (
    <Card title="Overlap, misfire and limits">
      <JobFields
        {...props}
        isRow
        fields={[
          { name: 'overlap', label: 'When the earlier one still runs', options: overlaps },
          { name: 'misfire', label: 'When slots were missed', options: misfires },
          {
            name: 'misfireWindow',
            label: 'Missed slots run for (seconds)',
            placeholder: 'an hour, or a day if daily',
          },
          { name: 'jitter', label: 'Jitter (seconds)', hint: 'Each starts up to so much later.' },
          { name: 'priority', label: 'Priority', hint: '1 is the highest, 10 the lowest.' },
          { name: 'concurrencyLimit', label: 'Of this job at once', placeholder: 'no limit' },
          {
            name: 'concurrencyKey',
            label: 'Key of a shared limit',
            placeholder: 'none',
            hint: 'Jobs with the same key share it.',
          },
          props.form.concurrencyKey.trim() !== '' && {
            name: 'concurrencyKeyLimit',
            label: 'With that key at once',
          },
        ]}
      />
    </Card>
  )
}
