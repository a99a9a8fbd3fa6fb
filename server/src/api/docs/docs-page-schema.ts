// A schema for people: a row for each field with its allowed values, and its own fields folded below it.
import {
  type DocSchema,
  type Document,
  nameOf,
  resolve,
  schemaDepthMax,
  typesOf,
} from './docs-page-document.ts'
import { type Html, html, prose } from './docs-page-html.ts'

/** The fields of an object; for any other schema, its description. */
export function renderSchema(document: Document, given: DocSchema, depth = 0): Html {
  const schema = withParts(document, given)
  const { properties = {}, required = [], description } = schema
  const rows = Object.entries(properties).map(([name, one]) =>
    renderField(document, { name, schema: one, required: required.includes(name), depth }),
  )
  const further = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null
  if (further !== null)
    rows.push(renderField(document, { name: 'any name', schema: further, required: false, depth }))
  const branches = schema.oneOf ?? schema.anyOf ?? []
  const intro = depth === 0 && description !== undefined ? html`<p>${prose(description)}</p>` : null
  if (rows.length === 0 && branches.length === 0) {
    const inner =
      schema.items === undefined || depth > schemaDepthMax
        ? null
        : renderSchema(document, schema.items, depth + 1)
    return html`${intro}${depth === 0 ? html`<p class="limits">${describe(document, schema)}</p>` : null}${inner}`
  }
  const list = rows.length === 0 ? null : html`<ul class="fields">${rows}</ul>`
  return html`${intro}${list}${branches.map((branch, at) => renderBranch(document, branch, { at, depth }))}`
}

interface Field {
  name: string
  schema: DocSchema
  required: boolean
  depth: number
}

function renderField(document: Document, { name, schema: given, required, depth }: Field): Html {
  const schema = withParts(document, given)
  const { description, deprecated } = schema
  const inner = hasInner(document, schema) && depth < schemaDepthMax
  // Required fields are visible at once.
  const open = required && depth === 0
  const children = inner
    ? html`<details${open ? html` open` : null}><summary>fields of ${name}</summary>${renderSchema(document, { ...schema, description: '' }, depth + 1)}</details>`
    : null
  return html`<li>
<span class="field">${name}</span> <span class="limits">${describe(document, schema)}</span>${
    required ? html` <span class="needed">required</span>` : null
  }${deprecated === true ? html` <span class="old">deprecated</span>` : null}${
    description ? html`<p>${prose(description)}</p>` : null
  }${values(schema)}${children}</li>`
}

function renderBranch(
  document: Document,
  branch: DocSchema,
  { at, depth }: { at: number; depth: number },
): Html {
  if (depth > schemaDepthMax) return html``
  const title = nameOf(branch) ?? `form ${at + 1}`
  return html`<details><summary>${title}: ${describe(document, branch)}</summary>${renderSchema(document, branch, depth + 1)}</details>`
}

function values({ enum: allowed = [] }: DocSchema): Html | null {
  if (allowed.length < 2) return null
  return html`<p class="values">${allowed.map((one) => html`<code>${String(one)}</code> `)}</p>`
}

/** Its type and its limits, in a few words. */
export function describe(document: Document, given: DocSchema): string {
  const schema = withParts(document, given)
  const types = typesOf(schema).map((type) => (type === 'array' ? arrayType(document, schema) : type))
  const branches = schema.oneOf ?? schema.anyOf
  const fixed = schema.const ?? (schema.enum?.length === 1 ? schema.enum[0] : undefined)
  const words = [
    fixed !== undefined
      ? JSON.stringify(fixed)
      : types.join(' or ') || (branches ? 'one of these' : 'any JSON'),
    schema.format ?? '',
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minItems, schema.maxItems, 'items'),
    range(undefined, schema.maxProperties, 'names'),
    schema.default === undefined || fixed !== undefined ? '' : `default ${JSON.stringify(schema.default)}`,
  ]
  return words.filter((word) => word !== '').join(' · ')
}

function arrayType(document: Document, { items }: DocSchema): string {
  if (items === undefined) return 'array'
  const inner = typesOf(withParts(document, items)).join(' or ')
  return inner === '' ? 'array' : `array of ${inner}`
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  const shown = (value: number) => value.toLocaleString('en-GB')
  const after = unit === '' ? '' : ` ${unit}`
  if (min !== undefined && max !== undefined) return `${shown(min)} to ${shown(max)}${after}`
  if (max !== undefined) return `at most ${shown(max)}${after}`
  return min === undefined || min === 0 ? '' : `at least ${shown(min)}${after}`
}

/** With its `$ref` followed and its `allOf` put together. */
function withParts(document: Document, given: DocSchema): DocSchema {
  const schema = resolve(document, given)
  if (schema.allOf === undefined) return schema
  const { allOf, ...base } = schema
  const merged: DocSchema = { ...base }
  for (const part of allOf.map((one) => resolve(document, one))) {
    const properties = { ...merged.properties, ...part.properties }
    const required = [...(merged.required ?? []), ...(part.required ?? [])]
    Object.assign(merged, part, { properties, required })
  }
  return merged
}

function hasInner(document: Document, schema: DocSchema): boolean {
  const { properties, additionalProperties, items, oneOf, anyOf } = schema
  if (Object.keys(properties ?? {}).length > 0 || (oneOf ?? anyOf) !== undefined) return true
  if (
    typeof additionalProperties === 'object' &&
    hasInner(document, withParts(document, additionalProperties))
  )
    return true
  return items !== undefined && hasInner(document, withParts(document, items))
}
