// Formulas, from TeX to MathML. A part of its own, fetched with the first formula that is shown. It makes elements and no
// text that would be read as HTML, and trusts nothing: no links, no pictures, no attributes of the model's choice. build.mjs
// leaves out of the library what would do such things.
import temml from 'temml/temml.js';

const MATHML = 'http://www.w3.org/1998/Math/MathML';
/** What a model's text can make it do: so many macros, and sizes of so many em. */
const BOUNDS = { maxExpand: 200, maxSize: [20, 20] };

/** The formula; `undefined` where it cannot be read. */
export function drawn(tex: string, displayMode: boolean): Element | undefined {
  const place = document.createElement('span');
  try {
    temml.render(tex, place, { ...BOUNDS, displayMode, throwOnError: true, trust: false });
  } catch {
    return undefined;
  }
  const [math, ...others] = place.children;
  const all = [...place.querySelectorAll('*')];
  // The number of a line is a `span`.
  if (!math || others.length > 0 || all.some(({ namespaceURI, localName }) => namespaceURI !== MATHML && localName !== 'span')) return undefined;
  for (const element of all) for (const name of ['id', 'href']) element.removeAttribute(name);
  math.setAttribute('alttext', tex);
  return math;
}
