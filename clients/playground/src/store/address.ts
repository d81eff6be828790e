// The addresses of sessions and turns within the page: `#session` and `#session/turn`. An id holds no slash, and nothing that
// a URL would have to encode.
export interface Place {
  session: string;
  turn?: string;
}

/** What the address names; `undefined` for the page alone. */
export function placeIn(hash: string): Place | undefined {
  const [session = '', turn] = hash.replace(/^#/, '').split('/');
  return session === '' ? undefined : { session, ...(turn && { turn }) };
}

/** Whether a session can have this id. What cannot be one is asked of nobody, and nothing is sent into it. */
export const isId = (text: string): boolean => /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/.test(text);

export const hashOf = ({ session, turn }: Place): string => (turn === undefined ? `#${session}` : `#${session}/${turn}`);

/** The whole address: for a link, for somebody else, for another time. */
export const linkTo = (place: Place): string => new URL(hashOf(place), location.href).href;

/** The session that the page's address names, where it can be one. */
export function sessionNamed(): string | undefined {
  const { session } = placeIn(location.hash) ?? {};
  return session !== undefined && isId(session) ? session : undefined;
}

export const WRONG_TURN = 'The session does not have the turn that the address names.';
export const NO_SESSION = 'The service has no session of this address for you: it was erased, or belongs to somebody else. What you write here begins a new one.';
export const WRONG_ADDRESS = 'The address names no session: an id is letters, digits and . _ : - alone. What is sent begins a new one.';
/** What can be wrong with an address. */
export const FAULTS = [WRONG_TURN, NO_SESSION, WRONG_ADDRESS];
