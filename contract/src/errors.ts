// Every error a client can get: its status and the advice on it. docs/errors.md is held equal by a test.

/** The title says which rule was broken, the help how to go on. */
const error = (status: number, title: string, { help }: { help: string }) => ({ status, title, help })

export const ERRORS = {
  MALFORMED_REQUEST: error(400, 'The request is not valid HTTP', {
    help: 'Check the URL encoding and the headers; a client library normally gets these right.',
  }),
  MALFORMED_JSON: error(400, 'The body is not valid JSON', {
    help: 'Send a JSON document; the detail says where reading stopped.',
  }),
  INVALID_REQUEST: error(400, 'The request does not have the documented form', {
    help: 'Correct the fields listed in `errors`; each pointer names one. The form is in /openapi.json.',
  }),
  INVALID_SCHEDULE: error(400, 'The schedule is not valid', {
    help: 'Correct the errors listed in `errors`; their `code`, `position`, `allowed` and `suggestions` are meant for programs and forms. The full syntax is in docs/schedules.md.',
  }),
  NESTED_TOO_DEEP: error(400, 'The JSON is nested too deeply', {
    help: 'Nest objects and arrays at most 64 levels deep.',
  }),
  INVALID_TEXT: error(400, 'A string has a character that cannot be stored', {
    help: 'Remove the NUL character or the unpaired surrogate at the pointer.',
  }),
  INVALID_NUMBER: error(400, 'A number is too large to be stored exactly', {
    help: 'Send the number at the pointer as a string, or send a smaller one: whole numbers are exact up to 9007199254740991.',
  }),
  INVALID_CURSOR: error(400, 'The cursor is not valid', {
    help: 'Send the `next_cursor` of a page of the same list unchanged, or leave it out to start from the first page.',
  }),
  UNAUTHENTICATED: error(401, 'The API key is missing or not valid', {
    help: 'Send `Authorization: Bearer KEY`. `npm start` prints the location of the key.',
  }),
  INVALID_TOKEN: error(401, 'The token is missing or does not belong to this execution', {
    help: 'Send the token that came in the `X-Carillon-Token` header of the call, unchanged, as `X-Carillon-Token` or as `Authorization: Bearer TOKEN`.',
  }),
  SCOPE_MISSING: error(403, 'The API key lacks a scope', {
    help: 'Use a key with the scope that `detail` names. A key with the scope admin can create one.',
  }),
  TENANT_MISMATCH: error(403, 'The API key belongs to another tenant', {
    help: 'Leave out `X-Tenant-ID`, or send the tenant of the key in it. Only operators may act for other tenants.',
  }),
  OPERATOR_ONLY: error(403, 'Only operators may do this', {
    help: 'Use the operator key of the installation, or a key that was created with `operator: true`.',
  }),
  ROUTE_NOT_FOUND: error(404, 'There is no such path', {
    help: 'All paths are in /openapi.json; paths of the API begin with /api/v1.',
  }),
  JOB_NOT_FOUND: error(404, 'There is no such job', {
    help: 'Check the job id; `POST /api/v1/jobs` returns it.',
  }),
  EXECUTION_NOT_FOUND: error(404, 'There is no such execution', {
    help: 'Check the execution id. Executions are kept for the history retention of the tenant.',
  }),
  DEAD_LETTER_NOT_FOUND: error(404, 'There is no such dead letter', {
    help: 'It was redriven or discarded, or the execution never was a dead letter. `GET /api/v1/dead-letters` lists all dead letters.',
  }),
  TENANT_NOT_FOUND: error(404, 'There is no such tenant', {
    help: 'Check the tenant id; `GET /api/v1/tenants` lists them for operators.',
  }),
  TIER_NOT_FOUND: error(404, 'There is no such tier', {
    help: '`GET /api/v1/tiers` lists them; `PUT /api/v1/tiers/{name}` makes one. Only for operators.',
  }),
  API_KEY_NOT_FOUND: error(404, 'There is no such API key', {
    help: 'Check the key id, which is not the key itself; `GET /api/v1/api-keys` lists the keys of the tenant.',
  }),
  CALENDAR_NOT_FOUND: error(404, 'There is no such calendar', {
    help: 'Check the name; `GET /api/v1/calendars` lists the calendars of the tenant.',
  }),
  ARTIFACT_NOT_FOUND: error(404, 'There is no such artifact', {
    help: 'Check the id; `GET /api/v1/artifacts` lists the artifacts of the tenant.',
  }),
  OPERATION_NOT_FOUND: error(404, 'There is no such operation', {
    help: 'Operations are kept for 7 days after their end. `GET /api/v1/operations` lists them.',
  }),
  GRAPH_RUN_NOT_FOUND: error(404, 'There is no such graph run', {
    help: 'Check the id; `GET /api/v1/graph-runs` lists the runs of the tenant. Runs are kept for the history retention of the tenant.',
  }),
  METHOD_NOT_ALLOWED: error(405, 'The path does not support this method', {
    help: 'Use one of the methods in the `Allow` header; /openapi.json describes each of them.',
  }),
  NOT_ACCEPTABLE: error(406, 'The response is not available in the requested media type', {
    help: 'Send `Accept: text/event-stream` to `/events`, and read the response as a stream.',
  }),
  REQUEST_TIMEOUT: error(408, 'The request did not arrive in time', {
    help: 'Send the whole request within 30 s.',
  }),
  JOB_DELETED: error(409, 'The job is deleted', {
    help: 'A deleted job no longer runs; create a new one.',
  }),
  TENANT_NAME_TAKEN: error(409, 'Another tenant has this name', {
    help: 'Choose another name.',
  }),
  TENANT_DELETED: error(409, 'The tenant is deleted', {
    help: 'Operators can read it, and restore it with `POST /api/v1/tenants/{id}/restore` until its purge begins.',
  }),
  TENANT_NOT_DELETED: error(409, 'The tenant is not deleted', {
    help: 'Only a deleted tenant can be restored or purged; `DELETE /api/v1/tenants/{id}` deletes it.',
  }),
  TENANT_IS_DEFAULT: error(409, 'The tenant default cannot be deleted', {
    help: 'Operators act for it when they name no tenant. Delete its jobs instead, with `POST /api/v1/jobs/bulk`.',
  }),
  TENANT_BUSY: error(409, 'The jobs of the tenant are still being paused or resumed', {
    help: 'Send the request again after `Retry-After`; `GET /api/v1/operations/{id}` with the tenant in `X-Tenant-ID` shows the progress.',
  }),
  TENANT_PURGED: error(409, 'The purge of the tenant has begun', {
    help: 'It cannot be undone. Create another tenant; the name is free once the purge is over.',
  }),
  TOO_MANY_API_KEYS: error(409, 'There are too many API keys', {
    help: 'A tenant has at most 1,000 keys that are not revoked. Revoke unused keys; `last_used_at` shows the last use of each.',
  }),
  TOO_MANY_TIERS: error(409, 'There are too many tiers', {
    help: 'An installation has at most 100. Replace one that no tenant is on.',
  }),
  TOO_MANY_CALENDARS: error(409, 'There are too many calendars', {
    help: 'A tenant has at most 1,000 calendars. Delete calendars that no job uses.',
  }),
  TOO_MANY_ARTIFACTS: error(409, 'There are too many artifacts', {
    help: 'A tenant has at most 100 artifacts. Delete artifacts that no job uses.',
  }),
  ARTIFACTS_OFF: error(409, 'No server runs artifacts', {
    help: 'Set `CARILLON_ARTIFACTS=on` on the servers that may run uploaded code, start them, and upload the bundle then.',
  }),
  CALENDAR_IN_USE: error(409, 'A job uses the calendar', {
    help: 'First remove the calendar from the exclusions of every job that is not deleted, or replace its entries instead.',
  }),
  JOB_COMPLETED: error(409, 'The job has no slot left', {
    help: 'There is nothing to pause or resume. A job that runs once has no slot left as soon as its execution begins. Give it a new schedule with PATCH, or trigger it.',
  }),
  JOB_KEY_TAKEN: error(409, 'Another job has this key', {
    help: 'Use another `key`, or change the job that has it: `PUT /api/v1/jobs/by-key/{key}`.',
  }),
  JOB_HAS_DEPENDENTS: error(409, 'Other jobs run after this one', {
    help: 'Remove the job from the `depends_on` of the jobs that the detail names, or delete them first.',
  }),
  GRAPH_RUN_FINISHED: error(409, 'The graph run has ended', {
    help: 'A finished run does not change; `detail` names its status. A run that did not succeed can be resumed.',
  }),
  GRAPH_RUN_NOT_FINISHED: error(409, 'The graph run has not ended', {
    help: 'Only a run that has ended can be resumed. Wait, or cancel it first.',
  }),
  NOTHING_TO_RESUME: error(409, 'The graph run has nothing to resume', {
    help: 'Every job in it succeeded, or was skipped because of its dependencies. Trigger its root for a new run.',
  }),
  GRAPH_RUN_OVERLAP: error(409, 'A root of the graph run is busy', {
    help: 'The overlap policy of the root allows one run at a time. Wait for the run, execution or late slots that the detail names, or cancel them; pause the root first if its next slot would fire before you resume.',
  }),
  RESUMED_TOO_OFTEN: error(409, 'The graph run was resumed too many times', {
    help: 'A run can be resumed at most 100 times. Trigger its root for a new run.',
  }),
  EXECUTION_FINISHED: error(409, 'The execution has ended', {
    help: 'A finished execution does not change; `execution_status` names its status.',
  }),
  ATTEMPT_OVER: error(409, 'The attempt is over', {
    help: 'The report came too late: the attempt timed out, was cancelled, or was followed by another attempt. Stop its work; its result will not be recorded.',
  }),
  RESULT_DIFFERS: error(409, 'The attempt already has a different result', {
    help: 'The first result or error of an attempt is final; `GET /api/v1/executions/{execution_id}` shows it. A repeated report must carry the same result or error.',
  }),
  WORKER_LOST: error(409, 'The worker is no longer registered', {
    help: 'It sent no heartbeat for longer than its lease, or it has left. Stop its running attempts, and register again: `POST /api/v1/workers`.',
  }),
  TOO_MANY_WORKERS: error(409, 'There are too many workers', {
    help: 'A tenant has at most 10,000 workers at a time. Deregister stopped workers with `DELETE /api/v1/workers/{worker_id}`, or give each worker a larger capacity.',
  }),
  SIGNING_KEY_NEW: error(409, 'The signing key was changed recently', {
    help: 'Callbacks are still signed with the previous key as well. Wait until `previous_until`, or send `{"force": true}`. `GET /api/v1/signing-key` shows the current key.',
  }),
  EXECUTION_NOT_FINISHED: error(409, 'The execution has not ended', {
    help: 'Only a finished execution can be retried; `execution_status` names its current status. Wait, or cancel it first.',
  }),
  TOO_MANY_OPERATIONS: error(409, 'Too many operations are in progress', {
    help: 'Wait for one to end, or cancel one: `GET /api/v1/operations` lists them.',
  }),
  IDEMPOTENCY_KEY_IN_USE: error(409, 'A request with this idempotency key is in progress', {
    help: 'Wait for its response, or repeat the request after `Retry-After`: the repeated request gets the response of the first one.',
  }),
  BACKFILL_NOT_POSSIBLE: error(409, 'The schedule has no slots in the past', {
    help: 'A schedule of type IMMEDIATE, or an interval counted from the end of the last execution, has no fixed times to backfill. Trigger the job instead. To backfill a job that depends on other jobs, backfill the root of its graph.',
  }),
  VERSION_STALE: error(412, 'The job was changed in the meantime', {
    help: 'Read the job again, check the changes, and repeat the request with its new ETag in `If-Match`; `If-Match: *` overwrites any version.',
  }),
  BODY_TOO_LARGE: error(413, 'The body is too large', {
    help: 'Send at most 1 MiB; to `/workers/heartbeat` and `/workers/report` 4 MiB, to `/artifacts/{artifact_id}` 32 MiB.',
  }),
  URL_TOO_LONG: error(414, 'A part of the path is too long', {
    help: 'No path parameter is longer than 256 characters.',
  }),
  UNSUPPORTED_MEDIA_TYPE: error(415, 'The content type is not supported', {
    help: 'Send `Content-Type: application/json`; to `/artifacts/{artifact_id}` `application/gzip`.',
  }),
  WRONG_HOST: error(421, 'The request names another host', {
    help: 'A server on loopback answers to 127.0.0.1, localhost, [::1] and the host of `CARILLON_PUBLIC_URL`. Call it by one of these names, or set `CARILLON_PUBLIC_URL` to the address that clients use.',
  }),
  SCHEDULED_TIME_TOO_OLD: error(422, 'The time is too far in the past', {
    help: 'Choose a later `scheduled_time`, raise `misfire_window_seconds`, or use type IMMEDIATE to run now.',
  }),
  TIER_LIMIT: error(422, 'The tier of the tenant does not allow this', {
    help: 'Stay within the limit that the detail names, or have an operator move the tenant to another tier. `GET /api/v1/tenants/{tenant_id}` shows its limits.',
  }),
  TARGET_FORBIDDEN: error(422, 'The target may not be called from here', {
    help: 'Choose a target with a public address. An operator can allow private addresses: `CARILLON_ALLOW_PRIVATE_TARGETS` is `true` or a list of networks, set for API and worker processes alike.',
  }),
  IDEMPOTENCY_KEY_REUSED: error(422, 'The idempotency key belongs to another request', {
    help: 'A key stands for one request with one body. Use a fresh key for each new request.',
  }),
  SCHEDULE_NOT_CHANGEABLE: error(422, 'The job cannot change to this schedule', {
    help: 'An existing job cannot become IMMEDIATE, nor ONE_TIME in the past: trigger it instead, or create another job.',
  }),
  BACKFILL_TOO_LARGE: error(422, 'The range has too many slots', {
    help: 'A backfill runs at most 10,000 slots; the detail says how many there are. Backfill the range in smaller parts.',
  }),
  DEPENDENCY_NOT_FOUND: error(422, 'A dependency names a job that does not exist', {
    help: 'Check the ids in `depends_on`; each must be a job of the same tenant that is not deleted.',
  }),
  DEPENDENCY_CYCLE: error(422, 'The dependencies form a cycle', {
    help: 'Remove one of the dependencies in the cycle that the detail lists.',
  }),
  GRAPH_TOO_LARGE: error(422, 'Too many jobs would depend on each other', {
    help: 'A graph has at most 1,000 jobs and 10,000 dependencies, including all indirect dependencies and dependents. Split the graph, or merge some of its jobs.',
  }),
  CHECKSUM_MISMATCH: error(422, 'The checksum does not match the bundle', {
    help: 'Send the SHA-256 of the exact bytes of the body, or leave it out. If it is right, the bundle was changed in transit.',
  }),
  NOT_SUPPORTED_YET: error(422, 'This part of the API is not implemented yet', {
    help: 'Leave out the fields that `errors` names. They are refused rather than ignored; a later version will accept them.',
  }),
  IF_MATCH_REQUIRED: error(428, 'The If-Match header is missing', {
    help: 'Send the ETag of the version that you read in `If-Match`, so that you do not overwrite the change of another client; `If-Match: *` overwrites any version.',
  }),
  RATE_LIMITED: error(429, 'Too many requests', {
    help: 'Wait as long as `Retry-After` says. The `RateLimit` header of each response shows how many requests are left.',
  }),
  QUOTA_EXCEEDED: error(429, 'The tenant has used up its executions a minute', {
    help: 'Wait as long as `Retry-After` says, start fewer executions, or have an operator move the tenant to another tier. Slots are not refused: they wait. `GET /api/v1/tenants/{tenant_id}/usage` shows the rest.',
  }),
  TOO_MANY_WAITING: error(429, 'Too many executions of the job have not ended', {
    help: 'A job has at most 100,000 triggered executions that wait or run. Wait for some of them to end, run more workers, or cancel executions that are not needed.',
  }),
  TOO_MANY_STREAMS: error(429, 'Too many streams are open', {
    help: 'A key may read 10 event streams at a time, a tenant 25 of each server, and a server serves 100. Close one, or poll every few seconds instead: lists have the same facts as a stream.',
  }),
  TENANT_SHARE_USED: error(429, 'The tenant uses its share of this server', {
    help: 'While there are other tenants, one tenant has at most a quarter of the places of a server; `detail` names the kind. Wait as long as `Retry-After` says, or send less at once.',
  }),
  HEADERS_TOO_LARGE: error(431, 'The headers are too large', {
    help: 'Send at most 16 KiB of headers.',
  }),
  INTERNAL_ERROR: error(500, 'Carillon failed', {
    help: 'This is a bug in Carillon. The log of the server has the cause under the same request; please report it.',
  }),
  SERVER_FULL: error(503, 'The server has no free place for this', {
    help: 'All tenants together use as much of this server as they may; `detail` names the kind. Nothing was done: try again after the time in `Retry-After`, or run more servers.',
  }),
  UNAVAILABLE: error(503, 'Carillon cannot answer now', {
    help: 'The database is unreachable or the server is stopping. Try again after the time in `Retry-After`; a write may have taken effect, so check before you repeat it.',
  }),
}

export type ErrorCode = keyof typeof ERRORS

/** The `code` of a field error in INVALID_REQUEST, with its meaning. Errors in a schedule have codes of the engine. */
export const FIELD_ERRORS = {
  REQUIRED: 'The field is missing.',
  UNKNOWN_FIELD: 'There is no such field or parameter here; `suggestions` has the nearest one that there is.',
  WRONG_TYPE: 'The value is of another JSON type.',
  WRONG_FORMAT: 'The text does not have the form that `detail` describes with an example.',
  WRONG_LENGTH: 'The text, array or object is too short or too long.',
  OUT_OF_RANGE: 'The number is too small or too large.',
  NOT_ALLOWED: 'The value is none of the allowed ones; `suggestions` may have the nearest.',
  REPEATED: 'The parameter is given several times, or the array has an item twice.',
} as const
export type FieldErrorCode = keyof typeof FIELD_ERRORS
