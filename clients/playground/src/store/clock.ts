// The service's clock, as far as its responses tell it: turns are told with its times, and that of a browser may be hours off.

/** Less than that is the way of a response, and that its `Date` has whole seconds. */
const LEAST_MS = 2000;
let aheadMs = 0;

/** Takes the service's time from a response, where it has one. */
export function noteDate(response: Response): Response {
  const told = Date.parse(response.headers.get('Date') ?? '');
  if (!Number.isNaN(told)) aheadMs = Math.abs(told - Date.now()) < LEAST_MS ? 0 : told - Date.now();
  return response;
}

/** A time of the service, by the clock of this browser. */
export const here = (at: number): number => at - aheadMs;

/** The time by the service's clock, in milliseconds since the epoch. */
export const now = (): number => Date.now() + aheadMs;
