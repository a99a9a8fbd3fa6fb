// PostgreSQL refuses to run as root. As root we therefore run it as the system user `carillon`, which nothing else uses,
// or as the owner of existing data; as any other user we run it as ourselves. Data that an earlier version gave to `nobody`
// gets a new owner at the next start of PostgreSQL (hand-over.ts).
import { stat } from 'node:fs/promises'
import { OperatingError } from '../lib/operating-error.ts'
import {
  findListed,
  makeUser,
  readUsers,
  type SystemUser,
  thisSystem,
  type Users,
} from '../lib/system-users.ts'
import { postgresUserMade, postgresUserUnnamed } from '../telemetry/events.ts'

export type { SystemUser }

const systemUserName = 'carillon'

/** Where no user can be made: ids that Linux distributions leave unused. */
const freeIds = { first: 61_100, last: 61_183 }
/** Of `nobody` where the list of users has none. */
const usualNobody = 65_534

/** Null: run as ourselves. */
export async function chooseUser(pgDir: string, users: Users = thisSystem): Promise<SystemUser | null> {
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
  // Elsewhere a user that cannot reach the data by its path cannot be handed the directory either.
  if (process.platform !== 'linux') {
    throw new OperatingError('PostgreSQL does not run as root. Start Carillon as an ordinary user.')
  }
  if (owner?.uid === 0) {
    const { uid, gid } = await ownUser(users)
    throw new OperatingError(
      `${pgDir} belongs to root, as whom PostgreSQL does not run. Give it away: chown -R ${uid}:${gid} ${pgDir}`,
    )
  }
  if (owner !== null && !(await isStandIn(owner.uid, users))) return owner
  return ownUser(users, owner)
}

/** As whom to run initdb, which refuses a user without a name. */
export async function initdbUser(user: SystemUser | null): Promise<SystemUser | null> {
  if (user === null) return null
  const known = await readUsers(thisSystem)
  if (known.some(({ uid }) => uid === user.uid)) return user
  const nobody = known.find(({ name }) => name === 'nobody')
  if (nobody === undefined) {
    throw new OperatingError(
      `The user with id ${user.uid}, as whom PostgreSQL is to run, has no name. Make the user ` +
        `\`${systemUserName}\` (useradd --system ${systemUserName}), or start Carillon as an ordinary user.`,
    )
  }
  return { uid: nobody.uid, gid: nobody.gid }
}

/** Owners that only stand in for `carillon`: other programs may run as `nobody`, and a free id may be given away. */
async function isStandIn(uid: number, users: Users): Promise<boolean> {
  if (uid === usualNobody || isFree(uid)) return true
  return uid === (await findListed('nobody', users))?.uid
}

function isFree(uid: number): boolean {
  return uid >= freeIds.first && uid <= freeIds.last
}

async function ownUser(users: Users, owner: SystemUser | null = null): Promise<SystemUser> {
  const found = await findListed(systemUserName, users)
  if (found !== null) return found
  const reason = await makeUser(systemUserName, users)
  const made = await findListed(systemUserName, users)
  if (made !== null) {
    postgresUserMade.emit({ name: systemUserName, uid: made.uid })
    return made
  }
  const unnamed = owner !== null && isFree(owner.uid) ? owner : await findFreeId(users)
  postgresUserUnnamed.emit({ name: systemUserName, uid: unnamed.uid, reason })
  return unnamed
}

async function findFreeId(users: Users): Promise<SystemUser> {
  const taken = new Set((await readUsers(users)).map(({ uid }) => uid))
  for (let uid = freeIds.first; uid <= freeIds.last; uid++) if (!taken.has(uid)) return { uid, gid: uid }
  throw new OperatingError(
    `PostgreSQL does not run as root, and no user can be made for it. Make the user \`${systemUserName}\` ` +
      `(useradd --system ${systemUserName}), or start Carillon as an ordinary user.`,
  )
}
