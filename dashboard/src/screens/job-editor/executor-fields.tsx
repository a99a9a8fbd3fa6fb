// The target of the job, for each kind of executor, and its input.
import { EXECUTORS, type Executor, METHODS } from '@carillon/contract/constants.ts'
import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { readJson } from '../jobs/json-text.ts'
import { Choice, SelectField, TextField } from './field.tsx'
import type { JobForm } from './job-form.ts'

interface PartProps {
  form: JobForm
  onChange(change: Partial<JobForm>): void
}

/** A kind without an entry does not compile. */
const parts: Record<Executor, { name: string; Fields: (props: PartProps) => ReactNode }> = {
  http: { name: 'HTTP request', Fields: HttpFields },
  worker: { name: 'Handler of a worker', Fields: WorkerFields },
  shell: { name: 'Command', Fields: ShellFields },
  artifact: { name: 'Artifact', Fields: ArtifactFields },
}
const executors = EXECUTORS.map((value) => ({ value, name: parts[value].name }))
const methods = METHODS.map((value) => ({ value, name: value }))

export function ExecutorFields({ form, onChange }: PartProps) {
  const { Fields } = parts[form.executor]
  return (
    <>
      <Choice
        legend="What it calls"
        value={form.executor}
        options={executors}
        onChoose={(executor) => onChange({ executor: executor as Executor })}
      />
      <Fields form={form} onChange={onChange} />
      <PayloadField form={form} onChange={onChange} />
      <div className="field-row">
        <TextField
          label="An attempt may take (seconds)"
          pointer="/execution/timeout_seconds"
          kind="number"
          placeholder="300"
          value={form.timeout}
          onText={(timeout) => onChange({ timeout })}
        />
        <TextField
          label="All attempts together (seconds)"
          pointer="/execution/total_timeout_seconds"
          kind="number"
          placeholder="no limit"
          value={form.totalTimeout}
          onText={(totalTimeout) => onChange({ totalTimeout })}
        />
        <TextField
          label="May be silent for (seconds)"
          pointer="/execution/heartbeat_timeout_seconds"
          kind="number"
          placeholder="no limit"
          value={form.heartbeatTimeout}
          onText={(heartbeatTimeout) => onChange({ heartbeatTimeout })}
        />
      </div>
    </>
  )
}

function HttpFields({ form, onChange }: PartProps) {
  return (
    <>
      <TextField
        label="Address"
        pointer="/execution/callback_url"
        placeholder={`${location.origin}/echo`}
        hint={`http or https. ${location.origin}/echo answers with what it is sent.`}
        value={form.callbackUrl}
        onText={(callbackUrl) => onChange({ callbackUrl })}
      />
      <SelectField
        label="Method"
        pointer="/execution/method"
        value={form.method}
        options={methods}
        onText={(method) => onChange({ method })}
      />
      <TextField
        label="Headers"
        pointer="/execution/headers"
        rows={2}
        isCode
        placeholder="X-API-Key: secret"
        hint="One a line. Values are never shown again; *** keeps the stored one."
        value={form.headers}
        onText={(headers) => onChange({ headers })}
      />
    </>
  )
}

function WorkerFields({ form, onChange }: PartProps) {
  return (
    <div className="field-row">
      <TextField
        label="Handler"
        pointer="/execution/handler"
        placeholder="rebuild-index"
        hint="The name under which your worker registered it."
        value={form.handler}
        onText={(handler) => onChange({ handler })}
      />
      <TextField
        label="Labels"
        pointer="/execution/labels"
        placeholder="large, eu"
        hint="Only a worker that has all of them runs it."
        value={form.labels}
        onText={(labels) => onChange({ labels })}
      />
    </div>
  )
}

function ShellFields({ form, onChange }: PartProps) {
  return (
    <>
      <TextField
        label="Command"
        pointer="/execution/command"
        placeholder="/usr/bin/backup"
        isCode
        hint="An absolute path that the operator has allowed. No shell reads it."
        value={form.command}
        onText={(command) => onChange({ command })}
      />
      <div className="field-row">
        <TextField
          label="Arguments"
          pointer="/execution/args"
          rows={3}
          isCode
          hint="One a line."
          value={form.args}
          onText={(args) => onChange({ args })}
        />
        <TextField
          label="Environment"
          pointer="/execution/env"
          rows={3}
          isCode
          placeholder="NAME=value"
          hint="One a line. Values are never shown again; *** keeps the stored one."
          value={form.env}
          onText={(env) => onChange({ env })}
        />
      </div>
    </>
  )
}

function ArtifactFields({ form, onChange }: PartProps) {
  return (
    <div className="field-row">
      <TextField
        label="Artifact"
        pointer="/execution/artifact_id"
        hint="The id under which the bundle was put there."
        value={form.artifactId}
        onText={(artifactId) => onChange({ artifactId })}
      />
      <TextField
        label="Entrypoint"
        pointer="/execution/entrypoint"
        placeholder="main.js:run"
        isCode
        value={form.entrypoint}
        onText={(entrypoint) => onChange({ entrypoint })}
      />
      <TextField
        label="SHA-256"
        pointer="/execution/sha256"
        placeholder="whatever has this id"
        isCode
        value={form.sha256}
        onText={(sha256) => onChange({ sha256 })}
      />
    </div>
  )
}

function PayloadField({ form, onChange }: PartProps) {
  const read = readJson(form.payload)
  const bytes = new TextEncoder().encode(form.payload).length
  const isJson = read.error === null && read.value !== undefined
  return (
    <>
      <TextField
        label="Payload (JSON)"
        pointer="/execution/payload"
        rows={5}
        isCode
        placeholder='{ "report": "daily" }'
        hint={isJson ? `Valid JSON, ${bytes} B of at most 256 KB.` : 'Left empty, nothing is sent.'}
        value={form.payload}
        onText={(payload) => onChange({ payload })}
      />
      {isJson && (
        <p>
          <Button kind="quiet" onClick={() => onChange({ payload: JSON.stringify(read.value, null, 2) })}>
            Tidy the JSON
          </Button>
        </p>
      )}
    </>
  )
}
