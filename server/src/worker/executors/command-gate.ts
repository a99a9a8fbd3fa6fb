// The shell that every command begins as: it waits until we say go, sets the limits of the command, and becomes it.

/** Of each process of a command, but for the number of processes, which the system counts by user. */
export interface CommandLimits {
  fileMb: number
  processesMax: number
}

/** Files that a process may have open. */
const openFilesMax = 4_096
/** The unit of `ulimit -f`. */
const blocksPerMb = 2_048
/** From the signal that says why it died until it is killed. */
const cpuGraceSeconds = 5

// Fixed text: nothing from the job is read as shell. `read` fails when we are gone: then the command must not begin. A
// limit that is already lower stays. Past the soft limit of CPU time a process is told by SIGXCPU, past the hard one it is
// killed. The unset variables are the ones that the shell itself adds.
export const gate = `read -r CARILLON_GATE <&3 || exit 125
exec 3<&-
{
[ -z "$1" ] || { ulimit -S -t "$1"; ulimit -H -t "$2"; }
ulimit -f "$3"
ulimit -n "$4"
ulimit -p "$5" || ulimit -u "$5"
} 2>/dev/null
[ -n "$6" ] || ! command -v setpriv >/dev/null || CARILLON_GATE=setpriv
shift 6
[ "$CARILLON_GATE" != setpriv ] || set -- setpriv --no-new-privs -- "$@"
unset PWD OLDPWD SHLVL CARILLON_GATE
exec "$@"`

/** `keepsPrivileges`: programs with the rights of another user, such as sudo, work. */
export function gateArguments({
  cpuSeconds,
  fileMb,
  processesMax,
  keepsPrivileges,
}: CommandLimits & { cpuSeconds: number | null; keepsPrivileges: boolean }): string[] {
  const cpu = cpuSeconds === null ? ['', ''] : [cpuSeconds, cpuSeconds + cpuGraceSeconds]
  const others = [fileMb * blocksPerMb, openFilesMax, processesMax, keepsPrivileges ? 'keep' : '']
  return [...cpu, ...others].map(String)
}
