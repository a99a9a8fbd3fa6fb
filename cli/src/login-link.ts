// `carillon login-link`: a link that logs one browser in, once, with the rights of the key in use.
import type { SessionCode } from '@carillon/contract/session.ts'
import type { Context } from './context.ts'

export async function printLoginLink(context: Context): Promise<undefined> {
  const { out, signal } = context
  const { url, client } = await context.connect()
  const made: SessionCode = await client.session.makeCode({ signal })
  const link = `${(made.url ?? url).replace(/\/+$/, '')}/#code=${made.code}`
  if (out.json) out.writeJson({ url: link, expires_at: made.expires_at })
  else {
    out.write(`${link}\n`)
    out.say('It works once, for 15 minutes.', 'dim')
  }
  return
}
