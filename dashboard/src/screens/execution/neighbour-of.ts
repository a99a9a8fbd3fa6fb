// Which execution of a list is the one beside another.

/** Of executions that are listed newest first. */
export function nearest(
  items: readonly { execution_id: string; scheduled_time: string }[],
  here: { executionId: string; scheduledTime: string },
  side: 'older' | 'newer',
): string | null {
  const index = items.findIndex(({ execution_id }) => execution_id === here.executionId)
  if (index >= 0) return items[side === 'older' ? index + 1 : index - 1]?.execution_id ?? null
  const found =
    side === 'older'
      ? items.find(({ scheduled_time }) => scheduled_time < here.scheduledTime)
      : items.findLast(({ scheduled_time }) => scheduled_time > here.scheduledTime)
  return found?.execution_id ?? null
}
