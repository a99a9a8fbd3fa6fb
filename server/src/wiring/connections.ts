// The database connections that a process opens beside its pool, and the number that an embedded PostgreSQL needs for all
// processes of one start.

/** Renewal has a connection of its own: a pool that is all in use must not cost a lease. */
export const leaseConnections = 1
/** Wake-ups are listened to on one. */
const listenConnections = 1
/** Live views have connections of their own, in the process with the api role. */
export const eventConnections = 2
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

export function connectionsNeeded({ processes, databaseConnections }: ConnectionNeeds): number {
  const ofEach = databaseConnections + leaseConnections + listenConnections + eventConnections
  return Math.max(leastConnections, processes * ofEach + spareConnections)
}
