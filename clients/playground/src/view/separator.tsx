// The edge of a pane, which is moved by pointer and by keyboard.
import { useLayoutEffect, useState } from 'preact/hooks';
import { paneWidths } from '../store/appearance.js';

const STEP_PX = 16;
const PANES = {
  sidebar: { label: 'Width of the sessions', min: 200, most: 0.4 },
  panel: { label: 'Width of the panel', min: 280, most: 0.6 },
} as const;

/** `pane` is the id of the element whose edge it is, too. */
export function Separator({ pane }: { pane: keyof typeof PANES }) {
  const { label, min, most } = PANES[pane];
  const [now, setNow] = useState<number>(min);
  useLayoutEffect(() => {
    const element = document.getElementById(pane);
    if (!element) return;
    const resized = new ResizeObserver(() => setNow(Math.round(element.offsetWidth)));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const max = Math.max(min, Math.floor(innerWidth * most));
  const set = (width: number | undefined) => {
    const { [pane]: _, ...others } = paneWidths.value;
    paneWidths.value = width === undefined ? others : { ...others, [pane]: Math.round(Math.min(max, Math.max(min, width))) };
  };
  const wider = pane === 'sidebar' ? 1 : -1;
  const onKeyDown = (event: KeyboardEvent) => {
    const width = document.getElementById(pane)!.offsetWidth;
    const to = { ArrowRight: width + wider * STEP_PX, ArrowLeft: width - wider * STEP_PX, Home: min, End: max, Enter: undefined };
    if (!(event.key in to)) return;
    event.preventDefault();
    set(to[event.key as keyof typeof to]);
  };
  const drag = (event: PointerEvent) => {
    if (!(event.currentTarget as Element).hasPointerCapture(event.pointerId)) return;
    const { left, right } = document.getElementById(pane)!.getBoundingClientRect();
    set(pane === 'sidebar' ? event.clientX - left : right - event.clientX);
  };
  return (
    <div
      class={`separator of-${pane}`}
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-controls={pane}
      aria-valuemin={min}
      aria-valuemax={max}
      aria-valuenow={Math.min(max, Math.max(min, now))}
      aria-valuetext={`${now} pixels`}
      title="Drag, or use the arrow keys; Enter resets"
      onKeyDown={onKeyDown}
      onDblClick={() => set(undefined)}
      onPointerDown={(event) => (event.currentTarget as Element).setPointerCapture(event.pointerId)}
      onPointerMove={drag}
    />
  );
}
