// The screens one can go to, for the rail, the bar, the palette and the keys.
import type { IconName } from '../components/icon.tsx'

export interface Destination {
  name: string
  to: string
  key: string
  icon: IconName
  /** In the bar at the foot of a phone; the others are behind "More". */
  onPhone?: boolean
}

export const destinations: readonly Destination[] = [
  { name: 'Now', to: '/', key: 'g n', icon: 'now', onPhone: true },
  { name: 'Executions', to: '/executions', key: 'g e', icon: 'executions', onPhone: true },
  { name: 'Jobs', to: '/jobs', key: 'g j', icon: 'jobs', onPhone: true },
  { name: 'Calendar', to: '/calendar', key: 'g c', icon: 'calendar' },
  { name: 'Graphs', to: '/graphs', key: 'g g', icon: 'graphs' },
  { name: 'Dead letters', to: '/dead-letters', key: 'g d', icon: 'dead', onPhone: true },
  { name: 'SLA', to: '/sla', key: 'g s', icon: 'sla' },
  { name: 'Workers', to: '/workers', key: 'g w', icon: 'workers' },
  { name: 'Settings', to: '/settings', key: 'g ,', icon: 'settings' },
]
