// A program that is started with `--demo`.
import type { TestContext } from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi } from './api.ts'
import { Program } from './program.ts'

export interface Page {
  pagination: { total: number }
}

export async function prepareDemo(t: TestContext) {
  const dataDir = await makeDataDir(t)
  const start = (added: readonly string[] = [], env: Record<string, string> = {}) =>
    new Program(t, { dataDir, arguments: added, env: { CARILLON_PROCESSES: '1', ...env } })
  return { start }
}

export async function openApi(program: Program): Promise<Api> {
  return callApi(await program.ready(), program.key())
}
