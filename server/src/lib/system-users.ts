// Users of the operating system: found by name, and made where the machine has a program for it.
import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

export interface SystemUser {
  uid: number
  gid: number
}

export interface Users {
  /** The list of users. */
  file: string
  /** Commands that add a system user, tried in turn; its name is appended. */
  makers: readonly (readonly [string, ...string[]])[]
}

/** A made user has no home, no password and no shell, and a group of its own. */
export const thisSystem: Users = {
  file: '/etc/passwd',
  makers: [
    [
      'useradd',
      ...['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'],
      ...['--shell', '/usr/sbin/nologin', '--comment', 'Carillon'],
    ],
    // BusyBox has no useradd.
    ['adduser', '-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin'],
  ],
}

const run = promisify(execFile)
const commandMsMax = 30_000

export async function readUsers({ file }: Users): Promise<(SystemUser & { name: string })[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
  return lines.flatMap((line) => {
    const [, name, uid, gid] = /^([^:]+):[^:]*:(\d+):(\d+):/.exec(line) ?? []
    return name === undefined ? [] : [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}

/** Of the list alone. Null: there is none, or it is another name of root. */
export async function findListed(name: string, users: Users): Promise<SystemUser | null> {
  const found = (await readUsers(users)).find((user) => user.name === name && user.uid !== 0)
  return found === undefined ? null : { uid: found.uid, gid: found.gid }
}

/** Also a user of a directory service. Null: there is none. */
export async function findUser(name: string): Promise<SystemUser | null> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) =>
        Number((await run('id', [flag, name], { timeout: commandMsMax })).stdout),
      ),
    )
    return { uid: uid!, gid: gid! }
  } catch {
    return null
  }
}

/** Returns the reason of a failure, empty when a command succeeded; the list of users says whether the user is there. */
export async function makeUser(name: string, { makers }: Users): Promise<string> {
  const reasons: string[] = []
  for (const [command, ...options] of makers) {
    try {
      await run(command, [...options, name], {
        env: { LC_ALL: 'C', PATH: '/usr/sbin:/sbin:/usr/bin:/bin' },
        timeout: commandMsMax,
      })
      return ''
    } catch (error) {
      const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
      reasons.push(code === 'ENOENT' ? `there is no ${command}` : (stderr || message).trim().slice(0, 500))
    }
  }
  return reasons.join('; ')
}

/** The file, or the directory above it, that the user may not open; null: it may. `path`: without links. */
export async function findClosed(path: string, user: SystemUser): Promise<string | null> {
  const above = dirname(path)
  const closed = above === path ? null : await findClosed(above, user)
  if (closed !== null) return closed
  const found = await stat(path)
  const { uid, gid, mode } = found
  const wanted = found.isDirectory() ? 0o1 : 0o4
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
  return ((mode >> shift) & wanted) === 0 ? path : null
}
