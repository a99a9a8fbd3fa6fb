// The table of commands. Help, completion, "did you mean" and the list in docs/cli.md come from it.
import {
  DEAD_REASONS,
  ERROR_TYPES,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  JOB_STATUSES,
} from '@carillon/contract/constants.ts'
import type { ArgumentSpec, Command, OptionSpecs } from './command.ts'
import { SHELLS } from './completion.ts'
import { jobFlags } from './job-flags.ts'

const yes: OptionSpecs = { yes: { kind: 'flag', short: 'y', about: 'do not ask' } }
const dryRun: OptionSpecs = { 'dry-run': { kind: 'flag', about: 'say what would be done, and do nothing' } }
const paging: OptionSpecs = {
  limit: { kind: 'number', short: 'n', value: 'N', about: 'at most so many (50)' },
  cursor: { kind: 'text', value: 'CURSOR', about: 'go on where a list ended' },
}
const file: OptionSpecs = {
  file: { kind: 'text', short: 'f', value: 'FILE', about: 'YAML or JSON; - for stdin', completes: 'file' },
}
const job: ArgumentSpec = { name: 'JOB', about: 'its id, its key or its exact name', completes: 'job' }
const jobs: ArgumentSpec = { ...job, many: true, optional: true }
const execution: ArgumentSpec = { name: 'EXECUTION', about: 'its id' }
const bulk: OptionSpecs = {
  filter: { kind: 'list', value: 'NAME=VALUE', about: 'all that match: tag, status, search' },
  all: { kind: 'flag', about: 'all that are not deleted' },
  ...yes,
  ...dryRun,
  'no-wait': { kind: 'flag', about: 'do not wait for the end of a bulk operation' },
}
const wait: OptionSpecs = {
  wait: { kind: 'flag', short: 'w', about: 'wait for the end; exit code 9 unless it succeeded' },
}
const payload = { payload: jobFlags.payload }
const since: OptionSpecs = {
  since: { kind: 'text', value: 'WHEN', about: 'from then on: 2h, 7d, a day or an instant' },
}

