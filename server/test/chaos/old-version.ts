// An earlier version of the program to run beside this one: the newest tag before it, else the commit before the newest
// migration. Taken from the repository into the run's directory, with the packages of this checkout where its lock says
// the same.
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkoutDir } from '../../src/config/read.ts'

const run = promisify(execFile)
/** Where migrations are, and where they were before they moved: with both, git sees the move and not new files. */
const migrations = ['server/src/postgres/schema/migrations', 'server/src/store/migrations']
const workspaces = ['cli', 'contract', 'dashboard', 'sdk', 'server']

export interface OldVersion {
  commit: string
  checkout: string
}

/** Rejects with the reason when there is none to be had. */
export async function takeOldVersion(dir: string): Promise<OldVersion> {
  const commit = await findCommit()
  const checkout = join(dir, 'old-version')
  await mkdir(checkout)
  const archive = join(dir, 'old-version.tar')
  await run('git', ['archive', '-o', archive, commit], { cwd: checkoutDir })
  await run('tar', ['-xf', archive, '-C', checkout])
  await linkPackages(checkout)
  return { commit, checkout }
}

async function findCommit(): Promise<string> {
  const tag = await git('describe', '--tags', '--abbrev=0', 'HEAD^').catch(() => '')
  if (tag !== '') return tag
  const added = await git('log', '-1', '--diff-filter=A', '--format=%h', '--', ...migrations)
  if (added === '') throw new Error('this checkout has no history to take an earlier version from')
  return git('rev-parse', '--short', `${added}^`)
}

async function git(...args: string[]): Promise<string> {
  return (await run('git', args, { cwd: checkoutDir })).stdout.trim()
}

async function linkPackages(checkout: string): Promise<void> {
  const [ours, theirs] = await Promise.all(
    [checkoutDir, checkout].map((place) => readFile(join(place, 'package-lock.json'), 'utf8')),
  )
  if (ours !== theirs) {
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: checkout })
    return
  }
  // Each by itself: the links of our workspaces must lead to theirs.
  const from = join(checkoutDir, 'node_modules')
  const to = join(checkout, 'node_modules')
  await mkdir(join(to, '@carillon'), { recursive: true })
  for (const name of await readdir(from))
    if (name !== '@carillon') await symlink(join(from, name), join(to, name))
  for (const name of workspaces) await symlink(join(checkout, name), join(to, '@carillon', name))
}
