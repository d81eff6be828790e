// A turn as the page holds it.
import type { Signal } from '@preact/signals';
import type { StreamEvent, Turn, TurnRequest } from '../../../typescript/src/index.js';
import { aptix } from './service.js';
import type { TurnRecord } from './turn_record.js';

/** A turn on this page. `events` is everything that came, in its order, with its time. */
export interface ShownTurn {
  /** Its own session: the page may show another one by the time that something is asked about the turn. */
  readonly session: string;
  readonly record: Signal<TurnRecord>;
  readonly events: Signal<readonly { at: number; event: StreamEvent }[]>;
  /** What was sent; absent for turns from before this page was loaded, and for words whose files a reload has lost. */
  request?: TurnRequest;
  /** What the service keeps of the request of a turn from elsewhere. */
  kept?: TurnRequest;
  /** The service has the turn. */
  isTaken: boolean;
  /** The page has not watched it from its beginning: the rest is fetched at its end. */
  isPartial: boolean;
  watching?: AbortController;
  /** The turn in the client while it is watched. */
  handle?: Turn;
  /** Changes the record, also while events come. */
  change(how: (record: TurnRecord) => TurnRecord): void;
}

/** The turn in the client. One that was sent a moment ago may not be there yet, which its own handle waits for. */
export const handleOf = ({ handle, session, record }: ShownTurn): Turn => handle ?? aptix.session(session).attach(record.peek().turnId);
