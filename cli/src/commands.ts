// The table of commands. Help, completion, "did you mean" and the list in docs/cli.md come from it.
import {
  DEAD_REASONS,
  ERROR_TYPES,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  JOB_STATUSES,
} from '@carillon/contract/constants.ts'
import { type ArgumentSpec, type Command, flag, list, number, type OptionSpecs, text } from './command.ts'
import { SHELLS } from './completion.ts'
import { jobFlags } from './job-flags.ts'
import { dryRun, paging, yes } from './shared-options.ts'
import { tenantCommands } from './tenant-commands.ts'

const noWait: OptionSpecs = { 'no-wait': flag('do not wait for the end of a bulk operation') }
const file: OptionSpecs = {
  file: text('FILE', 'YAML or JSON; - for stdin', { short: 'f', completes: 'file' }),
}
const job: ArgumentSpec = { name: 'JOB', about: 'id, key or exact name of a job', completes: 'job' }
const jobs: ArgumentSpec = { ...job, many: true, optional: true }
const execution: ArgumentSpec = { name: 'EXECUTION', about: 'its id' }
const bulk: OptionSpecs = {
  filter: list('NAME=VALUE', 'all matching jobs: tag, status, search'),
  all: flag('all jobs that are not deleted'),
  ...yes,
  ...dryRun,
  ...noWait,
}
const wait: OptionSpecs = {
  wait: flag('wait for the end; exit code 9 unless it succeeded', { short: 'w' }),
}
const payload = { payload: jobFlags.payload }
const since: OptionSpecs = {
  since: text('WHEN', 'not before: 2h or 7d ago, a day or an instant'),
}

