// Makes one thing wrong in a valid value: this tells a careful API edge from one that checks only the first field.
import type { Dice } from './dice.ts'
import { brokenTexts, isObject, oddNumbers, oddTexts, oddValue, ownKey } from './garbage.ts'
import { type Generated, type Site, slowFields } from './generate.ts'

/** Of jobs; of anything else they are unknown. */
const otherSpellings = ['timezone', 'payload', 'executor_config', 'max_attempts', 'next_run_at', 'handler']

/** Spoils the value in place; returns a description of the change, for people. */
export function mutate(sites: Generated['sites'], dice: Dice): string {
  const site = dice.pick(sites)
  const { schema } = site
  const kinds: Record<string, () => void> = {
    'another type': () => site.set(otherType(site.get(), dice)),
    null: () => site.set(null),
    empty: () => site.set(emptyOf(site.get())),
    odd: () => site.set(oddValue(dice)),
  }
  if (site.required && sites.length > 1) kinds['missing'] = () => site.remove()
  if (isObject(site.get())) {
    const key = dice.pick([
      'unknown_field',
      '__proto__',
      'constructor',
      '',
      'a\0',
      'toString',
      'schedule ',
      ...otherSpellings,
    ])
    kinds[`further key ${JSON.stringify(key)}`] = () =>
      site.set(ownKey(key, oddValue(dice), site.get() as object))
  }
  if (Array.isArray(site.get())) {
    kinds['too many'] = () => site.set(Array.from({ length: (schema.maxItems ?? 100) + 1 }, () => 'a'))
    kinds['twice'] = () => site.set([...(site.get() as unknown[]), ...(site.get() as unknown[])])
  }
  if (typeof site.get() === 'string') addTextKinds(kinds, site, dice)
  if (typeof site.get() === 'number' && !slowFields.test(site.name)) addNumberKinds(kinds, site, dice)
  const [what, apply] = dice.pick(Object.entries(kinds))
  apply()
  return `${site.name || 'the body'}: ${what}`
}

/** The places of a value that was not generated, such as an example. */
export function sitesOf(holder: object, key: string, name = ''): Site[] {
  const fields = holder as Record<string, unknown>
  const value = fields[key]
  const own: Site = {
    name,
    schema: {},
    required: name !== '',
    get: () => fields[key],
    set: (changed) => {
      fields[key] = changed
    },
    remove: () => delete fields[key],
  }
  if (typeof value !== 'object' || value === null) return [own]
  return [own, ...Object.keys(value).flatMap((child) => sitesOf(value, child, child))]
}

function addTextKinds(kinds: Record<string, () => void>, site: Site, dice: Dice): void {
  const { schema } = site
  const longest = Math.min(schema.maxLength ?? 5_000, 20_000)
  kinds['over-long'] = () => site.set('é'.repeat(longest + 1))
  kinds['as long as allowed'] = () => site.set('x'.repeat(longest))
  kinds['odd text'] = () => site.set(dice.pick(oddTexts))
  kinds['broken text'] = () => site.set(dice.pick(brokenTexts))
  kinds['another case'] = () => site.set(String(site.get()).toUpperCase())
  kinds['with a tail'] = () => site.set(`${site.get()}${dice.pick([' ', '\n', '%', '\0', 'Z', '\u0661'])}`)
}

function addNumberKinds(kinds: Record<string, () => void>, site: Site, dice: Dice): void {
  const { minimum, maximum } = site.schema
  kinds['odd number'] = () => site.set(dice.pick(oddNumbers))
  if (minimum !== undefined) kinds['below'] = () => site.set(minimum - dice.pick([1, 0.5, 0]))
  if (maximum !== undefined) kinds['above'] = () => site.set(maximum + dice.pick([1, 0.5, 0]))
  kinds['as text'] = () => site.set(String(site.get()))
}

function otherType(value: unknown, dice: Dice): unknown {
  const values: unknown[] = ['text', 7, true, [], {}, null]
  const type = (one: unknown) => (one === null ? 'null' : Array.isArray(one) ? 'array' : typeof one)
  return dice.pick(values.filter((one) => type(one) !== type(value)))
}

function emptyOf(value: unknown): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  return isObject(value) ? {} : 0
}
