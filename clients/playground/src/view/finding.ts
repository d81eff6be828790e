// Where words stand in a piece of the page, folded text included, and how they are marked and brought into sight. Owns what
// counts as text there: what somebody said, and not the buttons and labels around it.
import { patternOf } from '../store/pattern.js';
import { UNFOLD } from './long_text.js';

const NO_TEXT = '.hidden, button, .code-head, textarea, select, svg, .foot';
/** Words are found across whatever stands in a line, and not from one of these into the next. */
const BLOCK = 'p, li, td, th, pre, h1, h2, h3, h4, h5, h6, summary, blockquote, dt, dd, small, div';
const ALL = 'found';
const NOW = 'found-now';

interface Line {
  text: string;
  nodes: { node: Text; from: number }[];
}

function linesIn(root: Element): Line[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element ? (node.matches(NO_TEXT) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP) : NodeFilter.FILTER_ACCEPT,
  );
  const lines: Line[] = [];
  let block: Element | null | undefined;
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    const own = node.parentElement!.closest(BLOCK);
    if (own !== block) lines.push({ text: '', nodes: [] });
    block = own;
    const line = lines.at(-1)!;
    line.nodes.push({ node, from: line.text.length });
    line.text += node.data;
  }
  return lines;
}

/** The places of the words, in their order; at most so many. */
export function placesOf(words: string, root: Element, most: number): Range[] {
  const pattern = patternOf(words);
  const places: Range[] = [];
  if (!pattern) return places;
  for (const { text, nodes } of linesIn(root)) {
    for (const { 0: found, index } of text.matchAll(pattern)) {
      if (places.length === most) return places;
      const range = document.createRange();
      const start = nodes.findLast(({ from }) => from <= index)!;
      const end = nodes.findLast(({ from }) => from < index + found.length)!;
      range.setStart(start.node, index - start.from);
      range.setEnd(end.node, index + found.length - end.from);
      places.push(range);
    }
  }
  return places;
}

/** Marks the places, and one of them as that at which one is. The page itself stays as it is. */
export function mark(places: readonly Range[], now: Range | undefined): void {
  if (typeof Highlight === 'undefined') {
    // An older browser shows at least the one.
    const selection = getSelection();
    if (now) selection?.setBaseAndExtent(now.startContainer, now.startOffset, now.endContainer, now.endOffset);
    return;
  }
  const others = places.filter((place) => place !== now);
  CSS.highlights.set(ALL, new Highlight(...others));
  if (now) CSS.highlights.set(NOW, new Highlight(now));
  else CSS.highlights.delete(NOW);
}

/**
 * Opens what is folded around a place, and scrolls each box around it so that it is seen. `lost`: what has been opened was
 * drawn anew, and the place with it.
 */
export function bringIntoSight(place: Range, lost: () => void): void {
  const element = place.startContainer.parentElement;
  if (!element) return;
  for (let folded = element.closest('details'); folded; folded = folded.parentElement!.closest('details')) folded.open = true;
  element.closest('.folded-text')?.dispatchEvent(new Event(UNFOLD));
  // What has been unfolded has its size with the next frame.
  requestAnimationFrame(() => {
    if (place.collapsed) return lost();
    for (let box: HTMLElement | null = element; box; box = box.parentElement) {
      if (!/auto|scroll/.test(getComputedStyle(box).overflow)) continue;
      const [own, around] = [place.getBoundingClientRect(), box.getBoundingClientRect()];
      if (own.top < around.top || own.bottom > around.bottom) box.scrollTop += own.top - around.top - around.height / 2;
      if (own.left < around.left || own.right > around.right) box.scrollLeft += own.left - around.left - around.width / 2;
    }
  });
}
