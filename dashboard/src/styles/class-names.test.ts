// A style sheet stays in the page once its screen was opened: a class that two screens define looks different by the way
// somebody came.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const classPattern = /\.(-?[a-z_][\w-]*)/gi

function classesOf(path: string): Set<string> {
  const css = readFileSync(join(root, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const selectors = css.match(/[^{}]+(?=\{)/g) ?? []
  return new Set(selectors.flatMap((one) => [...one.matchAll(classPattern)].map((match) => match[1]!)))
}

const shared = new Set(globSync('styles/*.css', { cwd: root }).flatMap((path) => [...classesOf(path)]))
const screens = Map.groupBy(globSync('screens/*/*.css', { cwd: root }), (path) => path.split(sep)[1]!)

test('no class is defined in the style sheets of two screens', () => {
  const owners = new Map<string, string[]>()
  for (const [screen, paths] of screens) {
    for (const name of new Set(paths.flatMap((path) => [...classesOf(path)]))) {
      if (!shared.has(name)) owners.set(name, [...(owners.get(name) ?? []), screen])
    }
  }
  assert.deepEqual(Object.fromEntries([...owners].filter(([, of]) => of.length > 1)), {})
})

test('a class of a component is defined in the shared styles, not by a screen', () => {
  const used = new Set(
    globSync('{components,shell}/*.tsx', { cwd: root }).flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/className="([\w -]+)"/g)].flatMap((match) =>
        match[1]!.split(' '),
      ),
    ),
  )
  const own = [...screens].flatMap(([screen, paths]) =>
    paths.flatMap((path) => [...classesOf(path)].map((name) => ({ name, screen }))),
  )
  assert.deepEqual(
    own.filter(({ name }) => used.has(name) && !shared.has(name)),
    [],
  )
})
