// A time zone: any that this browser knows is offered, any other may be written.
import { useId, useMemo } from 'react'
import { TextField } from '../../components/field.tsx'

export function ZoneField({ value, onZone }: { value: string; onZone(zone: string): void }) {
  const listId = useId()
  const zones = useMemo(() => Intl.supportedValuesOf('timeZone'), [])
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <>
      <TextField
        label="Time zone"
        pointer="/schedule/timezone"
        placeholder="UTC"
        list={listId}
        hint={`Empty is UTC. Yours is ${here}.`}
        value={value}
        onText={(zone) => onZone(zone.trim())}
      />
      <datalist id={listId}>
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  )
}
