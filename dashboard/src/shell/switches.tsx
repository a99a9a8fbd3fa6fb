// The choices of a person for this browser: how times are shown, and the theme.
import { Icon } from '../components/icon.tsx'
import { OneOf } from '../components/one-of.tsx'
import { TIME_MODES } from '../lib/format.ts'
import { applyTheme, THEMES, theme, timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'

const timeOptions = TIME_MODES.map((value) => ({ value, name: value === 'relative' ? 'ago' : value }))

export function TimeSwitch() {
  const chosen = useStore(timeMode)
  return <OneOf look="switch" legend="Times" options={timeOptions} value={chosen} onPress={timeMode.set} />
}

const themeIcons = { system: 'screen', light: 'sun', dark: 'moon' } as const
const themeOptions = THEMES.map((value) => ({
  value,
  name: <Icon name={themeIcons[value]} />,
  label: `${value} theme`,
}))

export function ThemeSwitch() {
  const choose = (name: (typeof THEMES)[number]) => {
    theme.set(name)
    applyTheme()
  }
  return (
    <OneOf look="switch" legend="Theme" options={themeOptions} value={useStore(theme)} onPress={choose} />
  )
}
