// `node --import ./server/test/planted/register.ts` with the name of a bug in the environment loads the program with
// that bug in it. The code that judges the program is loaded from the unchanged sources: `check-*.ts` of the simulation
// and all that it imports, for an oracle with the same bug would find nothing.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findBug } from './find-bug.ts'
import { plant, plantedVariable } from './planted-bug.ts'

const sourceUrl = pathToFileURL(join(import.meta.dirname, '../../src/')).href
/** Suffix of the address of a module that is loaded without the bug. */
const sound = '?sound'
const judge = /\/test\/simulation\/check[^/]*\.ts$/

const bug = findBug(process.env[plantedVariable] ?? '')
const bugUrl = new URL(bug.file, sourceUrl).href

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    const parent = context.parentURL ?? ''
    const isSound = parent.endsWith(sound) || judge.test(parent)
    return isSound && resolved.url.startsWith(sourceUrl)
      ? { ...resolved, url: resolved.url + sound }
      : resolved
  },
  load(url, context, nextLoad) {
    if (url.endsWith(sound)) return nextLoad(url, context)
    const loaded = nextLoad(url, context)
    if (url !== bugUrl) return loaded
    return { ...loaded, source: plant(String(loaded.source), bug) }
  },
})
