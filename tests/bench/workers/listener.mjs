// Takes every event of another Worker's spans, as a streaming tail, and only counts them. `fetch` gives their number.
let events = 0;
const count = () => {
  events += 1;
};

export default {
  fetch: () => Response.json(events),
  tailStream() {
    count();
    return { spanOpen: count, attributes: count, spanClose: count, outcome: count };
  },
};
