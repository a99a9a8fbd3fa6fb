// A primary and a standby that every commit waits for, made from a low-level backup: the embedded binaries have no
// pg_basebackup.
import { execFile } from 'node:child_process'
import { chown, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { findFreePort, OwnPostgres, type PostgresPlace, startOwnPostgres } from './postgres.ts'

const standbyName = 'standby'

export interface Pair {
  primary: OwnPostgres
  standby: OwnPostgres
}

/** With our schema; the standby is up to date, and each commit on the primary waits for it. */
export async function startPair(t: TestContext): Promise<Pair> {
  const primary = await startOwnPostgres(t)
  const place = await backUp(t, primary)
  const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${standbyName}`
  const standby = new OwnPostgres(place, await findFreePort(), { primary_conninfo: conninfo })
  cleanUp(t, () => standby.stop())
  await standby.start()
  await primary.run('postgres', `ALTER SYSTEM SET synchronous_standby_names = '${standbyName}'`)
  await primary.run('postgres', 'SELECT pg_reload_conf()')
  const client = await primary.connect(t)
  await until(async () => {
    const { rows } = await client.query('SELECT sync_state FROM pg_stat_replication')
    return rows[0]?.sync_state === 'sync' ? true : null
  }, 'commits wait for the standby')
  return { primary, standby }
}

/** From here on it takes writes, and commits wait for nobody. */
export async function promote(standby: OwnPostgres): Promise<void> {
  await standby.run('postgres', 'SELECT pg_promote()')
  await standby.run('postgres', 'ALTER SYSTEM RESET synchronous_standby_names')
  await standby.run('postgres', 'SELECT pg_reload_conf()')
}

async function backUp(t: TestContext, primary: OwnPostgres): Promise<PostgresPlace> {
  const { pgDir, user } = primary.place
  const copy = join(dirname(pgDir), standbyName)
  const client = await primary.connect(t)
  await client.query(`SELECT pg_backup_start('standby', true)`)
  // With its owners: the server does not run as root.
  await promisify(execFile)('cp', ['-a', pgDir, copy])
  const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
  await rm(join(copy, 'postmaster.pid'))
  for (const [name, text] of Object.entries({ backup_label: rows[0]!.labelfile, 'standby.signal': '' })) {
    await writeFile(join(copy, name), text, { mode: 0o600 })
    if (user !== null) await chown(join(copy, name), user.uid, user.gid)
  }
  return { ...primary.place, pgDir: copy, logFile: `${primary.place.logFile}.standby` }
}
