// The 64 slices of all jobs and which scheduler fires each: a colour, and always the letter too.
import type { PartitionList } from '@carillon/contract/partition.ts'
import { Icon } from '../../components/icon.tsx'
import { plural, shortId } from '../../lib/format.ts'
import { holdersOf } from './holders.ts'

export function PartitionGrid({ list }: { list: PartitionList }) {
  const holders = holdersOf(list)
  const free = list.partitions.filter(({ scheduler_id }) => scheduler_id === null).length
  return (
    <>
      <p className="dim">
        Every job belongs to one of {list.partitions.length} partitions. The scheduler that holds a partition
        fires its slots; when it dies, another takes over within seconds.
      </p>
      {free > 0 && (
        <p className="field-error" role="alert">
          <Icon name="warn" /> {plural(free, 'partition')} held by nobody: their slots wait until a scheduler
          takes them.
        </p>
      )}
      <ul className="holders" aria-label="Schedulers">
        {[...holders.values()].map(({ schedulerId, letter, colour, partitions }) => (
          <li key={schedulerId}>
            <span className={`partition holder-${colour}`} aria-hidden="true">
              {letter}
            </span>
            <span title={schedulerId}>
              Scheduler {letter} <span className="dim">{shortId(schedulerId)}</span>: alive, holds{' '}
              {plural(partitions, 'partition')}
            </span>
          </li>
        ))}
      </ul>
      <ol className="partitions" aria-label="Partitions" start={0}>
        {list.partitions.map(({ partition_id, scheduler_id }) => {
          const holder = scheduler_id === null ? undefined : holders.get(scheduler_id)
          const text = holder === undefined ? 'held by nobody' : `held by scheduler ${holder.letter}`
          return (
            <li
              key={partition_id}
              className={`partition ${holder === undefined ? 'holder-none' : `holder-${holder.colour}`}`}
              title={`Partition ${partition_id}: ${text}`}
            >
              <span aria-hidden="true">
                <small>{partition_id}</small> {holder?.letter ?? '–'}
              </span>
              <span className="unseen">
                Partition {partition_id}: {text}
              </span>
            </li>
          )
        })}
      </ol>
    </>
  )
}
