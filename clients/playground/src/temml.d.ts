// The sources of the library, from which the page leaves something out. Its own declarations are those of the whole.
declare module 'temml/temml.js' {
  const temml: { render(tex: string, place: Element, options: object): void };
  export default temml;
}
