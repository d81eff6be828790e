// A person at this terminal. Owns that only what is typed after a question answers it, and that a paste is one text, however
// many lines it has. Where nobody can be asked, every question is answered with no.
import { once } from "node:events";
import { type Interface, createInterface } from "node:readline";
import { INTERRUPTED, type Terminal, shownLines } from "./terminal.js";

/** With these a terminal marks where a paste begins and ends, and leaves that again. */
const MARK_PASTES = "\u001b[?2004h";
const LEAVE_PASTES = "\u001b[?2004l";

export class Person {
  readonly #reader: Interface;
  /** Lines that nobody has read yet. */
  readonly #typed: string[] = [];
  /** The lines of a paste above the one that is being written. */
  #pasted = "";
  #isPasting = false;
  /** What was being written as a message when a question came. */
  #draft = "";
  /** How often something has come. */
  #heard = 0;
  #hasLeft = false;
  #wanted: ((line: string | undefined) => void) | undefined;
  /** What Ctrl-C ends; without it, the reading. */
  running: AbortController | undefined;
  /** Aborted where Ctrl-C has ended the reading: in a terminal it is a key, and no signal of the process. */
  readonly quit = new AbortController();

  constructor(private readonly terminal: Terminal) {
    const { isInteractive } = terminal;
    this.#reader = createInterface({ input: process.stdin, output: isInteractive ? process.stderr : undefined, terminal: isInteractive });
    this.#reader.on("line", (line) => this.#hear(line));
    this.#reader.on("close", () => {
      this.#hasLeft = true;
      this.#give(undefined);
    });
    this.#reader.on("SIGINT", () => {
      if (!this.running) {
        this.quit.abort(INTERRUPTED);
        return this.close();
      }
      // What runs ends before its question does, so that no answer of it is sent.
      this.running.abort(new Error("interrupted"));
      this.#give(undefined);
    });
    if (!isInteractive) return;
    process.stdin.on("data", () => (this.#heard += 1));
    process.stdin.on("keypress", (_, { name }: { name?: string }) => {
      if (name === "paste-start") this.#isPasting = true;
      else if (name === "paste-end") this.#isPasting = false;
    });
    terminal.err(MARK_PASTES);
  }

  /** The next message; `undefined` at the end. What was typed meanwhile is one. */
  async message(): Promise<string | undefined> {
    const typed = this.#typed.shift();
    if (typed === undefined) {
      const draft = this.#draft;
      this.#draft = "";
      return this.#line("> ", draft);
    }
    if (this.terminal.isInteractive) this.terminal.err(`> ${shownLines(typed)}\n`);
    return typed;
  }

  /**
   * The answer to a question, of what is typed after it; `undefined` where there is none, or where what asks is over by then. It may
   * begin with a text to edit.
   */
  async answer(question: string, signal?: AbortSignal, begin = ""): Promise<string | undefined> {
    if (!this.terminal.isInteractive || this.#hasLeft) return undefined;
    await this.#settled();
    // What Ctrl-C has cancelled meanwhile would take the next line from whoever waits for that.
    if (signal?.aborted) return undefined;
    this.#draft += this.#pasted + this.#reader.line;
    this.#pasted = "";
    this.#reader.write(null, { ctrl: true, name: "e" });
    this.#reader.write(null, { ctrl: true, name: "u" });
    return this.#line(question, begin);
  }

  async agrees(question: string, signal?: AbortSignal): Promise<boolean> {
    return /^y(es)?$/i.test((await this.answer(`${question} (y/n) `, signal))?.trim() ?? "");
  }

  close(): void {
    if (this.terminal.isInteractive && !this.#hasLeft) this.terminal.err(LEAVE_PASTES);
    this.#reader.close();
  }

  async #line(question: string, begin = ""): Promise<string | undefined> {
    if (this.#hasLeft) return undefined;
    const line = new Promise<string | undefined>((resolve) => (this.#wanted = resolve));
    if (this.terminal.isInteractive) {
      // The prompt is the last line alone, since an edit writes it again.
      const last = question.lastIndexOf("\n") + 1;
      this.terminal.err(question.slice(0, last));
      this.#reader.setPrompt(question.slice(last));
      this.#reader.prompt();
      if (begin !== "") this.#write(begin);
    } else this.terminal.err(question);
    return line;
  }

  #write(text: string): void {
    this.#isPasting = true;
    this.#reader.write(text);
    this.#isPasting = false;
  }

  #hear(line: string): void {
    if (this.#isPasting) {
      this.#pasted += `${line}\n`;
      return;
    }
    const whole = this.#pasted + line;
    this.#pasted = "";
    if (this.#wanted) this.#give(whole);
    else this.#typed.push(whole);
  }

  #give(line: string | undefined): void {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    wanted?.(line);
  }

  /** Resolves when all that was typed until now has been heard: two rounds of the event loop bring nothing more. */
  async #settled(): Promise<void> {
    for (let heard = -1; heard !== this.#heard; ) {
      heard = this.#heard;
      for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
      while (this.#isPasting && !this.#hasLeft) await once(process.stdin, "data");
    }
  }
}
