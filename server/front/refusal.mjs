// The refusal of a request that the Worker does not get to see, in the form of interface §3.

const RETRY_AFTER_S = '2';

/** `told` is a response of the Worker's to the same client, whose headers every response has: a page may read it. */
export function refusal(told, Message) {
  const headers = new Headers(told.headers);
  headers.set('Retry-After', RETRY_AFTER_S);
  const Errors = [{ ErrorCode: 'overloaded', Message, SystemError: true }];
  return Response.json({ Successful: false, Errors, Warnings: [] }, { status: 503, headers });
}
