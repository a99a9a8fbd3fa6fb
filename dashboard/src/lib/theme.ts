// The theme in effect now, for graphics that are drawn rather than styled.
import { useSyncExternalStore } from 'react'
import { theme } from './preferences.ts'
import { useStore } from './store.ts'

const dark = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null

export function useThemeName(): 'light' | 'dark' {
  const chosen = useStore(theme)
  const isDark = useSyncExternalStore(
    (listener) => {
      dark?.addEventListener('change', listener)
      return () => dark?.removeEventListener('change', listener)
    },
    () => dark?.matches ?? false,
  )
  if (chosen !== 'system') return chosen
  return isDark ? 'dark' : 'light'
}
