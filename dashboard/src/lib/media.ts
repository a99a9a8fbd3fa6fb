// The window and the wish of its person: as narrow as a phone; the theme in effect, for graphics that are drawn.
import { useSyncExternalStore } from 'react'
import { theme } from './preferences.ts'
import { useStore } from './store.ts'

const phone = '(max-width: 720px)'
const touch = '(pointer: coarse)'
const dark = '(prefers-color-scheme: dark)'

export function useIsPhone(): boolean {
  return useMedia(phone)
}

/** Pointed at with a finger. */
export function useIsTouched(): boolean {
  return useMedia(touch)
}

export function useThemeName(): 'light' | 'dark' {
  const chosen = useStore(theme)
  const isDark = useMedia(dark)
  if (chosen !== 'system') return chosen
  return isDark ? 'dark' : 'light'
}

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}

/** Reads colours by name, such as `--accent`, as they are in the theme in effect. */
export function readColour(name: string): string {
  const probe = document.createElement('i')
  probe.style.color = `var(${name}, #888)`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
