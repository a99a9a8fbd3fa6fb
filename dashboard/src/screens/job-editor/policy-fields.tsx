// Retries, the policies for overlaps and misfires, and limits.
import { Card } from '../../components/page.tsx'
import { type FormPartProps, JobFields } from './form-fields.tsx'
import type { JobForm } from './job-form.ts'

const overlaps = [
  { value: 'SKIP', name: 'skip the new run' },
  { value: 'ALLOW', name: 'run both' },
  { value: 'BUFFER_ONE', name: 'queue one, skip the rest' },
  { value: 'BUFFER_ALL', name: 'queue all' },
  { value: 'CANCEL_RUNNING', name: 'cancel the running one' },
]
const misfires = [
  { value: 'FIRE_ONCE', name: 'run the latest missed' },
  { value: 'FIRE_ALL', name: 'run all missed, in order' },
  { value: 'SKIP', name: 'skip all missed' },
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
          { name: 'backoff', label: 'Backoff', options: backoffs },
          { name: 'initialDelay', label: 'Initial delay (ms)' },
          { name: 'maxDelay', label: 'Max delay (ms)' },
          {
            name: 'autoRedrive',
            label: 'Redrive a dead letter after (seconds)',
            placeholder: 'never',
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
          { name: 'overlap', label: 'If still running', options: overlaps },
          { name: 'misfire', label: 'After downtime', options: misfires },
          {
            name: 'misfireWindow',
            label: 'Catch up within (seconds)',
            placeholder: 'an hour, or a day if daily',
          },
          { name: 'jitter', label: 'Jitter (seconds)', hint: 'Adds a random delay up to this long.' },
          { name: 'priority', label: 'Priority', hint: '1 is the highest, 10 the lowest.' },
          { name: 'concurrencyLimit', label: 'Max concurrent runs', placeholder: 'no limit' },
          {
            name: 'concurrencyKey',
            label: 'Concurrency group',
            placeholder: 'none',
            hint: 'Jobs with the same key share it.',
          },
          props.form.concurrencyKey.trim() !== '' && {
            name: 'concurrencyKeyLimit',
            label: 'Max concurrent in group',
          },
        ]}
      />
    </Card>
  )
}
