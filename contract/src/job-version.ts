// The versions of a job: its definition before each change.
import Type from 'typebox'
import { Job, JobScheduleGiven } from './job.ts'
import { Pagination, pageParameters } from './pagination.ts'
import { instantOrNull, textOrNull } from './shapes.ts'

const strict = { additionalProperties: false } as const

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
  ...definition
} = Job.properties

export const JobVersionListQuery = Type.Object(pageParameters, strict)
export type JobVersionListQuery = Type.Static<typeof JobVersionListQuery>

export const JobVersionList = Type.Object(
  {
    versions: Type.Array(
      Type.Object(
        {
          version: Type.Integer({ description: 'From 1; each change of the definition makes the next.' }),
          created_at: instantOrNull('When it was made; null: before this was kept.'),
          created_by: textOrNull('The name of the key that made it; null: the same.'),
          job: Type.Object(
            {
              ...definition,
              schedule: Type.Unsafe<Type.Static<typeof JobScheduleGiven> | null>({
                ...JobScheduleGiven,
                type: ['object', 'null'],
                description: 'Null: it had none, and ran after others only.',
              }),
            },
            { ...strict, description: 'The job as it was.' },
          ),
        },
        strict,
      ),
    ),
    pagination: Pagination,
  },
  { ...strict, description: 'A page of the list, the latest first.' },
)
export type JobVersionList = Type.Static<typeof JobVersionList>
