import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../test/cli.ts'
import type { Command } from './command.ts'
import { CliError } from './exit-code.ts'
import { findCommand, parseCommand } from './parse.ts'

const list: Command = {
  path: ['jobs', 'list'],
  about: 'lists',
  options: {
    tag: { kind: 'list', about: '' },
    limit: { kind: 'number', short: 'n', about: '' },
    status: { kind: 'text', choices: ['ACTIVE', 'TIMED_OUT'], about: '' },
    zone: { kind: 'text', alias: 'tz', about: '' },
    all: { kind: 'flag', about: '' },
  },
  shows: true,
  load: async () => async () => undefined,
}
const get: Command = { ...list, path: ['jobs', 'get'], arguments: [{ name: 'JOB', about: '' }] }

function parse(...args: string[]) {
  return parseCommand(list, args).values
}

function refusal(args: string[], command = list): string {
  try {
    parseCommand(command, args)
  } catch (error) {
    assert(error instanceof CliError)
    assert.equal(error.exitCode, 2)
    return [error.message, ...error.hints].join('\n')
  }
  assert.fail(`${args} was taken`)
}

test('options are read by their kind, in any order', () => {
  const values = parse('--tag', 'a', '-n', '5', '--tag=b', '--status', 'timed-out', '--tz', 'UTC', '--all')
  assert.deepEqual(values.list('tag'), ['a', 'b'])
  assert.equal(values.number('limit'), 5)
  assert.equal(values.text('status'), 'TIMED_OUT')
  assert.equal(values.text('zone'), 'UTC')
  assert.equal(values.flag('all'), true)
  assert.equal(values.flag('json'), false)
  assert.deepEqual(values.given(['tag', 'json']), ['tag'])
})

test('--watch takes seconds or nothing, and does not take a name for seconds', () => {
  assert.equal(parse('--watch').number('watch'), undefined)
  assert.equal(parse('--watch', '5').number('watch'), 5)
  assert.equal(parse('--watch=0.5').number('watch'), 0.5)
  const { args, values } = parseCommand(get, ['--watch', 'nightly'])
  assert.deepEqual([args, values.flag('watch')], [['nightly'], true])
})

test('a refusal names the wrong option or value and the one that was probably meant', () => {
  assert.match(
    refusal(['--tagg', 'x']),
    /no option --tagg. Did you mean --tag\?\nTry carillon jobs list --help/,
  )
  assert.match(refusal(['--status', 'activ']), /--status is one of ACTIVE, TIMED_OUT. Did you mean ACTIVE\?/)
  assert.match(refusal(['--limit', 'x']), /--limit is a number/)
  assert.match(refusal(['--tag']), /--tag needs a value/)
  assert.match(refusal(['--tag', '--all']), /--tag needs a value/)
  assert.match(refusal(['--all=x']), /--all takes no value/)
  assert.match(refusal(['there']), /unexpected argument "there"/)
  assert.match(refusal([], get), /say which JOB/)
})

test('a value may be negative, and anything after an equals sign', () => {
  assert.equal(parse('--limit', '-5').number('limit'), -5)
  assert.deepEqual(parse('--tag=--all').list('tag'), ['--all'])
})

test('a command is found wherever the common options stand', () => {
  const found = findCommand(['--url', 'http://x', 'jobs', '--json', 'list', '--tag', 'a'], [list, get])!
  assert.equal(found.command, list)
  assert.deepEqual(found.args, ['--url', 'http://x', '--json', '--tag', 'a'])
})

test('a misspelt command is refused with the nearest one and exit code 2', async () => {
  const cases = [
    [['jbos'], /no command "jbos". Did you mean carillon jobs\?/],
    [['jobs', 'lst'], /no "jobs lst". Did you mean carillon jobs list\?/],
    [['jobs'], /missing subcommand after jobs\nIt is one of list, get, create/],
    [['dead-letter', 'list'], /Did you mean carillon dead-letters\?/],
    [['completion', 'bahs'], /SHELL is one of bash, zsh, fish. Did you mean bash\?/],
  ] as const
  for (const [args, words] of cases) {
    const { code, out, err } = await cli(args)
    assert.equal(code, 2, args.join(' '))
    assert.equal(out, '')
    assert.match(err, words)
  }
})

test('with --json also a refusal is JSON on stdout', async () => {
  const { code, out } = await cli(['jobs', 'list', '--tagg', 'x', '--json'])
  assert.equal(code, 2)
  const { error } = JSON.parse(out)
  assert.deepEqual([error.code, error.exit_code], ['USAGE', 2])
  assert.match(error.message, /Did you mean --tag\?/)
})
