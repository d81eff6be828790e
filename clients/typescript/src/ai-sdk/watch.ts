// The events of one turn, and who reads them: what the user adds to a turn that runs is a message of its own, so the rest of
// the turn goes to the message behind it. Owns that each event is read once, whoever reads.
import type { Turn } from "../turn.js";
import type { TurnEvent } from "../types.js";

/** A reader that waits until the model has its steer. */
interface Heir {
  steerId: string;
  begin(): void;
}

export class Watch {
  /** The turn in the client, where it was begun or attached to by this page. */
  readonly turn: Turn | undefined;
  /** Nothing further comes: the turn has ended, or waits. */
  isOver = false;
  readonly #controller = new AbortController();
  readonly #events: AsyncIterator<TurnEvent>;
  /** Asked for, and not yet read. */
  #next: Promise<IteratorResult<TurnEvent>> | undefined;
  readonly #heirs: Heir[] = [];

  constructor(
    readonly turnId: string,
    events: (signal: AbortSignal) => AsyncIterable<TurnEvent>,
  ) {
    const given = events(this.#controller.signal);
    if ("steer" in given) this.turn = given as Turn;
    this.#events = given[Symbol.asyncIterator]();
  }

  /** The watching ends with this signal, whoever reads. */
  endsWith(signal: AbortSignal | undefined): void {
    // Over at once: words that come before the reader hears of it are to find no turn that is read.
    const end = () => {
      this.isOver = true;
      this.#controller.abort(signal!.reason);
    };
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  }

  /** The events up to the one with which the next reader begins, or to the end. A failure is the last reader's. */
  async *read(): AsyncGenerator<TurnEvent, void, void> {
    let isLeft = true;
    try {
      for (;;) {
        const next = (this.#next ??= this.#events.next());
        const got = await next.catch((error: unknown) => {
          this.isOver = true;
          if (this.#heirs.length === 0) throw error;
        });
        if (!got || got.done || this.#isOfHeir(got.value)) {
          isLeft = false;
          this.isOver ||= !got || got.done === true;
          return this.#heirs.shift()?.begin();
        }
        this.#next = undefined;
        this.isOver ||= got.value.type === "result";
        yield got.value;
      }
    } finally {
      // Whoever leaves the reading closes the connection, also between two events; who waits behind is to hear of that.
      if (isLeft) {
        this.isOver = true;
        this.#controller.abort();
        this.#heirs.shift()?.begin();
      }
    }
  }

  /** Will read from the delivery of a steer on; where that was missed, from the result on. `disown` gives the reading up. */
  heir(steerId: string): { events: AsyncGenerator<TurnEvent, void, void>; disown(): void } {
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const heir: Heir = { steerId, begin };
    this.#heirs.push(heir);
    const read = () => this.read();
    const events = (async function* () {
      await begun;
      // The reader before is at its end, and the chat is to have heard of that.
      await new Promise((heard) => setTimeout(heard));
      yield* read();
    })();
    const disown = () => {
      const at = this.#heirs.indexOf(heir);
      // What had begun for this reader, which does not read, is the next one's.
      if (at < 0) this.#heirs.shift()?.begin();
      else this.#heirs.splice(at, 1);
    };
    return { events, disown };
  }

  #isOfHeir(event: TurnEvent): boolean {
    const [heir] = this.#heirs;
    if (!heir || event.type === "result") return heir !== undefined;
    if (event.type !== "progress" || event.progress.Kind !== "steer") return false;
    return event.progress.State === "delivered" && event.progress.SteerId === heir.steerId;
  }
}