export const commands: readonly Command[] = [
  {
    path: ['start'],
    about: 'start the server and stay in the foreground: API, scheduler, worker, and an embedded PostgreSQL',
    options: {
      handlers: text('FILE', 'run the jobs that this file exports (made by defineJob of @carillon/sdk)', {
        completes: 'file',
      }),
      demo: flag('once: fill an empty installation with jobs and 30 days of history'),
      'demo-jobs': number('N', 'for measurements: number of demo jobs'),
      'demo-attempts': number('N', 'for measurements: approximate number of attempts'),
    },
    notes: `Handlers run in a separate process; handlers with a schedule become jobs.

Settings are environment variables, all in docs/config.md; the common ones:
  CARILLON_PORT              port of the API (7420)
  CARILLON_DATA              directory of the embedded PostgreSQL and the API key
  CARILLON_DATABASE_URL      an external PostgreSQL 15 to 18 instead
Ctrl-C or SIGTERM stops everything, PostgreSQL included. Same as npm start.`,
    local: true,
    load: async () => (await import('./start.ts')).start,
  },
  {
    path: ['status'],
    about: 'show whether a server is ready, and its workers',
    notes: 'Exit code 0: ready; 8: not ready; 7: no response. Without a key it shows no workers.',
    shows: true,
    load: async () => (await import('./status.ts')).showStatus,
  },
  {
    path: ['login-link'],
    about: 'print a link that logs a browser in, once',
    notes:
      'The link works for 15 minutes, with the rights of the key: that of the local data directory, or --key.',
    examples: ['carillon login-link', 'carillon login-link --key KEY --url https://jobs.example.com'],
    load: async () => (await import('./login-link.ts')).printLoginLink,
  },
  {
    path: ['jobs', 'list'],
    about: 'list jobs, newest first, each with its last result',
    options: {
      status: text('STATUS', 'active, paused, completed or deleted', { choices: JOB_STATUSES }),
      health: text('HEALTH', 'only failing or flaky jobs, the latest trouble first', {
        choices: ['FAILING', 'FLAKY'],
      }),
      'failing-first': flag('failing jobs before all others'),
      tag: text('TAG', 'only jobs with this tag'),
      search: text('TEXT', 'part of the name, the key or a tag', { short: 'q' }),
      ...paging,
    },
    examples: [
      'carillon jobs list --failing-first',
      'carillon jobs list --tag reporting --wide',
      'carillon jobs list --status paused --json',
    ],
    shows: true,
    load: async () => (await import('./jobs-show.ts')).listJobs,
  },
  {
    path: ['jobs', 'get'],
    about: 'show a job: schedule, target, statistics, and why it does not run now',
    arguments: [job],
    shows: true,
    load: async () => (await import('./jobs-show.ts')).getJob,
  },
  {
    path: ['jobs', 'create'],
    about: 'create a job',
    options: { ...file, ...jobFlags, ...dryRun, ...wait },
    examples: [
      'carillon jobs create --name "Nightly report" --schedule "every day at 2:00" --zone Europe/Berlin --callback-url https://example.com/report',
      'carillon jobs create --name index --schedule "0 3 * * *" --handler rebuild-index --payload \'{"full":true}\' --retries 5',
      'carillon jobs create --name hello --schedule now --callback-url http://127.0.0.1:7420/echo --wait',
      'carillon jobs create -f job.yaml',
    ],
    load: async () => (await import('./jobs-write.ts')).createJob,
  },
  {
    path: ['jobs', 'edit'],
    about: 'change a job: by options, from a file, or in $EDITOR',
    arguments: [job],
    options: { ...file, ...jobFlags, ...dryRun },
    notes:
      'Without options it opens the job in $VISUAL or $EDITOR. Fields that are not named stay unchanged.',
    examples: ['carillon jobs edit nightly-report --schedule "0 3 * * *" --priority 3'],
    load: async () => (await import('./jobs-write.ts')).editJob,
  },
  {
    path: ['jobs', 'pause'],
    about: 'pause jobs: their slots do not fire',
    arguments: [jobs],
    options: {
      reason: text('TEXT', 'the reason, shown to your team'),
      until: text('WHEN', 'resume automatically: in 2h, in 7d, or at an instant'),
      ...bulk,
    },
    examples: ['carillon jobs pause nightly-report --until 2h', 'carillon jobs pause --filter tag=reporting'],
    load: async () => (await import('./jobs-act.ts')).actOnJobs('pause'),
  },
  {
    path: ['jobs', 'resume'],
    about: 'resume paused jobs',
    arguments: [jobs],
    options: bulk,
    load: async () => (await import('./jobs-act.ts')).actOnJobs('resume'),
  },
  {
    path: ['jobs', 'delete'],
    about: 'delete jobs; their history is kept',
    arguments: [jobs],
    options: { 'cancel-running': flag('also cancel running executions'), ...bulk },
    load: async () => (await import('./jobs-act.ts')).actOnJobs('delete'),
  },
  {
    path: ['jobs', 'trigger'],
    about: 'run jobs now',
    arguments: [jobs],
    options: {
      ...payload,
      count: number('N', 'number of times, at most 1,000'),
      ...wait,
      ...bulk,
    },
    examples: ['carillon jobs trigger nightly-report --payload \'{"date":"2026-01-31"}\' --wait'],
    load: async () => (await import('./jobs-act.ts')).actOnJobs('trigger'),
  },
  {
    path: ['executions', 'list'],
    about: 'list executions, newest first',
    options: {
      job: text('JOB', 'of this job', { completes: 'job' }),
      status: text('STATUS', 'such as running, failed, succeeded; skipped needs --job', {
        choices: EXECUTION_STATUSES,
      }),
      kind: text('KIND', EXECUTION_KINDS.join(', '), { choices: EXECUTION_KINDS }),
      error: text('TYPE', 'such as timeout or http_error', { choices: ERROR_TYPES }),
      dead: flag('only dead letters'),
      worker: text('WORKER_ID', 'held by this worker, or last run by it'),
      tag: text('TAG', 'only executions of jobs with this tag'),
      search: text('TEXT', 'part of the job or of the error message', { short: 'q' }),
      ...since,
      until: text('WHEN', 'not after'),
      ...paging,
    },
    examples: [
      'carillon executions list --status failed --since 2h',
      'carillon executions list --job import --watch',
    ],
    shows: true,
    load: async () => (await import('./executions-show.ts')).listExecutions,
  },
  {
    path: ['executions', 'get'],
    about: 'show an execution with its attempts',
    arguments: [execution],
    shows: true,
    load: async () => (await import('./executions-show.ts')).getExecution,
  },
  {
    path: ['executions', 'logs'],
    about: 'the log of the attempts of an execution',
    arguments: [execution],
    options: {
      follow: flag('wait for further lines until the end', { short: 'f' }),
      attempt: number('N', 'only of this attempt'),
    },
    load: async () => (await import('./executions-act.ts')).showLogs,
  },
  {
    path: ['executions', 'cancel'],
    about: 'cancel executions that wait or run',
    arguments: [{ ...execution, many: true, optional: true }],
    options: {
      filter: list('NAME=VALUE', 'all matching executions: job, status, kind, error, tag, search'),
      ...yes,
      ...dryRun,
      ...noWait,
    },
    load: async () => (await import('./executions-act.ts')).cancelExecutions,
  },
  {
    path: ['executions', 'retry'],
    about: 'run ended executions again',
    arguments: [{ ...execution, many: true }],
    options: { ...payload, ...wait, ...dryRun },
    load: async () => (await import('./executions-act.ts')).retryExecutions,
  },
  {
    path: ['dead-letters', 'list'],
    about: 'list executions that used up their retries and wait for a person to act',
    options: {
      job: text('JOB', 'of this job', { completes: 'job' }),
      error: text('TYPE', 'only with this last error', { choices: ERROR_TYPES }),
      reason: text('REASON', 'such as max_retries_exceeded', { choices: DEAD_REASONS }),
      ...since,
      ...paging,
    },
    shows: true,
    load: async () => (await import('./dead-letters.ts')).listDeadLetters,
  },
  {
    path: ['dead-letters', 'redrive'],
    about: 'run dead letters again',
    arguments: [{ ...execution, many: true, optional: true }],
    options: {
      filter: list('NAME=VALUE', 'all matching dead letters: job, error, reason, since, until'),
      all: flag('all of them'),
      rate: number('N', 'redrives a second, with a filter (50)'),
      ...yes,
      ...dryRun,
      ...noWait,
    },
    examples: ['carillon dead-letters redrive --filter job=import --filter error=http_error --rate 10'],
    load: async () => (await import('./dead-letters.ts')).redriveDeadLetters,
  },
  {
    path: ['operations', 'list'],
    about: 'list bulk operations',
    options: paging,
    shows: true,
    load: async () => (await import('./operations.ts')).listOperations,
  },
  {
    path: ['operations', 'get'],
    about: 'show the progress of an operation',
    arguments: [{ name: 'OPERATION', about: 'its id' }],
    shows: true,
    load: async () => (await import('./operations.ts')).getOperation,
  },
  {
    path: ['operations', 'cancel'],
    about: 'cancel an operation; finished items stay done',
    arguments: [{ name: 'OPERATION', about: 'its id' }],
    load: async () => (await import('./operations.ts')).cancelOperation,
  },
  ...tenantCommands,
  {
    path: ['next'],
    about: 'show the next slots of a schedule: cron, ISO 8601, or English in quotes; works offline',
    arguments: [{ name: 'EXPR', about: 'such as "every weekday at 9:00 in London"', optional: true }],
    options: {
      zone: jobFlags.zone,
      from: text('INSTANT', 'slots after this instant (now)'),
      count: text('N', 'number of slots, 1 to 100 (10)', { short: 'n' }),
      stdin: flag('answer JSON lines {"expr","tz","from","count","dst_gap"?,"dst_fold"?}'),
    },
    local: true,
    load: async () => (await import('./next.ts')).runNext,
  },
  {
    path: ['apply'],
    about: 'create, change or delete jobs to match files: shows the plan, asks, applies it',
    options: {
      file: text('PATH', 'YAML or JSON, one file or a folder; - for stdin', {
        short: 'f',
        completes: 'file',
      }),
      prune: flag('delete jobs that the files do not name; needs --tag or --prefix'),
      tag: text('TAG', 'with --prune: only jobs with this tag'),
      prefix: text('PREFIX', 'with --prune: only jobs whose key begins with this'),
      ...yes,
      ...dryRun,
    },
    notes: 'Jobs are identified by their key, also in depends_on. docs/cli.md describes the format.',
    examples: ['carillon apply -f jobs/ --dry-run', 'carillon apply -f jobs.yaml --prune --tag team-a --yes'],
    load: async () => (await import('./apply.ts')).applyFiles,
  },
  {
    path: ['export'],
    about: 'write jobs as a file for apply',
    arguments: [jobs],
    options: {
      tag: text('TAG', 'only jobs with this tag'),
      search: text('TEXT', 'part of the name, the key or a tag', { short: 'q' }),
    },
    notes: 'YAML, or JSON with --json. Without names: all active or paused jobs with a key.',
    examples: ['carillon export > jobs.yaml'],
    load: async () => (await import('./export.ts')).exportJobs,
  },
  {
    path: ['top'],
    about: 'live view: throughput, running, failing and waiting executions',
    notes: 'q quits, p pauses. With --json a line for each second.',
    load: async () => (await import('./top.ts')).runTop,
  },
  {
    path: ['doctor'],
    about: 'check for common problems, and say how to fix them',
    notes: 'Exit code 9 if a check fails.',
    load: async () => (await import('./doctor.ts')).runDoctor,
  },
  {
    path: ['completion'],
    about: 'print the completion script of a shell',
    arguments: [{ name: 'SHELL', about: SHELLS.join(', '), choices: SHELLS }],
    examples: ['source <(carillon completion bash)'],
    local: true,
    load: async () => (await import('./completion.ts')).printCompletion,
  },
  {
    path: ['__complete'],
    about: 'possible next words, for the completion scripts',
    arguments: [{ name: 'WORD', about: 'the words typed so far', many: true, optional: true }],
    hidden: true,
    load: async () => {
      const { complete } = await import('./completion.ts')
      return (context) => complete(context, commands)
    },
  },
]
