// Creates, copies or changes a job.
import type { JobDetails } from '@carillon/contract/job.ts'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useGet } from '../../api/hooks.ts'
import { Page, Waiting } from '../../components/page.tsx'
import { useFilters } from '../../lib/filters.ts'
import { JobEditor } from './job-editor.tsx'
import { blankJob, formOfRequest, requestOf } from './job-form.ts'

export function JobEditorScreen() {
  const { jobId } = useParams({ strict: false })
  const [filters] = useFilters()
  const sourceId = jobId ?? filters['from']
  if (sourceId === undefined) {
    return <JobEditor key="new" title="New job" job={null} initial={blankJob} />
  }
  return <Loaded key={`${sourceId} ${jobId}`} sourceId={sourceId} isEdit={jobId !== undefined} />
}

function Loaded({ sourceId, isEdit }: { sourceId: string; isEdit: boolean }) {
  const found = useGet<JobDetails>(`/jobs/${encodeURIComponent(sourceId)}`)
  const { refetch } = found
  useEffect(() => void refetch(), [refetch])
  // A cached job may be older than the one on the server, and a change of it would be refused.
  const job = found.isFetchedAfterMount ? found.data : undefined
  if (job === undefined) {
    return (
      <Page title={isEdit ? 'Edit' : 'New job'}>
        <Waiting found={{ ...found, isPending: true }} canRetry />
      </Page>
    )
  }
  const form = formOfRequest(requestOf(job))
  if (isEdit) return <JobEditor title={`Edit ${job.name}`} job={job} initial={form} />
  // Values of headers cannot be read, so a copy has to be given them again.
  const copy = { ...form, name: `${form.name} (copy)`, key: '' }
  return <JobEditor title={`Copy of ${job.name}`} job={null} initial={copy} />
}
