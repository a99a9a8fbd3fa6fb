// H2: the name server of one tenant's targets never answers.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import test, { type TestContext } from 'node:test'
import { makeEmptyDataDir } from '../data-dir.ts'
import { startDnsServer } from '../dns-server.ts'
import { until } from '../e2e/api.ts'
import { withTime } from '../processes/fleet.ts'
import { setupScene } from './scene.ts'

const names = 24
const callsPerName = 50
/** A server of names has no other port in /etc/resolv.conf. */
const dnsPort = 53

test('executions start on time while names of another tenant are never resolved', withTime, async (t) => {
  // Only root may open port 53 and mount.
  assert.equal(process.getuid!(), 0, 'run this test as root')
  const dns = await startDnsServer(
    t,
    (name) => {
      if (name.endsWith('.slow.test')) return 'silent'
      return name === 'good.test' ? { addresses: ['127.0.0.1'], ttl: 1 } : 'NXDOMAIN'
    },
    { address: '127.0.0.77', port: dnsPort },
  )
  const { evil, evilTarget, assertUnhurt } = await setupScene(t, {
    victimPath: '/victim-closes',
    victimHost: 'good.test',
    wrapper: await withNameServer(t, '127.0.0.77'),
  })
  const jobIds: string[] = []
  for (let n = 0; n < names; n++)
    jobIds.push(await evil.createTriggered(`http://n${n}.slow.test:${evilTarget.ports[0]}/`))
  for (const jobId of jobIds) await evil.trigger(jobId, callsPerName)
  const silent = () => dns.questions.filter((question) => question.endsWith('.slow.test')).length
  await until(async () => (silent() >= 16 ? true : null), 'the name server is asked')
  const before = silent()
  await assertUnhurt(8)
  assert(silent() >= before + 16, `${silent() - before} more questions were asked`)
  assert(dns.questions.includes('A good.test'))
})

/** A command that runs another one with this name server, which only that one sees. */
async function withNameServer(t: TestContext, address: string): Promise<string[]> {
  const file = `${await makeEmptyDataDir(t)}-resolv.conf`
  await writeFile(file, `nameserver ${address}\n`)
  const script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', file]
}
