// The refusal of a request that the Worker does not get to see, in the form of interface §3.

const RETRY_AFTER_S = '2';

export function refusal(request, Message) {
  const id = request.headers.get('aptix-request-id') ?? '';
  const headers = {
    'Retry-After': RETRY_AFTER_S,
    'Aptix-Request-Id': /^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : crypto.randomUUID(),
  };
  const Errors = [{ ErrorCode: 'overloaded', Message, SystemError: true }];
  return Response.json({ Successful: false, Errors, Warnings: [] }, { status: 503, headers });
}
