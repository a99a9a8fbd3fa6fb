// Child processes that do not outlive us. The leash is a shell that holds the reading end of a pipe of ours: when
// we die, however we die, the pipe closes and the leash stops the child. So nothing is left running, not even
// after kill -9.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { SystemUser } from '../lib/system-users.ts'

export interface Leash {
  /** Pid of the shell, which is the parent of the command it runs. */
  readonly pid: number | undefined
  /** Resolves once the child, and with it the leash, has ended: to its exit code, or to why it never ran. */
  ended: Promise<number | string>
  /** Stops the child as our death would. */
  release(): void
}

export interface LeashOptions {
  /** Whom the child runs as; null: us. */
  user: SystemUser | null
  /** Where standard output and error go. */
  output: number
  /** Handed over as file descriptor 3. */
  descriptor: number | 'ignore'
}

// The reader is a process of its own: should the shell be killed, it still stops the child when we die. It asks
// until the child is gone, because in its first moments the child ignores SIGINT, as background jobs do.
const runScript = `
exec 4<&0
"$@" 4<&- </dev/null &
child=$!
( read _ <&4; while kill -INT "$child" 2>/dev/null; do sleep 0.2; done ) </dev/null >/dev/null 2>&1 3<&- &
reader=$!
exec 4<&-
wait "$child"
code=$?
kill "$reader" 2>/dev/null
exit "$code"`

// For a process somebody else started and left: it cannot be waited for, only looked at.
const adoptScript = `
exec 4<&0
( read _ <&4; while kill -INT "$1" 2>/dev/null; do sleep 0.2; done ) </dev/null &
reader=$!
exec 4<&-
while kill -0 "$1" 2>/dev/null; do sleep 1; done
kill "$reader" 2>/dev/null`

export function runOnLeash(command: readonly string[], { user, output, descriptor }: LeashOptions): Leash {
  return leashOf(
    spawn('/bin/sh', ['-c', runScript, 'carillon-leash', ...command], {
      ...childOptions(user),
      stdio: ['pipe', output, output, descriptor],
    }),
  )
}

export function adoptOnLeash(pid: number, user: SystemUser | null): Leash {
  return leashOf(
    spawn('/bin/sh', ['-c', adoptScript, 'carillon-leash', String(pid)], {
      ...childOptions(user),
      stdio: ['pipe', 'ignore', 'ignore'],
    }),
  )
}

function childOptions(user: SystemUser | null) {
  return {
    ...(user ?? {}),
    cwd: '/',
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    // A session of its own: Ctrl-C reaches us, and the child only once we have drained.
    detached: true,
  }
}

function leashOf(child: ChildProcess): Leash {
  const stdin = child.stdin!
  stdin.on('error', () => {}) // the leash ended first; there is nothing left to tell it
  return {
    pid: child.pid,
    ended: new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
      child.once('error', (error) => resolve(error.message))
    }),
    release: () => stdin.destroy(),
  }
}

export function isAlive(pid: number): boolean {
  return sendSignal(pid, 0) && !isZombie(pid)
}

// Dead, and waiting for a parent that may never ask: in a container nobody may be there to.
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return true // gone between the two looks
  }
}

export function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // alive, and another user's
  }
}
