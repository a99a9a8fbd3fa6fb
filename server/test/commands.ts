// Helpers for tests that run real commands: a call, a context that keeps the output, and the process groups that were
// started.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Execution } from '../src/domain/jobs/job.ts'
import { isAlive } from '../src/embedded-postgres/leash.ts'
import type { SystemUser } from '../src/lib/system-users.ts'
import { epochMs } from '../src/lib/time/epoch.ts'
import { realTimers } from '../src/lib/time/timers.ts'
import type { CallContext, LocalCall } from '../src/ports/executor.ts'
import { CommandProcesses } from '../src/worker/executors/attempt-processes.ts'
import type { Groups } from '../src/worker/executors/command-process.ts'
import { cleanUp } from './cleanup.ts'

export async function setupCommands(t: TestContext) {
  const base = await mkdtemp(join(tmpdir(), 'carillon-commands-'))
  const processes = new CommandProcesses(base)
  cleanUp(t, async () => {
    processes.killAll()
    await processes.remove()
    await rm(base, { recursive: true, force: true })
  })
  const known = new Set<number>()
  const all: number[] = []
  const groups: Groups & { inHaste: boolean } = {
    inHaste: false,
    async started(group) {
      known.add(group)
      all.push(group)
    },
    ended: (group) => void known.delete(group),
  }
  cleanUp(t, () => untilEnded(all))
  const variables = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  const limits = { fileMb: 100, processesMax: 4_096 }
  const deps = {
    timers: realTimers,
    groups,
    processes,
    base,
    user: null as SystemUser | null,
    limits,
    variables,
  }
  const script = async (name: string, text: string) => {
    const file = join(base, name)
    await writeFile(file, `#!/bin/sh\n${text}\n`)
    await chmod(file, 0o755)
    return file
  }
  return { deps, base, groups, known, all, script }
}

/** Processes of a group that have not ended. */
export function membersOf(group: number): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,pgid=,stat=']).toString().trim().split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, pgid, stat]) => Number(pgid) === group && !stat!.startsWith('Z'))
    .map(([pid]) => Number(pid))
}

/** A killed process is gone a moment after its signal was sent; wherever it had gone itself. */
export async function untilGone(pid: number): Promise<void> {
  for (let tries = 0; isAlive(pid); tries++) {
    assert(tries < 100, `${pid} is still running`)
    await realTimers.wait(50)
  }
}

/** A killed process is gone a moment after its signal was sent. */
export async function untilEnded(groups: readonly number[]): Promise<void> {
  for (let tries = 0; groups.flatMap(membersOf).length > 0; tries++) {
    assert(tries < 100, `still running: ${groups.flatMap(membersOf)}`)
    await realTimers.wait(50)
  }
}

export function callOf(execution: Execution, changes: Partial<LocalCall> = {}): LocalCall {
  return {
    execution,
    tenantId: '00000000-0000-7000-8000-000000000001',
    jobId: '00000000-0000-7000-8000-00000000000a',
    jobName: 'a job',
    executionId: '00000000-0000-7000-8000-00000000000e',
    kind: 'slot',
    slot: epochMs(Date.UTC(2026, 0, 1)),
    attempt: 2,
    idempotencyKey: 'k'.repeat(32),
    payload: null,
    timeoutMs: 60_000,
    runId: null,
    parents: [],
    ...changes,
  }
}

type Note = Parameters<CallContext['note']>[0]

/** Keeps the output, and lets a test wait for it. */
export function createListener() {
  const stop = new AbortController()
  const lines: [string, string][] = []
  const notes: Note[] = []
  const used: number[] = []
  const waiting = new Set<() => void>()
  const told = () => {
    for (const look of waiting) look()
  }
  const context: CallContext = {
    signal: stop.signal,
    log(level, message) {
      lines.push([level, message])
      told()
    },
    note(said) {
      notes.push(said)
      told()
    },
    used: (cpuMs) => void used.push(cpuMs),
  }
  /** Resolves with the first line that matches, as soon as it is there. */
  const says = (words: RegExp) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const line = lines.find(([, message]) => words.test(message))
        if (line === undefined) return
        waiting.delete(look)
        resolve(line[1])
      }
      waiting.add(look)
      look()
    })
  return { context, lines, notes, used, says, stop: () => stop.abort() }
}
