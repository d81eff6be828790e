// The rate limiter, in memory. The library of the Worker looks at the name of the class.

export class Ratelimit {
  #most;
  #periodMs;
  #counts = new Map();
  #until = 0;

  constructor({ Limit, PeriodS }) {
    this.#most = Limit;
    this.#periodMs = PeriodS * 1000;
  }

  async limit({ key }) {
    const now = Date.now();
    // A clock that was set back, too: the period would take as long as that, and all would be refused.
    if (now >= this.#until || now < this.#until - this.#periodMs) {
      this.#counts.clear();
      this.#until = now + this.#periodMs;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return { success: count <= this.#most };
  }
}
