// A field of type datetime-local leaves out seconds that are zero; an instant of the API has them.

export function withSeconds(value: string): string {
  return /T\d\d:\d\d$/.test(value) ? `${value}:00` : value
}
