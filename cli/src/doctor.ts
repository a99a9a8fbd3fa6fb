// `carillon doctor`: checks everything that commonly goes wrong, and gives advice on each problem.

import type { Context } from './context.ts'
import { type Check, type CheckState, examine } from './doctor-checks.ts'
import { EXIT } from './exit-code.ts'
import { pad } from './text.ts'
import type { Tone } from './tone.ts'

const looks: Readonly<Record<CheckState, { sign: string; tone: Tone }>> = {
  ok: { sign: '✓', tone: 'good' },
  warn: { sign: '!', tone: 'warn' },
  fail: { sign: '✗', tone: 'bad' },
}
const nameWidth = 15

export async function runDoctor(context: Context): Promise<number> {
  const { out } = context
  const checks: Check[] = []
  for await (const check of examine(context)) {
    checks.push(check)
    if (!out.json) out.write(writeCheck(check, context))
  }
  const count = (state: CheckState) => checks.filter((check) => check.state === state).length
  const summary = { ok: count('ok'), warn: count('warn'), fail: count('fail') }
  if (out.json) out.writeJson({ checks, summary })
  else out.say(`\n${summary.ok} ok, ${summary.warn} to look at, ${summary.fail} wrong.`)
  return summary.fail === 0 ? EXIT.ok : EXIT.failed
}

function writeCheck({ name, state, detail, advice }: Check, { out }: Context): string {
  if (!out.terminal) return `${state}\t${name}\t${detail}\t${advice ?? ''}\n`
  const { sign, tone } = looks[state]
  const head = `${out.paint(`${sign} ${pad(state, 4)}`, tone)}  ${pad(name, nameWidth)}  ${detail}\n`
  return advice === null ? head : `${head}${' '.repeat(nameWidth + 10)}${out.paint(`→ ${advice}`, 'dim')}\n`
}
