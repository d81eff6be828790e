// What is wrong with a command, a configuration or a folder, said to whoever runs the command.

/** Its message is a whole sentence, or several lines. It ends the command with `code`. */
export class Fault extends Error {
  constructor(message, code = 1) {
    super(message);
    this.code = code;
  }
}

/** What there is to say of an error: what the operating system refuses is named by its own words, and only a fault of this program needs its trace. */
export function toldOf(error) {
  return error instanceof Fault || error.syscall !== undefined ? error.message : (error.stack ?? String(error));
}
