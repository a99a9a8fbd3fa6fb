// The versions of a job, and the differences between any two of them.
import type { JobVersionList } from '@carillon/contract/job-version.ts'
import { useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { Select } from '../../components/field.tsx'
import { Empty, ErrorBox, Loading, PlainTable } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { ChangeList } from './change-list.tsx'
import { type Change, changesBetween } from './diff.ts'

type JobVersion = JobVersionList['versions'][number]

export function Versions({ jobId }: { jobId: string }) {
  const list = useList<JobVersion>(`/jobs/${jobId}/versions`, 'versions', {
    query: { limit: 50, include: 'payload' },
  })
  const [chosen, setChosen] = useState<{ old?: number; young?: number }>({})
  if (list.error !== null) return <ErrorBox error={list.error} />
  if (list.isLoading) return <Loading />
  const versions = list.items
  const young = versions.find(({ version }) => version === chosen.young) ?? versions[0]
  const old =
    versions.find(({ version }) => version === chosen.old) ??
    versions.find(({ version }) => version < (young?.version ?? 0))
  const options = versions.map(({ version: value }) => ({ value, name: `version ${value}` }))
  if (young === undefined) return <Empty title="No version is kept." />
  return (
    <>
      {old === undefined ? (
        <p className="dim">
          There is one version. A change makes the next, and the difference is shown here.
        </p>
      ) : (
        <section aria-label="Difference" className="version-diff">
          <p className="inline-field">
            <Select
              aria-label="Older version"
              value={old.version}
              options={options}
              onText={(version) => setChosen({ old: Number(version), young: young.version })}
            />
            to
            <Select
              aria-label="Newer version"
              value={young.version}
              options={options}
              onText={(version) => setChosen({ old: old.version, young: Number(version) })}
            />
          </p>
          <ChangeList
            label={`From version ${old.version} to ${young.version}`}
            changes={shownChanges(old, young)}
          />
          {[old, young].filter(isPruned).map(({ version }) => (
            <p key={version} className="dim">
              The payload of version {version} is no longer kept, nor its headers, arguments, variables,
              metadata and description: no execution that is kept has run it.
            </p>
          ))}
        </section>
      )}
      <PlainTable heads={['Version', 'When', 'By', 'What changed']}>
        {versions.map((one, index) => (
          <tr key={one.version}>
            <th scope="row">{one.version}</th>
            <td>
              <Time at={one.created_at} missing="not known" />
            </td>
            <td>{one.created_by ?? 'not known'}</td>
            <td>{summary(one, versions[index + 1])}</td>
          </tr>
        ))}
      </PlainTable>
      {list.hasMore && (
        <Button busy={list.isFetchingMore} onClick={list.fetchMore}>
          Older versions
        </Button>
      )}
    </>
  )
}

const fieldsMax = 4
const prunedPaths = [
  'description',
  'metadata',
  'execution.payload',
  'execution.headers',
  'execution.args',
  'execution.env',
]

/** An older server prunes nothing. */
function isPruned({ pruned_at: at }: JobVersion): boolean {
  return (at ?? null) !== null
}

/** Without the parts that one of the two has lost: nothing is known of them. */
function shownChanges(old: JobVersion, young: JobVersion): Change[] {
  const changes = changesBetween(old.job, young.job)
  if (!isPruned(old) && !isPruned(young)) return changes
  return changes.filter(({ path }) => !prunedPaths.some((one) => path === one || path.startsWith(`${one}.`)))
}

function summary(one: JobVersion, before: JobVersion | undefined): string {
  if (before === undefined) return one.version === 1 ? 'created' : ''
  const fields = [...new Set(shownChanges(before, one).map(({ path }) => path.split('.')[0]!))]
  const more = fields.length > fieldsMax ? `, and ${fields.length - fieldsMax} more` : ''
  if (fields.length === 0 && (isPruned(before) || isPruned(one))) return 'a value that is no longer kept'
  return fields.length === 0 ? 'a value that is not shown' : fields.slice(0, fieldsMax).join(', ') + more
}