export const commands: readonly Command[] = [
  {
    path: ['start'],
    about: 'start the server and stay in the foreground: API, scheduler, worker, and an embedded PostgreSQL',
    options: {
      handlers: {
        kind: 'text',
        value: 'FILE',
        about: 'run the jobs that this file exports (made by defineJob of @carillon/sdk)',
        completes: 'file',
      },
      demo: {
        kind: 'flag',
        about: 'fill an empty installation with jobs and 30 days of history to look at, once',
      },
      'demo-jobs': { kind: 'number', value: 'N', about: 'for measuring: a demo of so many jobs' },
      'demo-attempts': { kind: 'number', value: 'N', about: 'for measuring: and about so many attempts' },
    },
    notes: `Handlers run in a process of their own; those with a schedule are put into the API.

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
    about: 'whether a server is ready, and who works',
    options: {},
    notes: 'Exit code 0: ready; 8: not ready; 7: nobody answers. Without a key it shows no workers.',
    shows: true,
    load: async () => (await import('./status.ts')).showStatus,
  },
  {
    path: ['jobs', 'list'],
    about: 'list jobs, newest first',
    options: {
      status: {
        kind: 'text',
        value: 'STATUS',
        choices: JOB_STATUSES,
        about: 'active, paused, completed or deleted',
      },
      tag: { kind: 'text', value: 'TAG', about: 'that have this tag' },
      search: { kind: 'text', short: 'q', value: 'TEXT', about: 'part of the name, the key or a tag' },
      ...paging,
    },
    examples: ['carillon jobs list --tag reporting --wide', 'carillon jobs list --status paused --json'],
    shows: true,
    load: async () => (await import('./jobs-show.ts')).listJobs,
  },
  {
    path: ['jobs', 'get'],
    about: 'show a job: when it runs, what it calls, how it went, why it does not run now',
    arguments: [job],
    options: {},
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
    notes: 'Without options it opens the job in $VISUAL or $EDITOR. What is not named stays.',
    examples: ['carillon jobs edit nightly-report --schedule "0 3 * * *" --priority 3'],
    load: async () => (await import('./jobs-write.ts')).editJob,
  },
  {
    path: ['jobs', 'pause'],
    about: 'pause jobs: none of their slots fires',
    arguments: [jobs],
    options: {
      reason: { kind: 'text', value: 'TEXT', about: 'a note for later readers' },
      until: { kind: 'text', value: 'WHEN', about: 'resume then: 2h, 7d or an instant' },
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
    about: 'delete jobs; their history stays',
    arguments: [jobs],
    options: { 'cancel-running': { kind: 'flag', about: 'cancel what runs, too' }, ...bulk },
    load: async () => (await import('./jobs-act.ts')).actOnJobs('delete'),
  },
  {
    path: ['jobs', 'trigger'],
    about: 'run jobs now',
    arguments: [jobs],
    options: {
      ...payload,
      count: { kind: 'number', value: 'N', about: 'so many times, at most 1,000' },
      ...wait,
      ...bulk,
    },
    examples: ['carillon jobs trigger nightly-report --payload \'{"date":"2026-01-31"}\' --wait'],
    load: async () => (await import('./jobs-act.ts')).actOnJobs('trigger'),
  },
  {
    path: ['executions', 'list'],
    about: 'list what ran and what runs, newest first',
    options: {
      job: { kind: 'text', value: 'JOB', about: 'of this job', completes: 'job' },
      status: {
        kind: 'text',
        value: 'STATUS',
        choices: EXECUTION_STATUSES,
        about: 'such as running, failed, succeeded; skipped needs --job',
      },
      kind: { kind: 'text', value: 'KIND', choices: EXECUTION_KINDS, about: EXECUTION_KINDS.join(', ') },
      error: { kind: 'text', value: 'TYPE', choices: ERROR_TYPES, about: 'such as timeout or http_error' },
      dead: { kind: 'flag', about: 'only dead letters' },
      tag: { kind: 'text', value: 'TAG', about: 'of jobs that have this tag' },
      search: { kind: 'text', short: 'q', value: 'TEXT', about: 'part of the job or of the error message' },
      ...since,
      until: { kind: 'text', value: 'WHEN', about: 'up to then' },
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
    options: {},
    shows: true,
    load: async () => (await import('./executions-show.ts')).getExecution,
  },
  {
    path: ['executions', 'logs'],
    about: 'the log of the attempts of an execution',
    arguments: [execution],
    options: {
      follow: { kind: 'flag', short: 'f', about: 'wait for what is still to come, until its end' },
      attempt: { kind: 'number', value: 'N', about: 'of this attempt only' },
    },
    load: async () => (await import('./executions-act.ts')).showLogs,
  },
  {
    path: ['executions', 'cancel'],
    about: 'cancel executions that wait or run',
    arguments: [{ ...execution, many: true, optional: true }],
    options: {
      filter: {
        kind: 'list',
        value: 'NAME=VALUE',
        about: 'all that match: job, status, kind, error, tag, search',
      },
      ...yes,
      ...dryRun,
      'no-wait': { kind: 'flag', about: 'do not wait for the end of a bulk operation' },
    },
    load: async () => (await import('./executions-act.ts')).cancelExecutions,
  },
  {
    path: ['executions', 'retry'],
    about: 'run executions again that have ended',
    arguments: [{ ...execution, many: true }],
    options: { ...payload, ...wait, ...dryRun },
    load: async () => (await import('./executions-act.ts')).retryExecutions,
  },
  {
    path: ['dead-letters', 'list'],
    about: 'list executions that failed for good and wait for a person',
    options: {
      job: { kind: 'text', value: 'JOB', about: 'of this job', completes: 'job' },
      error: { kind: 'text', value: 'TYPE', choices: ERROR_TYPES, about: 'whose last error is this' },
      reason: { kind: 'text', value: 'REASON', choices: DEAD_REASONS, about: 'such as max_retries_exceeded' },
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
      filter: {
        kind: 'list',
        value: 'NAME=VALUE',
        about: 'all that match: job, error, reason, since, until',
      },
      all: { kind: 'flag', about: 'all of them' },
      rate: { kind: 'number', value: 'N', about: 'so many a second, with a filter (50)' },
      ...yes,
      ...dryRun,
      'no-wait': { kind: 'flag', about: 'do not wait for the end of a bulk operation' },
    },
    examples: ['carillon dead-letters redrive --filter job=import --filter error=http_error --rate 10'],
    load: async () => (await import('./dead-letters.ts')).redriveDeadLetters,
  },
  {
    path: ['operations', 'list'],
    about: 'list long work that somebody asked for by a filter',
    options: paging,
    shows: true,
    load: async () => (await import('./operations.ts')).listOperations,
  },
  {
    path: ['operations', 'get'],
    about: 'show how far an operation is',
    arguments: [{ name: 'OPERATION', about: 'its id' }],
    options: {},
    shows: true,
    load: async () => (await import('./operations.ts')).getOperation,
  },
  {
    path: ['operations', 'cancel'],
    about: 'end an operation; what is done stays done',
    arguments: [{ name: 'OPERATION', about: 'its id' }],
    options: {},
    load: async () => (await import('./operations.ts')).cancelOperation,
  },
  {
    path: ['next'],
    about: 'when a schedule would run: cron, ISO 8601, or English in quotes; asks no server',
    arguments: [{ name: 'EXPR', about: 'such as "every weekday at 9:00 in London"', optional: true }],
    options: {
      zone: jobFlags.zone,
      from: { kind: 'text', value: 'INSTANT', about: 'slots after this instant (now)' },
      count: { kind: 'text', short: 'n', value: 'N', about: 'how many, 1 to 100 (10)' },
      stdin: { kind: 'flag', about: 'answer JSON lines {"expr","tz","from","count","dst_gap"?,"dst_fold"?}' },
    },
    local: true,
    load: async () => (await import('./next.ts')).runNext,
  },
  {
    path: ['apply'],
    about: 'make the jobs of files so: shows the plan, asks, does it',
    options: {
      file: {
        kind: 'text',
        short: 'f',
        value: 'PATH',
        about: 'YAML or JSON, one file or a folder; - for stdin',
        completes: 'file',
      },
      prune: { kind: 'flag', about: 'delete jobs that the files do not name; needs --tag or --prefix' },
      tag: { kind: 'text', value: 'TAG', about: 'with --prune: only jobs with this tag' },
      prefix: { kind: 'text', value: 'PREFIX', about: 'with --prune: only jobs whose key begins so' },
      ...yes,
      ...dryRun,
    },
    notes:
      'A job is known by its key; jobs that run after others name them by key. docs/cli.md has the form.',
    examples: ['carillon apply -f jobs/ --dry-run', 'carillon apply -f jobs.yaml --prune --tag team-a --yes'],
    load: async () => (await import('./apply.ts')).applyFiles,
  },
  {
    path: ['export'],
    about: 'write jobs as a file that apply takes',
    arguments: [jobs],
    options: {
      tag: { kind: 'text', value: 'TAG', about: 'that have this tag' },
      search: { kind: 'text', short: 'q', value: 'TEXT', about: 'part of the name, the key or a tag' },
    },
    notes: 'YAML, or JSON with --json. Without names: all that are active or paused and have a key.',
    examples: ['carillon export > jobs.yaml'],
    load: async () => (await import('./export.ts')).exportJobs,
  },
  {
    path: ['top'],
    about: 'watch what happens: throughput, what runs, what fails, what waits',
    options: {},
    notes: 'q quits, p pauses. With --json a line for each second.',
    load: async () => (await import('./top.ts')).runTop,
  },
  {
    path: ['doctor'],
    about: 'look for what commonly goes wrong, and say what to do',
    options: {},
    notes: 'Exit code 9 when something is wrong.',
    load: async () => (await import('./doctor.ts')).runDoctor,
  },
  {
    path: ['completion'],
    about: 'print the completion script of a shell',
    arguments: [{ name: 'SHELL', about: SHELLS.join(', '), choices: SHELLS }],
    options: {},
    examples: ['source <(carillon completion bash)'],
    local: true,
    load: async () => (await import('./completion.ts')).printCompletion,
  },
  {
    path: ['__complete'],
    about: 'what may come next, for the completion scripts',
    arguments: [{ name: 'WORD', about: 'the words typed so far', many: true, optional: true }],
    options: {},
    hidden: true,
    load: async () => {
      const { complete } = await import('./completion.ts')
      return (context) => complete(context, commands)
    },
  },
]
