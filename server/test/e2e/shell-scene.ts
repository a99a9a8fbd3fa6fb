// A server that runs one shell command, whose script a test gives.
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi, type ExecutionItem, until } from './api.ts'
import { Program } from './program.ts'

interface Attempted extends ExecutionItem {
  dead_letter: boolean
  attempts: {
    attempt_number: number
    outcome: string
    error: { type: string; message: string } | null
    response_preview?: string | null
    usage: { cpu_ms: number | null; bytes_sent: number | null; bytes_received: number | null }
  }[]
}

export async function start(t: TestContext, script: string) {
  const dataDir = await makeDataDir(t)
  const dir = dirname(dataDir)
  // For the user that commands of a server of root run as.
  await chmod(dir, 0o777)
  const command = join(dir, 'job.sh')
  await writeFile(command, `#!/bin/sh\n${script}\n`)
  await chmod(command, 0o755)
  const launch = async () => {
    const program = new Program(t, {
      dataDir,
      env: {
        CARILLON_SHELL_COMMANDS: `${command}?env=OUT&env=MINE`,
        CARILLON_LOG_LEVEL: 'warn',
        CARILLON_DRAIN_SECONDS: '5',
        SECRET_OF_THE_SERVER: 'x',
      },
    })
    const url = await program.ready()
    return { program, api: callApi(url, program.key()) }
  }
  const { program, api } = await launch()
  const restart = async () => (await launch()).api
  const createJob = async (execution: object, more: object = {}) => {
    const job = {
      name: 'by hand',
      schedule: '0 0 1 1 *',
      execution,
      retry_policy: { max_retries: 0 },
      ...more,
    }
    return (await api.post<{ job_id: string }>('/jobs', job)).job_id
  }
  const trigger = async (jobId: string) =>
    (await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {})).execution_id
  const run = async (execution: object, more: object = {}) =>
    trigger(await createJob({ type: 'shell', command, ...execution }, more))
  return { program, api, dir, command, createJob, trigger, run, restart }
}

export const pidsIn = async (file: string) =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number)

export async function ended(api: Api, id: string): Promise<Attempted> {
  return until(async () => {
    const item = await api.get<Attempted>(`/executions/${id}`)
    return ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED'].includes(item.status) ? item : null
  }, `${id} is over`)
}
