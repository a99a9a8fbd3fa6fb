// Every error a client can get: its status and what to do about it. docs/errors.md is held equal by a test.

export const ERRORS = {
  MALFORMED_REQUEST: {
    status: 400,
    title: 'The request is not valid HTTP',
    help: 'Check the URL encoding and the headers; a client library normally gets these right.',
  },
  MALFORMED_JSON: {
    status: 400,
    title: 'The body is not valid JSON',
    help: 'Send a JSON document; the detail says where reading stopped.',
  },
  INVALID_REQUEST: {
    status: 400,
    title: 'The request does not have the documented form',
    help: 'Correct the fields listed in `errors`; each pointer names one. The form is in /openapi.json.',
  },
  INVALID_SCHEDULE: {
    status: 400,
    title: 'The schedule is not valid',
    help: 'Correct what `errors` says; `code`, `position`, `allowed` and `suggestions` there are made for programs and forms. docs/schedules.md has the whole syntax.',
  },
  NESTED_TOO_DEEP: {
    status: 400,
    title: 'The JSON is nested too deep',
    help: 'Nest objects and arrays at most 64 deep.',
  },
  INVALID_TEXT: {
    status: 400,
    title: 'A text has a character that cannot be stored',
    help: 'Remove the NUL character or the half of a surrogate pair at the pointer.',
  },
  INVALID_NUMBER: {
    status: 400,
    title: 'A number is too large to be kept exactly',
    help: 'Send the number at the pointer as a text, or as a smaller one: whole numbers are exact up to 9007199254740991.',
  },
  INVALID_CURSOR: {
    status: 400,
    title: 'The cursor is not one of ours',
    help: 'Send the `next_cursor` of a page of the same list as it was given, or none to begin anew.',
  },
  UNAUTHENTICATED: {
    status: 401,
    title: 'The API key is missing or not valid',
    help: 'Send `Authorization: Bearer KEY`. `npm start` prints where the key is kept.',
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    title: 'There is no such path',
    help: 'All paths are in /openapi.json; the API begins with /api/v1.',
  },
  JOB_NOT_FOUND: {
    status: 404,
    title: 'There is no such job',
    help: 'Check the job id; `POST /api/v1/jobs` answers with it.',
  },
  EXECUTION_NOT_FOUND: {
    status: 404,
    title: 'There is no such execution',
    help: 'Check the execution id. Executions are kept for as long as the history of the tenant reaches.',
  },
  DEAD_LETTER_NOT_FOUND: {
    status: 404,
    title: 'There is no such dead letter',
    help: 'It was redriven or discarded, or it never was one. `GET /api/v1/dead-letters` lists what is there.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    title: 'The request did not arrive in time',
    help: 'Send the whole request within 30 s.',
  },
  JOB_DELETED: {
    status: 409,
    title: 'The job is deleted',
    help: 'A deleted job does not run any more; create a new one.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    title: 'The body is too large',
    help: 'Send at most 1 MiB.',
  },
  URL_TOO_LONG: {
    status: 414,
    title: 'A part of the path is too long',
    help: 'No path parameter is longer than 256 characters.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'The content type is not supported',
    help: 'Send `Content-Type: application/json`.',
  },
  SCHEDULED_TIME_TOO_OLD: {
    status: 422,
    title: 'The time lies too far in the past',
    help: 'Choose a later `scheduled_time`, raise `misfire_window_seconds`, or use type IMMEDIATE to run now.',
  },
  NOT_SUPPORTED_YET: {
    status: 422,
    title: 'This part of the API is not built yet',
    help: 'Leave out what `errors` names. It is refused rather than ignored; a later version will take it.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    title: 'The headers are too large',
    help: 'Send at most 16 KiB of headers.',
  },
  INTERNAL_ERROR: {
    status: 500,
    title: 'Carillon failed',
    help: 'This is a bug of ours. The log has the cause under the same request; please report it.',
  },
  UNAVAILABLE: {
    status: 503,
    title: 'Carillon cannot answer now',
    help: 'The database is away or the server is stopping. Try again after the `Retry-After` header; a write may have happened, so look before you repeat it.',
  },
} as const satisfies Record<string, ErrorEntry>

interface ErrorEntry {
  status: number
  title: string
  help: string
}

export type ErrorCode = keyof typeof ERRORS
