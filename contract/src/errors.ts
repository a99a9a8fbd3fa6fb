// Every error a client can get: its status and the advice on it. docs/errors.md is held equal by a test.

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
  INVALID_TOKEN: {
    status: 401,
    title: 'The token is missing or not of this execution',
    help: 'Send what the call had in `X-Carillon-Token`, as it was, in `X-Carillon-Token` or as `Authorization: Bearer TOKEN`.',
  },
  SCOPE_MISSING: {
    status: 403,
    title: 'The API key lacks a scope',
    help: 'Use a key with the scope that `detail` names, or have one made by whoever holds a key with the scope admin.',
  },
  TENANT_MISMATCH: {
    status: 403,
    title: 'The API key belongs to another tenant',
    help: 'Leave out `X-Tenant-ID`, or send the tenant of the key in it. Only operators act for others.',
  },
  OPERATOR_ONLY: {
    status: 403,
    title: 'Only operators may do this',
    help: 'Use the operator key of the installation, or one that was made with `operator: true`.',
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
  TENANT_NOT_FOUND: {
    status: 404,
    title: 'There is no such tenant',
    help: 'Check the tenant id; `GET /api/v1/tenants` lists them for operators.',
  },
  API_KEY_NOT_FOUND: {
    status: 404,
    title: 'There is no such API key',
    help: 'Check the key id, which is not the key itself; `GET /api/v1/api-keys` lists the keys of the tenant.',
  },
  CALENDAR_NOT_FOUND: {
    status: 404,
    title: 'There is no such calendar',
    help: 'Check the name; `GET /api/v1/calendars` lists the calendars of the tenant.',
  },
  ARTIFACT_NOT_FOUND: {
    status: 404,
    title: 'There is no such artifact',
    help: 'Check the id; `GET /api/v1/artifacts` lists the artifacts of the tenant.',
  },
  OPERATION_NOT_FOUND: {
    status: 404,
    title: 'There is no such operation',
    help: 'Operations are kept for 7 days after their end. `GET /api/v1/operations` lists them.',
  },
  GRAPH_RUN_NOT_FOUND: {
    status: 404,
    title: 'There is no such graph run',
    help: 'Check the id; `GET /api/v1/graph-runs` lists the runs of the tenant. A run is kept for as long as the history of the tenant reaches.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'The path does not answer this method',
    help: 'Use one of the methods in the `Allow` header; /openapi.json says what each of them does.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    title: 'The answer is of another kind than the one asked for',
    help: 'Send `Accept: text/event-stream` to `/events`, and read what comes as it comes.',
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
  TENANT_NAME_TAKEN: {
    status: 409,
    title: 'Another tenant has this name',
    help: 'Choose another name.',
  },
  TOO_MANY_API_KEYS: {
    status: 409,
    title: 'There are too many API keys',
    help: 'A tenant has at most 1,000 keys that are not revoked. Revoke those that nobody uses; `last_used_at` tells.',
  },
  TOO_MANY_CALENDARS: {
    status: 409,
    title: 'There are too many calendars',
    help: 'A tenant has at most 1,000. Delete those that no job names.',
  },
  TOO_MANY_ARTIFACTS: {
    status: 409,
    title: 'There are too many artifacts',
    help: 'A tenant has at most 100. Delete those that no job names.',
  },
  CALENDAR_IN_USE: {
    status: 409,
    title: 'A job names the calendar',
    help: 'Take the calendar out of the exclusions of all jobs that are not deleted first, or replace its entries.',
  },
  JOB_COMPLETED: {
    status: 409,
    title: 'The job is completed',
    help: 'It has no slot left, so there is nothing to pause or resume. Give it a new schedule with PATCH, or trigger it.',
  },
  JOB_KEY_TAKEN: {
    status: 409,
    title: 'Another job has this key',
    help: 'Use another `key`, or change the job that has it: `PUT /api/v1/jobs/by-key/{key}`.',
  },
  JOB_HAS_DEPENDENTS: {
    status: 409,
    title: 'Other jobs run after this one',
    help: 'Take the job out of the `depends_on` of those that the detail names, or delete them first.',
  },
  GRAPH_RUN_FINISHED: {
    status: 409,
    title: 'The graph run has ended',
    help: 'What has ended stays as it ended; `detail` says how. A run that did not succeed can be resumed.',
  },
  GRAPH_RUN_NOT_FINISHED: {
    status: 409,
    title: 'The graph run has not ended',
    help: 'Only a run that has ended can be resumed. Wait, or cancel it first.',
  },
  NOTHING_TO_RESUME: {
    status: 409,
    title: 'The graph run has nothing to resume',
    help: 'Every job of it succeeded, or was skipped as its dependencies say. Trigger its root for a new run.',
  },
  GRAPH_RUN_OVERLAP: {
    status: 409,
    title: 'Another run is in the way',
    help: 'The overlap policy of the root allows one run at a time. Wait until what the detail names has ended, or cancel it; pause the root first if its next slot would come between.',
  },
  RESUMED_TOO_OFTEN: {
    status: 409,
    title: 'The graph run was resumed too often',
    help: 'A run is resumed at most 100 times. Trigger its root for a new run.',
  },
  EXECUTION_FINISHED: {
    status: 409,
    title: 'The execution has ended',
    help: 'What has ended stays as it ended; `execution_status` says how.',
  },
  ATTEMPT_OVER: {
    status: 409,
    title: 'The attempt is over',
    help: 'It was too late: the attempt was timed out, cancelled, or followed by another one. Stop what it does; what comes of it counts for nothing.',
  },
  RESULT_DIFFERS: {
    status: 409,
    title: 'The attempt has another result on record',
    help: 'The first result or error of an attempt stands; `GET /api/v1/executions/{execution_id}` shows it. Only the same one may be sent again.',
  },
  WORKER_LOST: {
    status: 409,
    title: 'The worker is not registered any more',
    help: 'It was silent for longer than its lease, or has left. Stop what it runs, and register anew: `POST /api/v1/workers`.',
  },
  TOO_MANY_WORKERS: {
    status: 409,
    title: 'There are too many workers',
    help: 'A tenant has at most 1,000 at a time. Let those that you stop leave with `DELETE /api/v1/workers/{worker_id}`, or give each a larger capacity.',
  },
  SIGNING_KEY_NEW: {
    status: 409,
    title: 'The signing key was changed a short while ago',
    help: 'Callbacks are still signed with the key before, too. Wait until `previous_until`, or send `{"force": true}`. `GET /api/v1/signing-key` shows the present key.',
  },
  EXECUTION_NOT_FINISHED: {
    status: 409,
    title: 'The execution has not ended',
    help: 'Only what has ended can be retried; `execution_status` says where it is. Wait, or cancel it first.',
  },
  TOO_MANY_OPERATIONS: {
    status: 409,
    title: 'Too many operations are under way',
    help: 'Wait until one has ended, or cancel one: `GET /api/v1/operations` lists them.',
  },
  IDEMPOTENCY_KEY_IN_USE: {
    status: 409,
    title: 'A request with this idempotency key is under way',
    help: 'Wait for its answer, or repeat the request after `Retry-After`: it is then answered with what the first one did.',
  },
  BACKFILL_NOT_POSSIBLE: {
    status: 409,
    title: 'The schedule has no slots in the past',
    help: 'A schedule of type IMMEDIATE, or one that counts from the end of the last execution, fires at no fixed times that could be made up for. Trigger the job instead. A job that runs after others is run again by a backfill of the job that its runs start with.',
  },
  VERSION_STALE: {
    status: 412,
    title: 'The job was changed meanwhile',
    help: 'Read the job again, look at what changed, and repeat with its ETag in `If-Match`; `If-Match: *` overrides.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    title: 'The body is too large',
    help: 'Send at most 1 MiB; to `/workers/heartbeat` and `/workers/report` 4 MiB, to `/artifacts/{artifact_id}` 32 MiB.',
  },
  URL_TOO_LONG: {
    status: 414,
    title: 'A part of the path is too long',
    help: 'No path parameter is longer than 256 characters.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'The content type is not supported',
    help: 'Send `Content-Type: application/json`; to `/artifacts/{artifact_id}` `application/gzip`.',
  },
  SCHEDULED_TIME_TOO_OLD: {
    status: 422,
    title: 'The time lies too far in the past',
    help: 'Choose a later `scheduled_time`, raise `misfire_window_seconds`, or use type IMMEDIATE to run now.',
  },
  TIER_LIMIT: {
    status: 422,
    title: 'The tier of the tenant does not allow this',
    help: 'Stay within the limit that the detail names, or have an operator move the tenant to another tier. `GET /api/v1/tenants/{tenant_id}` shows its limits.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    title: 'The idempotency key belongs to another request',
    help: 'A key stands for one request with one body. Use a fresh key for each new request.',
  },
  SCHEDULE_NOT_CHANGEABLE: {
    status: 422,
    title: 'The schedule cannot become this',
    help: 'An existing job cannot become IMMEDIATE, nor ONE_TIME in the past: trigger it instead, or create another job.',
  },
  BACKFILL_TOO_LARGE: {
    status: 422,
    title: 'The range holds too many slots',
    help: 'A backfill runs at most 10,000 slots; the detail says how many there are. Ask for one part of the range after the other.',
  },
  DEPENDENCY_NOT_FOUND: {
    status: 422,
    title: 'The job would run after one that is not there',
    help: 'Check the ids in `depends_on`; each must be a job of the same tenant that is not deleted.',
  },
  DEPENDENCY_CYCLE: {
    status: 422,
    title: 'The jobs would wait for each other for ever',
    help: 'Take one of the dependencies out of the circle that the detail spells out.',
  },
  GRAPH_TOO_LARGE: {
    status: 422,
    title: 'Too many jobs would depend on each other',
    help: 'At most 1,000 jobs with 10,000 dependencies are one graph, counted through all that they depend on and all that depend on them. Split it, or let one job do more.',
  },
  CHECKSUM_MISMATCH: {
    status: 422,
    title: 'The bundle has another checksum',
    help: 'Send the SHA-256 of the very bytes of the body, or none. If it is right, the bundle was changed on its way.',
  },
  NOT_SUPPORTED_YET: {
    status: 422,
    title: 'This part of the API is not built yet',
    help: 'Leave out what `errors` names. It is refused rather than ignored; a later version will take it.',
  },
  IF_MATCH_REQUIRED: {
    status: 428,
    title: 'The If-Match header is missing',
    help: 'Send the ETag of the job as you know it in `If-Match`, so that no change of somebody else is lost; `If-Match: *` overrides.',
  },
  RATE_LIMITED: {
    status: 429,
    title: 'There are too many requests',
    help: 'Wait as long as `Retry-After` says. The `RateLimit` header of each answer tells how many are left.',
  },
  TOO_MANY_WAITING: {
    status: 429,
    title: 'Too many executions of the job have not ended',
    help: 'A job has at most 100,000 triggers that wait or run. Wait until some of them have ended, run more workers, or cancel what is not needed.',
  },
  TOO_MANY_STREAMS: {
    status: 429,
    title: 'Too many streams are open',
    help: 'A key may read 10 streams of events at a time, and a server serves 100. Close one, or ask every few seconds instead: lists answer what a stream tells.',
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
