// The servers that run for all browser tests.
import { Api } from './api.ts'

export type ServerName = 'plain' | 'demo'

export interface RunningServer {
  url: string
  /** The operator key. */
  key: string
  /** The one-time link that the start printed. */
  link: string
  pid: number
  api: Api
}

export function variableOf(name: ServerName): string {
  return `BROWSER_TEST_${name.toUpperCase()}`
}

export function serverOf(name: ServerName): RunningServer {
  const told = JSON.parse(process.env[variableOf(name)]!) as Omit<RunningServer, 'api'>
  return { ...told, api: new Api(told) }
}
