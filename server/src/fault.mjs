// What is wrong with a command, a configuration or a folder, said to whoever runs the command.

/** Its message is a whole sentence, or several lines. It ends the command with `code`. */
export class Fault extends Error {
  constructor(message, code = 1) {
    super(message);
    this.code = code;
  }
}
