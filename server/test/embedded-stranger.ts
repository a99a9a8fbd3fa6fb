// A process of another user that looks for a way into an embedded PostgreSQL: a socket directory, ids of a user and its group, and
// roles.
// Prints the role that let it in, or the error, for each role.
import pg from 'pg'

const [host, uid, gid, ...roles] = process.argv.slice(2) as [string, string, string, ...string[]]
process.setgroups!([])
process.setgid!(Number(gid))
process.setuid!(Number(uid))
for (const user of roles) {
  const client = new pg.Client({ host, user, database: 'postgres', connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    console.log(`in as ${user}`)
  } catch (error) {
    console.log((error as Error).message)
  }
  await client.end().catch(() => {})
}
