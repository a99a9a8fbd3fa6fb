// The jobs that this one runs after: found by name, each with how it must have ended.
import type { DependencyRule } from '@carillon/contract/constants.ts'
import type { JobDetails, JobList } from '@carillon/contract/job.ts'
import { useContext, useDeferredValue, useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { errorAt, FieldErrors, Select, TextField } from '../../components/field.tsx'
import type { JobForm } from './job-form.ts'

type Dependencies = JobForm['dependsOn']

interface PickerProps {
  value: Dependencies
  /** The job itself, which cannot run after itself. */
  ownId: string | null
  onChange(value: Dependencies): void
}

const rules = [
  { value: 'success', name: 'succeeded' },
  { value: 'failure', name: 'failed' },
  { value: 'completion', name: 'ended, however' },
]

export function DependencyPicker({ value, ownId, onChange }: PickerProps) {
  const [text, setText] = useState('')
  const q = useDeferredValue(text.trim())
  const found = useGet<JobList>('/jobs', { query: { q, limit: 8 }, keep: true })
  const error = errorAt(useContext(FieldErrors), '/depends_on')
  const taken = new Set([...value.map(({ job_id }) => job_id), ownId])
  const offered = (found.data?.jobs ?? []).filter(({ job_id }) => !taken.has(job_id))
  return (
    <div className="dependencies">
      {value.length > 0 && (
        <ul aria-label="Runs after">
          {value.map((one) => (
            <li key={one.job_id}>
              <JobName jobId={one.job_id} />
              <Select
                aria-label="When it has"
                value={one.on}
                options={rules}
                onText={(on) =>
                  onChange(
                    value.map((other) => (other === one ? { ...one, on: on as DependencyRule } : other)),
                  )
                }
              />
              <Button
                kind="quiet"
                icon="cross"
                aria-label="Take it away"
                onClick={() => onChange(value.filter((other) => other !== one))}
              />
            </li>
          ))}
        </ul>
      )}
      {error !== null && <p className="field-error">{error}</p>}
      <TextField
        label="Find a job to run after"
        type="search"
        placeholder="Name, key or tag"
        maxLength={255}
        value={text}
        onText={setText}
      />
      <ul aria-label="Jobs found">
        {offered.map((job) => (
          <li key={job.job_id}>
            <Button icon="plus" onClick={() => onChange([...value, { job_id: job.job_id, on: 'success' }])}>
              <span className="cut">{job.name}</span>
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function JobName({ jobId }: { jobId: string }) {
  const found = useGet<JobDetails>(`/jobs/${jobId}`)
  return <span className="cut">{found.data?.name ?? jobId}</span>
}
