// Calendars: days and windows under a name, such as the holidays of a country, that schedules exclude.
import { nameForm } from './expected.ts'
import { pageOf, pageParameters } from './pagination.ts'
import { describedObject, instant, optionalText, strict, strictObject, textOrNull, time } from './shapes.ts'
import * as Type from './type.ts'

export const calendarNameForm = nameForm('a name', 'holidays-de')
export const calendarEntriesMax = 500

// One flat object instead of a union, as in a schedule: a validator can then name the field that is wrong.
const entry = Type.Object(
  {
    date: Type.Optional(
      time('A whole day, YYYY-MM-DD, in the time zone of each schedule; without `from` and `to`.'),
    ),
    from: Type.Optional(time('First day or time; with `to`.')),
    to: Type.Optional(time('Last day, or the time it ends; with `from`.')),
  },
  { ...strict, minProperties: 1, maxProperties: 2 },
)
const entries = Type.Array(entry, { maxItems: calendarEntriesMax })

export const CalendarRequest = Type.Object(
  { description: optionalText({ maxLength: 4_096 }), entries },
  {
    ...strict,
    examples: [
      {
        description: 'Days off in Germany',
        entries: [{ date: '2026-10-03' }, { from: '2026-12-24', to: '2026-12-26' }],
      },
    ],
  },
)
export type CalendarRequest = Type.Static<typeof CalendarRequest>

export const Calendar = describedObject('The calendar.', {
  name: Type.String({ description: 'The name used in exclusions, as `{"calendar": name}`.' }),
  description: textOrNull('As given.'),
  entries,
  revision: Type.Integer({ description: 'Grows with each change.' }),
  created_at: instant('Time of creation.'),
  created_by: Type.String({ description: 'The name of the API key.' }),
  updated_at: instant('Time of the last change.'),
  updated_by: Type.String({ description: 'The name of the API key.' }),
})
export type Calendar = Type.Static<typeof Calendar>

export const CalendarListQuery = strictObject(pageParameters)
export type CalendarListQuery = Type.Static<typeof CalendarListQuery>

export const CalendarList = pageOf('A page of the list, by name.', { calendars: Type.Array(Calendar) })
export type CalendarList = Type.Static<typeof CalendarList>
