// One node of a run: its status and the reason, its parents, its dependents, and the effect of a resume on it.
import { Button } from '../../components/button.tsx'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Facts } from '../../components/page.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Status } from '../../components/status.tsx'
import { Duration, Elapsed, Time } from '../../components/time.tsx'
import { plural, shortId, words } from '../../lib/format.ts'
import { childrenOf, isResumeStart, type RunNode, reachedFrom } from './run-nodes.ts'

interface NodePanelProps {
  node: RunNode
  nodes: readonly RunNode[]
  again: ReadonlySet<string>
  isOver: boolean
  onSelect(id: string): void
  onClose(): void
}

const skipTexts: Record<string, string> = {
  dependency: 'A job that it depends on did not end as it must.',
  paused: 'Its job was paused when its turn came.',
  deleted: 'Its job was deleted when its turn came.',
  slot: 'It is a root, and its slot was skipped.',
  absent: 'It is outside the run, and nothing of it had ever ended.',
}
const listedMax = 50

export function NodePanel({ node, nodes, again, isOver, onSelect, onClose }: NodePanelProps) {
  const nodeOf = new Map(nodes.map((one) => [one.job_id, one]))
  const children = childrenOf(nodes).get(node.job_id) ?? []
  const { execution_id: executionId } = node
  return (
    <section className="card node-panel" aria-label={`Node ${node.job_name}`}>
      <header className="card-head">
        <h2>{node.job_name}</h2>
        <Button kind="quiet" icon="cross" aria-label="Close the node" onClick={onClose} />
      </header>
      <p>
        <Status status={node.status} />
        {node.role === 'outside' && (
          <span className="dim"> outside the run: it counts by its latest execution before</span>
        )}
      </p>
      {node.skip_reason !== null && (
        <p>
          <Sentence text={node.skip_message ?? skipTexts[node.skip_reason] ?? words(node.skip_reason)} />
        </p>
      )}
      {node.error !== null && (
        <p className="node-error">
          <strong>{node.error.type}</strong> {node.error.message}
        </p>
      )}
      <Facts
        facts={{
          Job: (
            <JobLink id={node.job_id}>
              {node.job_name}, version {node.job_version}
            </JobLink>
          ),
          Execution:
            executionId === null ? (
              <span className="dim">none yet</span>
            ) : (
              <ExecutionLink id={executionId}>
                {shortId(executionId)}, attempt {node.attempt_number}
              </ExecutionLink>
            ),
          Started: <Time at={node.started_at} />,
          Took:
            node.status === 'RUNNING' && node.started_at !== null ? (
              <Elapsed since={node.started_at} />
            ) : (
              <Duration ms={node.duration_ms} />
            ),
        }}
      />
      <NodeLinks
        title="Runs after"
        none="Nothing: it is where the run starts."
        links={node.depends_on.map(({ job_id, on }) => ({ node: nodeOf.get(job_id), note: `on ${on}` }))}
        onSelect={onSelect}
      />
      <NodeLinks
        title="After it"
        none="Nothing."
        links={children.map((id) => ({ node: nodeOf.get(id), note: '' }))}
        onSelect={onSelect}
      />
      {isOver && <ResumeNote node={node} nodes={nodes} again={again} />}
      {node.replaced.length > 0 && (
        <p>
          Before the run was resumed:{' '}
          {node.replaced.slice(-listedMax).map((id) => (
            <span key={id}>
              <ExecutionLink id={id}>{shortId(id)}</ExecutionLink>{' '}
            </span>
          ))}
        </p>
      )}
    </section>
  )
}

function ResumeNote({ node, nodes, again }: Pick<NodePanelProps, 'node' | 'nodes' | 'again'>) {
  if (!again.has(node.job_id)) return <p className="dim">A resume leaves it as it is.</p>
  const behind = reachedFrom(nodes, [node.job_id]).size - 1
  const others = again.size - behind - 1
  return (
    <p>
      {isResumeStart(node)
        ? `A resume from here runs it again${behind === 0 ? '' : `, and ${plural(behind, 'node')} after it`}.`
        : 'A resume runs it again, because something before it did not succeed.'}
      {others > 0 && ` ${plural(others, 'other node')} would run again too.`}
    </p>
  )
}

interface NodeLinksProps {
  title: string
  none: string
  links: readonly { node: RunNode | undefined; note: string }[]
  onSelect(id: string): void
}

function NodeLinks({ title, none, links, onSelect }: NodeLinksProps) {
  return (
    <div>
      <h3>{title}</h3>
      {links.length === 0 && <p className="dim">{none}</p>}
      <ul className="node-links">
        {links.slice(0, listedMax).map(
          ({ node, note }) =>
            node !== undefined && (
              <li key={node.job_id}>
                <button type="button" className="link-button" onClick={() => onSelect(node.job_id)}>
                  {node.job_name}
                </button>{' '}
                <Status status={node.status} /> <span className="dim">{note}</span>
              </li>
            ),
        )}
      </ul>
      {links.length > listedMax && <p className="dim">… and {links.length - listedMax} more</p>}
    </div>
  )
}
