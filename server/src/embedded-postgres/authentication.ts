// Connections to the embedded PostgreSQL: by its socket alone, and only of root and of our own user, as the kernel names
// them (`peer`). Not of the system user that PostgreSQL runs as: another program could run as it. Both files are
// ours and written at each start.
import { chown, rename, rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { OperatingError } from '../lib/operating-error.ts'
import { programRole } from '../lib/program-role.ts'
import type { SystemUser } from '../lib/system-users.ts'

/** The superuser: makes the role and the database, and holds the lock of the owner. */
export const superuser = 'postgres'

const note = '# Written by Carillon at each start: changes here are lost.\n'
const rules = `${note}local all all peer map=carillon\n`

/** `user` as whom PostgreSQL runs, which has to read the files. */
export async function writeAuthentication(pgDir: string, user: SystemUser | null): Promise<void> {
  const names = [...new Set(['root', findOwnName()])]
  const map = names.flatMap((name) =>
    [programRole, superuser].map((role) => `carillon ${quote(name)} ${role}\n`),
  )
  await replace(join(pgDir, 'pg_ident.conf'), `${note}${map.join('')}`, user)
  await replace(join(pgDir, 'pg_hba.conf'), rules, user)
}

function findOwnName(): string {
  try {
    return userInfo().username
  } catch (cause) {
    throw new OperatingError(
      `The user with id ${process.getuid?.()} has no name, by which PostgreSQL knows its clients. ` +
        'Add it to the users of this machine, or start Carillon as another user.',
      { cause },
    )
  }
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Written aside, as PostgreSQL may read at any moment; `wx` follows no link that the owner of the directory left there. */
async function replace(file: string, text: string, user: SystemUser | null): Promise<void> {
  const draft = `${file}.draft-${process.pid}`
  await rm(draft, { force: true })
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  if (user !== null) await chown(draft, user.uid, user.gid)
  await rename(draft, file)
}
