// Routes that have something to claim, on PostgreSQL.
import type { Routes } from '../../ports/routes.ts'
import type { Database } from '../connection/database.ts'
import { countWaiting, selectWaitingRoutes } from './routes.sql.ts'

export class PostgresRoutes implements Routes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async findWaiting(prefixes: readonly string[], limit: number): Promise<string[]> {
    if (prefixes.length === 0) return []
    const { rows } = await this.#database.query<{ route: string }>(selectWaitingRoutes, [prefixes, limit])
    return rows.map(({ route }) => route)
  }

  async countWaiting(routes: readonly string[], max: number): Promise<number> {
    const { rows } = await this.#database.query<{ waiting: number }>(countWaiting, [routes, max])
    return rows[0]!.waiting
  }
}
