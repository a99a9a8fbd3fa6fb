// The choices of a person for this browser: how times are shown and which theme.
import { TIME_MODES } from './format.ts'
import { createChoice } from './store.ts'

export const THEMES = ['system', 'light', 'dark'] as const

export const timeMode = createChoice('time', TIME_MODES, 'relative')
export const theme = createChoice('theme', THEMES, 'system')

export function applyTheme(): void {
  const root = document.documentElement
  if (theme.get() === 'system') delete root.dataset['theme']
  else root.dataset['theme'] = theme.get()
}
