// A turn on its way to the service: one that is cancelled before it has arrived would run all the same. Owns how long the news
// of an arrival is waited for.
import { after } from "./signals.js";

/** A proxy may hold that news back together with the stream, and a service may be silent. */
const ARRIVAL_MS = 2000;

/** Waits for news of the service, whatever they are, and not for long. */
export function inTime(news: Promise<unknown>): Promise<void> {
  return new Promise((over) => {
    const callOff = after(ARRIVAL_MS, over);
    const end = () => (callOff(), over());
    news.then(end, end);
  });
}
