import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const script = `
  import { runsAfter, cron } from './list-runs.ts'
  const runs = ['UTC', 'America/New_York', 'Australia/Lord_Howe'].flatMap((zone) =>
    ['30 2 * * *', '*/30 * * * *', '0 0 L * *'].flatMap((text) =>
      [...runsAfter(cron(text, zone), '2026-10-31T20:00:00Z', 20), ...runsAfter(cron(text, zone), '2026-03-07T20:00:00Z', 20)]))
  console.log(runs.join())`

test('the zone of the host changes nothing (Hexagon/croner#284, cronie-crond/cronie#124)', () => {
  const answers = ['UTC', 'America/New_York', 'Asia/Kathmandu'].map((TZ) => {
    const child = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
      cwd: import.meta.dirname,
      env: { ...process.env, TZ },
    })
    assert.equal(child.status, 0, child.stderr.toString())
    return child.stdout.toString()
  })
  assert.ok(answers[0]!.length > 1_000)
  assert.equal(answers[1], answers[0])
  assert.equal(answers[2], answers[0])
})
