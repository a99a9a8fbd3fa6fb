// The database connections that a process opens beside its pool, and the number that an embedded PostgreSQL needs for all
// processes of one start.
import { type Config, runsCommands } from '../config/read.ts'

/** Renewal has a connection of its own: a pool that is all in use must not cost a lease. */
export const leaseConnections = 1
/** Wake-ups are listened to on one. */
const listenConnections = 1
/** Live views have connections of their own, in the process with the api role. */
export const eventConnections = 2
/** Lists, searches and history are read on connections of their own, in the process with the api role. */
export const readConnections = 4
/** Of them, for operators only. */
export const readConnectionsOfOperators = 1
/** Of them, for one tenant while another exists. */
export const readConnectionsShare = 2
/** For the lock of the owner, a person with psql, and the ones that PostgreSQL reserves for a superuser. */
const spareConnections = 20
/** The default of PostgreSQL. */
const leastConnections = 100

export interface ConnectionNeeds {
  /** Server processes, and the process of commands where there is one. */
  processes: number
  /** The pool of each process, at most. */
  databaseConnections: number
}

/** Of all processes of a start, when every pool is full. */
export function connectionsWanted({ processes, databaseConnections }: ConnectionNeeds): number {
  const ofEach =
    databaseConnections + leaseConnections + listenConnections + eventConnections + readConnections
  return processes * ofEach
}

/** For an embedded PostgreSQL. */
export function connectionsNeeded(needs: ConnectionNeeds): number {
  return Math.max(leastConnections, connectionsWanted(needs) + spareConnections)
}

/** The handlers of a file run in a process that asks the API, not the database. */
export function connectionNeedsOf(config: Config): ConnectionNeeds {
  const { processes, databaseConnections } = config
  return { processes: processes + Number(runsCommands(config)), databaseConnections }
}
