// Partition leases on PostgreSQL.
import { partitionsCount } from '../../domain/jobs/job.ts'
import type { Beat } from '../../domain/queue/lease-watch.ts'
import type { Partitions, PartitionView } from '../../ports/partitions.ts'
import type { Database } from '../connection/database.ts'
import { generation } from '../connection/generation.ts'
import * as statements from './partitions.sql.ts'

export class PostgresPartitions implements Partitions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async join(schedulerId: string): Promise<void> {
    await this.#database.query(statements.insertScheduler, [schedulerId, generation])
  }

  async beat(schedulerId: string): Promise<'held' | 'lost'> {
    const { count } = await this.#database.query(statements.beatScheduler, [schedulerId])
    return count === 1 ? 'held' : 'lost'
  }

  async leave(schedulerId: string): Promise<void> {
    await this.#database.query(statements.deleteScheduler, [schedulerId])
  }

  async view(): Promise<PartitionView> {
    const { rows } = await this.#database.query<ViewRow>(statements.selectPartitions, [])
    const view: PartitionView = { schedulers: [], holders: new Array(partitionsCount).fill(null) }
    for (const { scheduler_id: id, beats, partition_id: partition } of rows) {
      if (partition === null) view.schedulers.push({ holderId: id!, beats: beats! })
      else view.holders[partition] = id
    }
    view.schedulers.sort((a, b) => (a.holderId < b.holderId ? -1 : 1))
    return view
  }

  async take(schedulerId: string, partitionIds: readonly number[]): Promise<number[]> {
    if (partitionIds.length === 0) return []
    const values = [schedulerId, partitionIds]
    const { rows } = await this.#database.query<{ partition_id: number }>(statements.takePartitions, values)
    return rows.map((row) => row.partition_id)
  }

  async release(schedulerId: string, partitionIds: readonly number[]): Promise<void> {
    if (partitionIds.length > 0)
      await this.#database.query(statements.releasePartitions, [schedulerId, partitionIds])
  }

  async expel({ holderId, beats }: Beat): Promise<'expelled' | 'alive'> {
    const { count } = await this.#database.query(statements.deleteSilentScheduler, [holderId, beats])
    return count === 1 ? 'expelled' : 'alive'
  }
}

interface ViewRow {
  scheduler_id: string | null
  beats: number | null
  partition_id: number | null
}
