// Retries, the policies for overlaps and misfires, and limits.
import { Card } from '../../components/page.tsx'
import { bindTo, type PartProps, SelectField, TextField } from './field.tsx'

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

export function RetryCard(props: PartProps) {
  const bound = bindTo(props)
  const path = '/retry_policy'
  return (
    <Card title="Retries">
      <div className="field-row">
        <TextField
          label="Retries"
          pointer={`${path}/max_retries`}
          kind="number"
          hint="Attempts after the first: 0 to 100."
          {...bound('maxRetries')}
        />
        <SelectField label="The delay" pointer={`${path}/backoff`} options={backoffs} {...bound('backoff')} />
        <TextField
          label="First delay (ms)"
          pointer={`${path}/initial_delay_ms`}
          kind="number"
          {...bound('initialDelay')}
        />
        <TextField
          label="Longest delay (ms)"
          pointer={`${path}/max_delay_ms`}
          kind="number"
          {...bound('maxDelay')}
        />
        <TextField
          label="Redrive a dead letter after (seconds)"
          pointer={`${path}/auto_redrive_after_seconds`}
          kind="number"
          placeholder="only by a person"
          {...bound('autoRedrive')}
        />
      </div>
    </Card>
  )
}

export function LimitsCard(props: PartProps) {
  const bound = bindTo(props)
  return (
    <Card title="Overlap, misfire and limits">
      <div className="field-row">
        <SelectField
          label="When the earlier one still runs"
          pointer="/overlap_policy"
          options={overlaps}
          {...bound('overlap')}
        />
        <SelectField
          label="When slots were missed"
          pointer="/misfire_policy"
          options={misfires}
          {...bound('misfire')}
        />
        <TextField
          label="Missed slots run for (seconds)"
          pointer="/misfire_window_seconds"
          kind="number"
          placeholder="an hour, or a day if daily"
          {...bound('misfireWindow')}
        />
        <TextField
          label="Jitter (seconds)"
          pointer="/jitter_seconds"
          kind="number"
          hint="Each starts up to so much later."
          {...bound('jitter')}
        />
        <TextField
          label="Priority"
          pointer="/priority"
          kind="number"
          hint="1 is the highest, 10 the lowest."
          {...bound('priority')}
        />
        <TextField
          label="Of this job at once"
          pointer="/concurrency_limit"
          kind="number"
          placeholder="no limit"
          {...bound('concurrencyLimit')}
        />
        <TextField
          label="Key of a shared limit"
          pointer="/concurrency_key/key"
          placeholder="none"
          hint="Jobs with the same key share it."
          {...bound('concurrencyKey')}
        />
        {props.form.concurrencyKey.trim() !== '' && (
          <TextField
            label="With that key at once"
            pointer="/concurrency_key/limit"
            kind="number"
            {...bound('concurrencyKeyLimit')}
          />
        )}
      </div>
    </Card>
  )
}
