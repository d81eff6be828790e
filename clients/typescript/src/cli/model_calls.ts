// Which of a trace's model calls its tool calls and steers mean.

/**
 * The places in `ModelCalls` by the numbers that tool calls and steers give: these count the calls whose output was kept, from 0,
 * and a trace lists the others, too. A call that failed has the number of the next one until that is listed.
 */
export function placesOf(calls: readonly { Summary?: boolean; Fault?: unknown; Interrupted?: boolean }[]): number[] {
  const places: number[] = [];
  let kept = 0;
  calls.forEach(({ Summary, Fault, Interrupted }, place) => {
    if (Summary || Interrupted) return;
    places[kept] = place;
    if (!Fault) kept += 1;
  });
  return places;
}
