// The output for a person at the terminal. Standard output is for people, standard error for logs.
import type { OperatorKey } from '../config/operator-key.ts'

export interface Started {
  version: string
  url: string | null
  /** Where probes are answered by a process without an API; null: nowhere. */
  probesUrl: string | null
  /** Opens a session once; null: not shown. */
  code: string | null
  roles: readonly string[]
  processes: number
  operatorKey: OperatorKey
  /** Whether the example may call /echo without a key. */
  isEchoOpen: boolean
  /** Whether the key may be shown: only while nobody else can reach the API. */
  showKey: boolean
  database: string
  dataDir: string
}

export function sayPreparing(dataDir: string): void {
  console.log(`Starting Carillon on ${dataDir} …`)
}

export function sayStarted(started: Started): void {
  const { version, url, probesUrl, code, roles, processes, operatorKey, showKey, database, dataDir } = started
  const rows: [string, string][] = []
  if (url !== null) {
    rows.push(['Open', code === null ? url : `${url}/#code=${code}  (one-time link)`])
    rows.push(['API', url])
    rows.push(['Key', describeKey(operatorKey, showKey)])
  }
  if (probesUrl !== null) rows.push(['Probes', `${probesUrl}/livez, /readyz, /metrics`])
  rows.push(['Data', `${dataDir} (${database})`])
  rows.push([
    'Roles',
    roles.join(', ') + (processes > 1 ? ` in ${processes} processes (CARILLON_PROCESSES)` : ''),
  ])
  if (url !== null && started.isEchoOpen) {
    const key = operatorKey.file === null ? '$CARILLON_API_KEY' : `$(cat ${quote(operatorKey.file)})`
    const auth = `-H "Authorization: Bearer ${key}"`
    // Sixty executions, one a second; then the job is complete.
    const body = {
      name: 'hello',
      schedule: 'R60/PT1S',
      execution: { callback_url: `${url}/echo`, payload: { hello: 'world' } },
    }
    rows.push([
      'Try it',
      `curl ${auth} -H 'Content-Type: application/json' ${url}/api/v1/jobs -d '${JSON.stringify(body)}'`,
    ])
    rows.push(['', `curl ${auth} ${url}/api/v1/jobs/JOB_ID/executions    # JOB_ID from the first answer`])
  }
  console.log(`\nCarillon ${version} is ready.\n`)
  for (const [name, text] of rows) console.log(`  ${name.padEnd(8)}${text}`)
  console.log('\nCtrl-C stops everything.')
}

export function sayBuilding(): void {
  console.log('Building the dashboard …')
}

export function sayDemo(text: string): void {
  console.log(text)
}

export function sayUnbuilt(reason: string): void {
  console.error(`carillon: The dashboard could not be built; everything else is running: ${reason}`)
}

export function sayStopping(): void {
  console.log('\nStopping …')
}

export function sayStopped(): void {
  console.log('Stopped. Nothing is left running.')
}

export function sayError(text: string): void {
  console.error(`carillon: ${text}`)
}

function describeKey({ key, file }: OperatorKey, showKey: boolean): string {
  if (file === null) return 'the one in CARILLON_API_KEY'
  return showKey ? `${key} (kept in ${file})` : `in ${file}`
}

function quote(path: string): string {
  return /^[\w/.-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
