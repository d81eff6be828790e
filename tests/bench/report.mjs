// The figures as a table for people: first the ratios, then their components.

/** Returns the lines for `figures` as bench.mjs collects them. */
export function report({ names, workerd, loads, beside, growth, crossings, latency, memory, coldStart, bundle, traced }) {
  const floor = names[0];
  const others = names.filter((name) => name !== floor);
  const rows = [];
  const line = (says, cells) => rows.push([says, ...cells]);
  const of = (table, list, format) => list.map((name) => (table[name] === undefined ? '' : format(table[name])));

  const head = (title, list) => rows.push(null, [title, ...list]);
  const ratios = (side) => {
    head(`CPU per turn, ratio to the floor, ${version(side.workerd)}`, others);
    for (const { says, figures } of side.loads) line(says, of(figures, others, ({ ratio }) => number(ratio, 2)));
  };
  ratios({ workerd, loads });
  if (coldStart) {
    line("a process's start to its first answer, over the floor", of(coldStart, others, ({ overFloorMs }) => ms(overFloorMs)));
    line('… its CPU', of(coldStart, others, ({ cpuOverFloorMs }) => ms(cpuOverFloorMs)));
  }
  if (growth) {
    line('CPU of turns 251-300 of a session to turns 1-50', of(growth, others, ({ ratio }) => number(ratio, 2)));
  }
  if (beside.loads.length > 0) ratios(beside);

  const costs = (side) => {
    head(`CPU per turn, ${version(side.workerd)}`, names);
    for (const { says, figures } of side.loads) line(says, of(figures, names, ({ cpuMs }) => ms(cpuMs)));
    const busiest = (whose) =>
      names.map((name) => share(Math.max(...side.loads.map(({ figures }) => figures[name]?.[whose] ?? NaN))));
    line('the model service was busy, at most, of one core', busiest('modelBusy'));
    line('the load generator was busy, at most, of one core', busiest('clientBusy'));
  };
  for (const side of [{ workerd, loads }, beside]) if (side.loads.length > 0) costs(side);

  if (latency.length > 0) {
    const all = ['direct', ...names];
    head('latency', all);
    for (const { says, figures } of latency) {
      line(`delay of a delta, ${says} apart, p50`, of(figures, all, ({ p50Ms }) => ms(p50Ms)));
      line('… p99', of(figures, all, ({ p99Ms }) => ms(p99Ms)));
      line('… first delta over direct', of(figures, all, ({ firstOverDirectMs }) => ms(firstOverDirectMs)));
    }
  }
  if (traced) {
    const all = Object.keys(traced);
    head('a listener to spans, JSON, 20 deltas', all);
    line('CPU per turn, nobody listens', of(traced, all, ({ cpuMs }) => ms(cpuMs)));
    line('… somebody listens and does nothing', of(traced, all, ({ heardMs }) => ms(heardMs)));
    line('… ratio', of(traced, all, ({ ratio }) => number(ratio, 2)));
    line('… added to a turn', of(traced, all, ({ addedMs }) => us(addedMs)));
    line('events of a turn', of(traced, all, ({ events }) => number(events, 1)));
  }
  if (coldStart || memory || growth || crossings) head('per process, session and turn', names);
  if (coldStart) {
    line('start, until it takes connections', of(coldStart, names, ({ startMs }) => ms(startMs)));
    line('first answer after that', of(coldStart, names, ({ answerMs }) => ms(answerMs)));
    line('CPU of both', of(coldStart, names, ({ cpuMs }) => ms(cpuMs)));
  }
  if (memory) {
    line('resident memory at the start', of(memory, names, ({ atStartBytes }) => mib(atStartBytes)));
    line('resident memory per session', of(memory, names, ({ bytesPerSession }) => kib(bytesPerSession)));
  }
  if (growth) {
    line('rows read by a turn', of(growth, names, ({ rows: touched }) => touched?.read ?? '-'));
    line('rows written by a turn', of(growth, names, ({ rows: touched }) => touched?.written ?? '-'));
  }
  if (crossings) {
    const calls = (turn) => `${turn.out} + ${turn.in}`;
    line('calls out of WebAssembly + into it, JSON', of(crossings, names, ({ json }) => calls(json)));
    line('… stream of 20 deltas', of(crossings, names, ({ stream }) => calls(stream)));
  }
  return [...table(rows), ...(bundle ? ['', ...bundle] : [])];
}

function table(rows) {
  const columns = Math.max(...rows.map((row) => row?.length ?? 0));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => String(row?.[column] ?? '').length)),
  );
  const padded = (cell, column) =>
    column === 0 ? String(cell).padEnd(widths[0]) : String(cell).padStart(widths[column] + 2);
  return rows.map((row) => row?.map(padded).join('') ?? '');
}

const version = ({ which, version: number }) => `${which} workerd ${number}`;
const number = (value, digits) => (value === null ? '-' : value.toFixed(digits));
const ms = (value) => (value === null ? '-' : `${number(value, 2)} ms`);
const us = (value) => (value === null ? '-' : `${number(value * 1000, 0)} µs`);
const share = (value) => (Number.isNaN(value) ? '-' : `${number(value * 100, 0)} %`);
const kib = (value) => (value === null ? '-' : `${number(value / 1024, 1)} KiB`);
const mib = (value) => (value === null ? '-' : `${number(value / 1024 / 1024, 1)} MiB`);
