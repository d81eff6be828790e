// Model services that do not keep to the Responses API as Llama Stack and open-responses-server do not. They speak with
// the words of the stand-in (tools/dev/stand_in/conversation.mjs), about the conversation that they make of a request.
import { reply } from '../../tools/dev/stand_in/conversation.mjs';
import { answerJson, listen, openStream } from './model_service/http_service.mjs';
import { Chain } from './model_service/chain.mjs';
import { Refusal } from './model_service/refusal.mjs';
import { frame, newResponse, responseEvents } from './model_service/response_stream.mjs';

const isSystem = ({ role }) => role === 'system' || role === 'developer';

/**
 * Llama Stack 0.7: it gives out no reasoning and says so. In a chain it forgets the system message after the first call,
 * and takes a message that equals the last one of its author for the same one.
 */
export const llamaStack = () =>
  service((body, conversation) => {
    if (body.include?.includes('reasoning.encrypted_content')) {
      throw new Refusal('reasoning.encrypted_content is not supported by Llama Stack.');
    }
    if (!body.previous_response_id) return conversation;
    const earlier = conversation.slice(0, -body.input.length).filter((item) => !isSystem(item));
    const last = earlier.findLast(({ role }) => role === 'user');
    return [...earlier, ...body.input.filter(({ role, content }) => role !== 'user' || JSON.stringify(content) !== JSON.stringify(last?.content))];
  });

/** open-responses-server 0.4: no system message reaches the model, and outside a chain no call and no output. */
export const openResponsesServer = () =>
  service((body, conversation) =>
    conversation.filter((item) => !isSystem(item) && (body.previous_response_id || !item.type?.startsWith('function_call'))));

/** `heard(body, conversation)` is what reaches the model of a conversation, or throws a Refusal. */
function service(heard) {
  const chain = new Chain();
  const take = (request, response, body) => {
    const conversation = chain.conversation('owner', body);
    const answer = newResponse(body);
    const events = [...responseEvents(answer, reply(body, heard(body, conversation), null, 0))];
    chain.keep('owner', body, conversation, answer);
    if (!body.stream) return answerJson(response, 200, answer);
    openStream(response);
    for (const event of events) response.write(frame(event));
    response.end();
  };
  return listen(0, take, (request, id) => chain.remove('owner', id));
}
