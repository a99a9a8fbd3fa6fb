// Meaningful texts, which a schema does not describe. Without them nearly every generated job would be refused for its
// schedule, and nothing behind that check would ever be reached.

const schedules: readonly unknown[] = [
  { type: 'IMMEDIATE' },
  { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' },
  { cron_expression: '*/5 * * * *' },
  { cron_expression: '0 0 2 * * *', timezone: 'Europe/Berlin', dst_gap: 'skip', dst_fold: 'both' },
  { type: 'INTERVAL', every_seconds: 3_600 },
  { interval: 'PT15M', start_at: '2026-01-01T00:00:00Z' },
  { type: 'INTERVAL', every_seconds: 600, after_completion: true, max_runs: 3 },
  {
    cron_expression: '@hourly',
    exclusions: [{ date: '2026-12-25' }, { from: '2027-01-01', to: '2027-01-03' }],
  },
  { type: 'ONE_TIME', scheduled_time: '2031-05-05T05:05:05Z' },
  'every day at 10:00 AM in London',
  '@daily',
  'R/2026-01-01T00:00:00Z/P1D',
]

/** Executors other than HTTP; the handlers are the ones that workers of the fuzz register. */
const calls: readonly unknown[] = [
  { type: 'worker', handler: 'fuzz.a', payload: { a: 1 } },
  { type: 'worker', handler: 'fuzz.a', labels: [] },
  { type: 'worker', handler: 'fuzz.b', labels: ['eu'], heartbeat_timeout_seconds: 60 },
  { type: 'worker', handler: 'fuzz.b', total_timeout_seconds: 600 },
  { type: 'shell', command: '/bin/true', args: ['-a'], env: { A: '1' } },
  { type: 'artifact', artifact_id: 'fuzz-1', entrypoint: 'main:run' },
]

const instants = ['2026-01-01T00:00:00Z', '2031-12-31T23:59:59Z', '2026-07-01T12:00:00+02:00']
const days = ['2026-01-01', '2026-12-31', '2027-02-28T10:00:00Z']

export type Hints = Readonly<Record<string, readonly unknown[]>>

/** By the name of the field or parameter. `origin`: of the API itself, which jobs may call. */
export function hintsFor(origin: string): Hints {
  const targets = targetsOf(origin).map((callback_url) => ({ callback_url }))
  // Mostly HTTP: some of these executions end as dead letters, which the fuzz needs too.
  const executions = [...targets, ...targets, ...calls]
  return { ...meanings, callback_url: targetsOf(origin), execution: executions }
}

/** Targets on this machine only: one that answers, one that refuses for good, one that nobody listens at. */
export function targetsOf(origin: string): string[] {
  return [`${origin}/echo`, `${origin}/echo?status=404`, 'http://127.0.0.1:9/fuzz']
}

const meanings: Hints = {
  schedule: schedules,
  cron_expression: ['0 10 * * *', '@hourly', '*/15 9-17 * * MON-FRI', '0 0 29 2 *'],
  timezone: ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'],
  time_zone: ['UTC', 'Asia/Tokyo'],
  interval: ['PT15M', 'P1D', 'R/2026-01-01T00:00:00Z/PT1H'],
  scheduled_time: ['2031-05-05T05:05:05Z'],
  start_at: instants,
  end_at: ['2035-01-01T00:00:00Z'],
  start_date: days,
  end_date: days,
  from: ['2026-01-01T00:00:00Z', '2026-06-01T00:00:00Z'],
  to: ['2026-06-02T00:00:00Z', '2026-12-31T00:00:00Z'],
  at: instants,
  date: ['2026-12-25', '2027-01-01'],
  exclusions: [
    [],
    [{ date: '2026-12-25' }],
    [{ from: '2026-12-24', to: '2026-12-26' }, { date: '2027-01-01' }],
  ],
  entries: [[], [{ date: '2026-12-25' }], [{ from: '2026-12-24T12:00:00', to: '2026-12-26' }]],
  concurrency_key: [
    { key: 'database', limit: 2 },
    { key: 'billing', limit: 1 },
  ],
  jitter_seconds: [0, 5, 30],
  handlers: [['fuzz.a', 'fuzz.b'], ['fuzz.a']],
  labels: [[], ['eu']],
  attempt_number: [1, 1, 1, 2],
  fence: [1, 1, 1, 2],
  lines: [
    [{ message: 'a line' }],
    [{ message: 'two', level: 'warn', at: '2026-01-01T00:00:00Z' }, { message: '' }],
  ],
  payload: [{ report: 'daily' }, null, 'hello', [1, 2, 3]],
  until: ['2035-01-01T00:00:00Z'],
  expires_at: ['2035-01-01T00:00:00Z'],
  tier: ['free', 'pro', 'enterprise'],
  tag: ['reporting', 'billing'],
  tags: [['reporting'], [], ['billing', 'nightly']],
}
