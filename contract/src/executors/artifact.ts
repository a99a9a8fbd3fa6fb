// artifact: runs code out of an uploaded bundle.
import { defineFacts } from './facts.ts'

export const artifactIdPattern = '^[a-z0-9._-]{1,128}$'

export const artifact = defineFacts({
  label: 'Artifact',
  target: 'artifact_id',
  targetAbout: 'Of the artifact executor.',
  fields: {
    artifact_id: {
      shape: 'text',
      isRequired: true,
      keywords: { pattern: artifactIdPattern },
      about: 'the bundle.',
      flag: { name: 'artifact', value: 'ID', about: 'run this bundle' },
      input: { label: 'Artifact', hint: 'The id under which the bundle was put there.' },
    },
    sha256: {
      shape: 'text',
      keywords: { pattern: '^[0-9a-fA-F]{64}$' },
      about: 'what the bundle must be; left out: whatever has this id when an attempt starts.',
      input: { label: 'SHA-256', placeholder: 'whatever has this id', isCode: true },
    },
    entrypoint: {
      shape: 'text',
      isRequired: true,
      keywords: { minLength: 1, maxLength: 512 },
      about: '`file:function`, or the path of an executable in the bundle.',
      flag: { name: 'entrypoint', value: 'FILE:FUNCTION', about: 'where the bundle begins' },
      input: { label: 'Entrypoint', placeholder: 'main.js:run', isCode: true },
    },
  },
  rows: [['artifact_id', 'entrypoint', 'sha256']],
  textOf: ({ artifact_id: id, entrypoint }) => `artifact ${id} ${entrypoint}`,
})
