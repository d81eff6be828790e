// Puts events into a turn's record as they come: text once for each frame of the screen, all else at once. The work for text
// is done behind the frame and not in it, so that neither it nor the browser's own work keeps the page from a key or a click.
import { batch } from '@preact/signals';
import type { StreamEvent } from '../../../typescript/src/index.js';
import { now } from './clock.js';
import type { ShownTurn } from './shown_turn.js';
import { after, type TurnRecord } from './turn_record.js';

export class Painter {
  record: TurnRecord;
  #events: { at: number; event: StreamEvent }[] = [];
  #frame: ReturnType<typeof requestAnimationFrame> | undefined;
  #behind: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly turn: ShownTurn) {
    this.record = turn.record.value;
  }

  take(event: StreamEvent): void {
    this.#events.push({ at: now(), event });
    this.record = after(this.record, event);
    // A page in the background is given no frames.
    if (event.type !== 'text' || document.hidden) this.paint();
    else this.#frame ??= requestAnimationFrame(() => (this.#behind = setTimeout(() => this.paint())));
  }

  change(how: (record: TurnRecord) => TurnRecord): void {
    this.record = how(this.record);
    this.paint();
  }

  paint(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    clearTimeout(this.#behind);
    this.#frame = undefined;
    const { record, events } = this.turn;
    batch(() => {
      record.value = this.record;
      if (this.#events.length > 0) events.value = [...events.value, ...this.#events.splice(0)];
    });
  }
}
