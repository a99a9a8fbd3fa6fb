// The choices of a person for this browser: how times are shown, and the theme.
import { Icon } from '../components/icon.tsx'
import { TIME_MODES } from '../lib/format.ts'
import { applyTheme, THEMES, theme, timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'

export function TimeSwitch() {
  const chosen = useStore(timeMode)
  return (
    <fieldset className="switch">
      <legend className="unseen">Times</legend>
      {TIME_MODES.map((mode) => (
        <button key={mode} type="button" aria-pressed={mode === chosen} onClick={() => timeMode.set(mode)}>
          {mode === 'relative' ? 'ago' : mode}
        </button>
      ))}
    </fieldset>
  )
}

const themeIcons = { system: 'screen', light: 'sun', dark: 'moon' } as const

export function ThemeSwitch() {
  const chosen = useStore(theme)
  return (
    <fieldset className="switch">
      <legend className="unseen">Theme</legend>
      {THEMES.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === chosen}
          aria-label={`${name} theme`}
          title={`${name} theme`}
          onClick={() => {
            theme.set(name)
            applyTheme()
          }}
        >
          <Icon name={themeIcons[name]} />
        </button>
      ))}
    </fieldset>
  )
}
