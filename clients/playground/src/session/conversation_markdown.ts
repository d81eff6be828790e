// A conversation as Markdown, for humans to keep. Pure.
import { givenTo, type Asked, type Step, type TurnRecord } from '../store/turn_record.js';

export function markdownOf(title: string, records: readonly TurnRecord[]): string {
  const parts = records.flatMap((record) => ['## You', ...askedOf(record.asked), '## The agent', ...record.steps.flatMap(toldOf), ...endOf(record)]);
  return `${[`# ${title}`, ...parts].filter(Boolean).join('\n\n')}\n`;
}

const askedOf = ({ text, pictures, files }: Asked): string[] => [
  ...pictures.map((_, at) => `*Picture ${at + 1}*`),
  ...files.map((name) => `*File: ${name}*`),
  text,
];

function toldOf(step: Step): string[] {
  switch (step.kind) {
    case 'text':
      return [step.text];
    case 'reasoning':
    case 'commentary':
      return [quoted(step.text)];
    case 'note':
      return [`*${step.text}*`];
    case 'decision':
      if (step.isApproved) return [`*Approved${step.isEdited ? ' with changes' : ''}:* \`${step.name}\``];
      return [`*Refused:* \`${step.name}\``, fenced(step.argumentsJson), step.message ? quoted(step.message) : ''];
    case 'steer':
      return step.asked ? ['*You, while it ran:*', ...askedOf(step.asked)] : [];
    case 'server_tool':
      return calledOf(step.name, step.argumentsJson, step.result);
    case 'client_call':
      return calledOf(step.call.Name, step.call.ArgumentsJson, givenTo(step));
  }
}

interface Answer {
  ResultJson?: string | null;
  ErrorMessage?: string | null;
}

function calledOf(name: string, argumentsJson: string | undefined, answer: Answer | undefined): string[] {
  const result = answer?.ErrorMessage != null ? quoted(answer.ErrorMessage) : answer?.ResultJson != null ? fenced(answer.ResultJson) : '';
  return [`*Tool* \`${name}\``, argumentsJson === undefined ? '' : fenced(argumentsJson), result && '*Result*', result];
}

const endOf = ({ status, failure, files, warnings }: TurnRecord): string[] => [
  ...warnings.map((warning) => quoted(`Warning: ${warning}`)),
  ...files.map(({ Name }) => `*File of the agent: ${Name}*`),
  failure ? quoted(status === 'aborted' ? 'This turn was stopped.' : `This turn failed: ${failure.message}`) : '',
];

const quoted = (text: string): string => text.replace(/^/gm, '> ');

function fenced(json: string): string {
  const longest = json.match(/`+/g)?.reduce((most, { length }) => Math.max(most, length), 0) ?? 0;
  const fence = '`'.repeat(Math.max(3, longest + 1));
  return `${fence}json\n${json}\n${fence}`;
}
