// The versions of a job: its definition before each change.

import { Job, JobScheduleGiven } from './job.ts'
import { includeParameter, pageOf, pageParameters } from './pagination.ts'
import { describedObject, instantOrNull, orNull, strictObject, textOrNull } from './shapes.ts'
import * as Type from './type.ts'

// Fields that belong to the job and not to a version of it, or describe the present, are left out.
const {
  job_id: _id,
  key: _key,
  status: _status,
  pause: _pause,
  schedule: _schedule,
  version: _version,
  created_at: _createdAt,
  created_by: _createdBy,
  updated_at: _updatedAt,
  updated_by: _updatedBy,
  partition_id: _partitionId,
  ...definition
} = Job.properties

export const JobVersionListQuery = strictObject({ ...includeParameter, ...pageParameters })
export type JobVersionListQuery = Type.Static<typeof JobVersionListQuery>

export const JobVersionList = pageOf('A page of the list, the latest first.', {
  versions: Type.Array(
    strictObject({
      version: Type.Integer({
        description: 'From 1; each change of the definition creates the next version.',
      }),
      created_at: instantOrNull('Time of creation; null: older than this record.'),
      created_by: textOrNull('The name of the API key that created it; null: older than this record.'),
      pruned_at: instantOrNull(
        'When the payload, headers, arguments, variables, metadata and description of this version were dropped, as no execution had run it or none is kept; null: it is whole.',
      ),
      job: describedObject('The definition of this version.', {
        ...definition,
        schedule: orNull(
          JobScheduleGiven,
          'Null: it had no schedule, and ran only after the jobs in `depends_on`.',
        ),
      }),
    }),
  ),
})
export type JobVersionList = Type.Static<typeof JobVersionList>
