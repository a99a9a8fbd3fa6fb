// A status: a sign, a word and a colour, never the colour alone. For executions, attempts, jobs, operations, graph runs.
import { words } from '../lib/format.ts'
import { Icon, type IconName } from './icon.tsx'

const tones: Record<string, { tone: string; icon: IconName }> = {
  SUCCEEDED: { tone: 'succeeded', icon: 'check' },
  COMPLETED: { tone: 'succeeded', icon: 'check' },
  ACTIVE: { tone: 'succeeded', icon: 'play' },
  FAILED: { tone: 'failed', icon: 'cross' },
  LOST: { tone: 'failed', icon: 'warn' },
  TIMED_OUT: { tone: 'timed-out', icon: 'clock' },
  LATE: { tone: 'timed-out', icon: 'clock' },
  RUNNING: { tone: 'running', icon: 'play' },
  RETRYING: { tone: 'timed-out', icon: 'retry' },
  PENDING: { tone: 'pending', icon: 'dots' },
  WAITING: { tone: 'pending', icon: 'dots' },
  WAITING_DEPENDENCIES: { tone: 'pending', icon: 'dots' },
  PAUSED: { tone: 'pending', icon: 'pause' },
  CANCELLING: { tone: 'cancelled', icon: 'slash' },
  CANCELLED: { tone: 'cancelled', icon: 'slash' },
  DELETED: { tone: 'cancelled', icon: 'trash' },
  PURGING: { tone: 'cancelled', icon: 'trash' },
  PURGED: { tone: 'cancelled', icon: 'trash' },
  SKIPPED: { tone: 'skipped', icon: 'hollow' },
}

/** Takes `RUNNING` as well as `running`; one that is unknown is shown as it is. */
export function Status({ status, label }: { status: string; label?: string }) {
  return (
    <span className="status" style={{ color: statusColour(status) }}>
      <Icon name={statusIcon(status)} />
      {label ?? (status === 'WAITING_DEPENDENCIES' ? 'waiting for jobs' : words(status))}
    </span>
  )
}

/** The CSS colour of a status, for charts and bars. */
export function statusColour(status: string): string {
  return `var(--${tones[status.toUpperCase()]?.tone ?? 'pending'})`
}

/** The icon of a status, for drawn graphics. */
export function statusIcon(status: string): IconName {
  return tones[status.toUpperCase()]?.icon ?? 'hollow'
}
