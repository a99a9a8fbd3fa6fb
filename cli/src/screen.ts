// The few escape sequences that every terminal of the last forty years knows.

export const clearScreen = '\u001b[2J\u001b[H'
export const home = '\u001b[H'
export const hideCursor = '\u001b[?25l'
export const showCursor = '\u001b[?25h'
/** The screen that is there beside the one with the shell's history, as editors use it. */
export const enterScreen = '\u001b[?1049h'
export const leaveScreen = '\u001b[?1049l'
export const clearLine = '\r\u001b[K'
export const clearRest = '\u001b[K'
export const clearBelow = '\u001b[J'
