// The cluster under test: PostgreSQL, and three schedulers, three workers and two APIs around it, each behind a proxy
// of its own.
import { randomBytes } from 'node:crypto'
import { ChaosNode, NODE_ROLES, type NodeRole } from './chaos-node.ts'
import { Disk } from './disk.ts'
import type { Guard } from './guard.ts'
import { ChaosPostgres, databaseName, freePort, roleName } from './postgres.ts'
import { startProxy } from './proxy.ts'

export interface ClusterOptions {
  dir: string
  guard: Guard
  /** Whether PostgreSQL's data lies on a disk that can be filled. */
  ownDisk: boolean
  random: () => number
}

export interface Cluster extends AsyncDisposable {
  postgres: ChaosPostgres
  disk: Disk | null
  nodes: readonly ChaosNode[]
  key: string
  /** Restores every link, resumes paused processes and starts the stopped ones. */
  heal(): Promise<void>
}

const counts: Readonly<Record<NodeRole, number>> = { scheduler: 3, worker: 3, api: 2 }
/** Attempts until all are up; a failed start is tried again, as an operator would. */
const startsMax = 5

export async function startCluster({ dir, guard, ownDisk, random }: ClusterOptions): Promise<Cluster> {
  await using resources = new AsyncDisposableStack()
  const disk = ownDisk ? resources.use(await Disk.mount(`${dir}/disk`, guard)) : null
  const postgres = resources.use(await ChaosPostgres.open(dir, disk?.path ?? dir))
  const key = `chaos_${randomBytes(16).toString('hex')}`
  const nodes: ChaosNode[] = []
  for (const role of NODE_ROLES) {
    for (let number = 1; number <= counts[role]; number++) {
      const proxy = resources.use(
        await startProxy({ target: { host: '127.0.0.1', port: postgres.port }, random }),
      )
      const databaseUrl = proxy.databaseUrl(databaseName, `${roleName}:${postgres.password}`)
      const port = role === 'api' ? await freePort() : 0
      nodes.push(
        new ChaosNode({ name: `${role}-${number}`, role, dir, guard, proxy, databaseUrl, key, port }),
      )
    }
  }
  resources.defer(async () => {
    await Promise.all(nodes.map((node) => node.kill()))
    for (const node of nodes) node.close()
  })
  // One brings the schema, the others find it.
  await startNode(nodes[0]!)
  await Promise.all(nodes.slice(1).map(startNode))
  const started = resources.move()
  return {
    postgres,
    disk,
    nodes,
    key,
    async heal() {
      await disk?.empty()
      for (const { proxy } of nodes) proxy.heal()
      for (const node of nodes) node.resume()
      await postgres.start()
      await postgres.limitSessions(null)
      await Promise.all(nodes.map((node) => node.isRunning || startNode(node)))
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

export async function startNode(node: ChaosNode): Promise<void> {
  for (let starts = 1; !(await node.start()); starts++) {
    await node.kill()
    if (starts === startsMax) throw new Error(`${node.name} does not start; see its log`)
  }
}
