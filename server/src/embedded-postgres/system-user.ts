// PostgreSQL refuses to run as root. As root we therefore run it as the owner of the data, or as `nobody` when there is
// none yet; as any other user we run it as ourselves.
import { readFile, stat } from 'node:fs/promises'
import { OperatingError } from '../lib/operating-error.ts'

export interface SystemUser {
  uid: number
  gid: number
}

/** Null: run as ourselves. */
export async function chooseUser(pgDir: string): Promise<SystemUser | null> {
  const self = process.getuid?.()
  const owner = await stat(pgDir).then(
    ({ uid, gid }) => ({ uid, gid }),
    () => null,
  )
  if (self !== 0) {
    if (owner !== null && owner.uid !== self) {
      throw new OperatingError(
        `${pgDir} belongs to the user with id ${owner.uid}, and we run as ${self}. ` +
          'Start as that user, or set CARILLON_DATA to a directory of your own.',
      )
    }
    return null
  }
  if (owner === null) return findNobody()
  if (owner.uid === 0) {
    const { uid, gid } = await findNobody()
    throw new OperatingError(
      `${pgDir} belongs to root, as whom PostgreSQL does not run. Give it away: chown -R ${uid}:${gid} ${pgDir}`,
    )
  }
  return owner
}

async function findNobody(): Promise<SystemUser> {
  const passwd = await readFile('/etc/passwd', 'utf8')
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? []
  if (uid === undefined || gid === undefined) {
    throw new OperatingError(
      'PostgreSQL does not run as root, and there is no user `nobody` to run it as. Start Carillon as an ordinary user.',
    )
  }
  return { uid: Number(uid), gid: Number(gid) }
}
