// What the page says of an error. Owns the advice where a credential was refused.
import { AptixError } from '../../../typescript/src/index.js';
import { adviceOnTickets, credentialWasRefused } from './service.js';
import * as turns from './turn_record.js';

export function failureOf(error: unknown): turns.Failure {
  if (!(error instanceof AptixError)) return { code: 'page', message: String((error as Error)?.message ?? error) };
  if (error.code !== 'unauthenticated') return turns.failureOf(error.errors, error);
  credentialWasRefused();
  const failure = turns.failureOf(error.errors, error);
  return error.status === 401 ? { ...failure, message: failure.message + adviceOnTickets() } : failure;
}
