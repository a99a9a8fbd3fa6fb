// Long work that the server does: how many it is about, a question, and then how far it is.
import type { Operation } from '@carillon/contract/operation.ts'
import type { Client } from '@carillon/sdk'
import { confirm } from './confirm.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit-code.ts'
import { Progress } from './progress.ts'
import { wait } from './wait.ts'

export interface Bulk {
  /** "Pause", "Redrive". */
  verb: string
  /** The noun for the counted items: "jobs", "dead letters". */
  things: string
  /** Which: "with tag=reporting". */
  which: string
  ask: (options: { dryRun: boolean }) => Promise<Operation>
}

const lookEveryMs = 300

/** Counts, asks, does it, waits for its end. */
export async function runBulk(context: Context, client: Client, bulk: Bulk): Promise<number | undefined> {
  const { out, values } = context
  const planned = await bulk.ask({ dryRun: true })
  const { total, total_capped: capped } = planned.progress
  const count = `${total}${capped ? ' or more' : ''} ${total === 1 && !capped ? bulk.things.replace(/s$/, '') : bulk.things}`
  const sentence = `${bulk.verb} ${count}${bulk.which === '' ? '' : ` ${bulk.which}`}`
  if (values.flag('dry-run') || total === 0) {
    out.report(total === 0 ? `Nothing to do: no ${bulk.things} ${bulk.which}` : `Would ${lower(sentence)}.`, {
      operation: planned,
      dry_run: true,
    })
    return
  }
  await confirm(context, `${sentence}?`)
  const asked = await bulk.ask({ dryRun: false })
  if (values.flag('no-wait')) {
    out.report(`Operation ${asked.operation_id} has started.`, { operation: asked, dry_run: false })
    return
  }
  const ended = await followOperation(context, client, asked, bulk.verb)
  const { done, skipped } = ended.progress
  const left = skipped === 0 ? '' : `, ${skipped} left alone`
  out.report(`${ended.status === 'COMPLETED' ? 'Done' : ended.status}: ${done} of ${total}${left}.`, {
    operation: ended,
    dry_run: false,
  })
  if (ended.status === 'COMPLETED') return
  if (ended.error !== null) out.say(ended.error, 'bad')
  return EXIT.failed
}

async function followOperation(
  context: Context,
  client: Client,
  asked: Operation,
  verb: string,
): Promise<Operation> {
  using bar = new Progress(context, verb)
  let operation = asked
  try {
    while (operation.status === 'RUNNING') {
      const { done, skipped, total, total_capped: capped } = operation.progress
      bar.show(done + skipped, capped ? null : total)
      await wait(lookEveryMs, context.signal)
      operation = await client.operations.get(operation.operation_id, { signal: context.signal })
    }
  } catch (error) {
    if (context.signal.aborted) {
      context.out.say(
        `\nThe server continues. Watch it: carillon operations get ${asked.operation_id} --watch; cancel it: carillon operations cancel ${asked.operation_id}`,
      )
    }
    throw error
  }
  return operation
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
