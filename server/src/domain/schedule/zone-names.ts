// Names of zones as people write them: a city alone ("New York"), a near miss ("Europe/Lodon"). Finds the zone
// meant, or the nearest ones to suggest. Work is bounded: about 420 names, each compared on at most 24 letters.
import { editDistance } from '../../lib/edit-distance.ts'

const suggestionsMax = 3
const lettersMax = 24

/** Common names that are not the last part of an IANA name. */
const aliases: Record<string, string> = {
  z: 'UTC',
  zulu: 'UTC',
  utc: 'UTC',
  gmt: 'UTC',
  eastern: 'America/New_York',
  central: 'America/Chicago',
  mountain: 'America/Denver',
  pacific: 'America/Los_Angeles',
  uk: 'Europe/London',
  india: 'Asia/Kolkata',
  japan: 'Asia/Tokyo',
  beijing: 'Asia/Shanghai',
  sanfrancisco: 'America/Los_Angeles',
  washington: 'America/New_York',
  kyiv: 'Europe/Kyiv',
}

let cities: Map<string, string> | null = null

/** The zone of a city or common name, or null. `New York`, `new_york` and `newyork` are one name. */
export function zoneOfCity(name: string): string | null {
  // "GMT+2" and "London 17:30" are not names: the part beyond a name must not be dropped.
  if (!/^[\p{L} ._'-]+$/u.test(name)) return null
  const letters = lettersOf(name)
  return (Object.hasOwn(aliases, letters) ? aliases[letters] : readCities().get(letters)) ?? null
}

export function suggestZones(name: string): string[] {
  const exact = zoneOfCity(name) ?? zoneOfCity(name.slice(name.lastIndexOf('/') + 1))
  if (exact !== null) return [exact]
  const whole = lettersOf(name)
  const city = lettersOf(name.slice(name.lastIndexOf('/') + 1))
  if (city.length < 3) return []
  const scored: { zone: string; distance: number }[] = []
  const limit = Math.max(2, Math.floor(city.length / 3) + 1)
  for (const [letters, zone] of readCities()) {
    const distance = editDistance(city, letters, limit)
    // The region decides between equally near cities: Europe/Pari is Paris, not Mari.
    if (distance < limit)
      scored.push({ zone, distance: distance + (sameStart(whole, lettersOf(zone)) ? 0 : 0.5) })
    else if (letters.startsWith(city)) scored.push({ zone, distance: 2.5 })
  }
  scored.sort((a, b) => a.distance - b.distance || (a.zone < b.zone ? -1 : 1))
  return scored.slice(0, suggestionsMax).map(({ zone }) => zone)
}

function readCities(): Map<string, string> {
  if (cities !== null) return cities
  cities = new Map()
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const city = lettersOf(zone.slice(zone.lastIndexOf('/') + 1))
    if (!cities.has(city)) cities.set(city, zone)
  }
  return cities
}

function sameStart(a: string, b: string): boolean {
  return a.slice(0, 4) === b.slice(0, 4)
}

function lettersOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z]/g, '')
    .slice(0, lettersMax)
}
