// The icons, drawn as lines in the text's colour.
const PATHS = {
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14Zm5 12 4 4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  down: 'M12 5v14m-6-6 6 6 6-6',
  help: 'M9 9.200a3 3 0 1 1 4.300 2.700c-.900.400-1.300 1-1.300 2.100m0 3v.01',
  more: 'M12 5.500v.01M12 12v.01M12 18.500v.01',
  send: 'M12 19V5m-6 6 6-6 6 6',
  stop: 'M7.5 7.5h9v9h-9z',
  attach: 'M20 11.5 12 19.4a5 5 0 0 1-7-7.1l8.3-8.2a3.3 3.3 0 0 1 4.7 4.7l-8.2 8a1.7 1.7 0 0 1-2.4-2.3l7.4-7.2',
  sliders: 'M4 8h9m4 0h3M4 16h3m4 0h9M15 6v4m-6 4v4',
  chevron: 'm9 6 6 6-6 6',
  tool: 'M14.5 6.5a4 4 0 0 0-5 5L4 17v3h3l5.500-5.500a4 4 0 0 0 5-5L15 12l-3-3 2.500-2.500Z',
  shield: 'M12 3.500 5 6v5.500c0 4.300 3 7.300 7 9 4-1.700 7-4.700 7-9V6l-7-2.500ZM9 12l2.200 2.200L15.200 10',
  thought: 'M12 4a7 7 0 0 0-4 12.700V19h8v-2.300A7 7 0 0 0 12 4ZM9.500 22h5',
  comment: 'M5 5h14v11H11l-4 3.500V16H5z',
  file: 'M7 3.500h7l4 4V20.500H7zM13.500 3.500V8H18',
  download: 'M12 4v11m-4.500-4.500L12 15l4.500-4.500M5 20h14',
  warning: 'M12 4.500 3.500 19h17L12 4.500Zm0 5.500v4m0 2.500v.01',
  retry: 'M19 12a7 7 0 1 1-2-5m2-3v4h-4',
  mode: 'M12 3.500 20.500 8 12 12.500 3.500 8zM3.500 12 12 16.500 20.500 12M3.500 16 12 20.500 20.500 16',
  trash: 'M5 7h14M10 7V4.500h4V7m-7 0 .800 12.500h8.400L17 7',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  timeline: 'M4 7h8M8 12h9M13 17h7',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  user: 'M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM5 20c.500-4 3-6 7-6s6.500 2 7 6',
  pencil: 'm5 19 .800-4L15.500 5.300l3.200 3.200L9 18.200 5 19Z',
  book: 'M5 6.500C5 5.100 8.100 4 12 4s7 1.100 7 2.500S15.900 9 12 9 5 7.900 5 6.500Zm0 0v11C5 18.900 8.100 20 12 20s7-1.100 7-2.500v-11M5 12c0 1.400 3.100 2.500 7 2.500s7-1.100 7-2.500',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
