// The stand-in for the model service, for work without a key (server.mjs is its command).
// Serves `POST /v1/responses`, `GET` and `DELETE /v1/responses/{id}`, `POST /v1/responses/{id}/cancel` and
// `POST /v1/embeddings` as the live API does, refusals included; conversation.mjs chooses the output, states.mjs what goes otherwise than usual.
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundResponses } from '../../../tests/fakes/model_service/background.mjs';
import { Chain } from '../../../tests/fakes/model_service/chain.mjs';
import { embeddings } from '../../../tests/fakes/model_service/embeddings.mjs';
import { answerJson, keyOf, listen, openStream } from '../../../tests/fakes/model_service/http_service.mjs';
import { checkRequest } from '../../../tests/fakes/model_service/request_rules.mjs';
import { frame, newResponse, responseEvents } from '../../../tests/fakes/model_service/response_stream.mjs';
import { unknown } from '../../../tests/fakes/model_service/refusal.mjs';
import { checkWindow, usageOf } from '../../../tests/fakes/model_service/window.mjs';
import { isDown, reply, stateOf } from './conversation.mjs';
import { overloaded } from './states.mjs';

/** How the service remembers: all, nothing, or not even the member that asks for it. */
export const MEMORIES = ['full', 'none', 'refuses'];

/**
 * Listens until closed; resolves to `{ url, close }`. `wordMs` stands before each word, and longer before those of a slow
 * answer; `slowly(said)`, where it is given, is waited for before the latter instead, `said` words of the answer having gone
 * out. `isSpare`: the one that takes over, so nothing goes wrong that goes wrong once.
 */
export function standIn({ port = 0, wordMs = 12, slowly, windowTokens = 32_000, memory = 'full', isSpare = false } = {}) {
  const chain = new Chain();
  const background = new BackgroundResponses();
  const seenOnce = new Set();
  const take = async (request, response, given) => {
    const owner = keyOf(request);
    checkRequest(given);
    if (memory === 'refuses' && given.previous_response_id) throw unknown('previous_response_id');
    const body = memory === 'full' ? given : { ...given, previous_response_id: null, store: false };
    const conversation = chain.conversation(owner, body);
    checkWindow(conversation, windowTokens);
    const state = stateOf(conversation);
    if (!isSpare && isDown(conversation)) throw overloaded();
    const isNew = !isSpare && (state?.refused || state?.cutAfter) && isFirst(seenOnce, JSON.stringify([owner, given]));
    const refused = state?.refused?.(isNew);
    if (refused) throw refused;
    if (state?.isSilent) return;
    const answer = newResponse(body);
    const items = reply(body, conversation, state, windowTokens);
    const events = responseEvents(answer, items, { usage: (output) => usageOf(conversation, output) });
    const streamed = body.stream === true;
    const pauseMs = wordMs * (state?.pace ?? 1);
    const beforeWord = async (said) => {
      if (state?.pace && slowly) await slowly(said);
      else if (pauseMs > 0) await pause(pauseMs);
    };
    const keep = () => answer.status === 'completed' && chain.keep(owner, body, conversation, answer);
    const forget = () => state?.forgets && chain.forget();
    if (streamed) openStream(response);
    if (streamed && body.background === true) {
      const made = background.begin(owner, answer);
      void makeInBackground(made, events, beforeWord, keep).then(forget);
      const words = state?.cutAfter?.(state.found, isNew) ?? Infinity;
      // Four events stand before the first word.
      await made.sendTo(response, 0, { most: words + 4 });
      return words < Infinity ? response.socket?.destroySoon() : response.end();
    }
    const most = state?.cutAfter?.(state.found, isNew) ?? Infinity;
    let said = 0;
    for (const event of events) {
      const isWord = event.type === 'response.output_text.delta';
      if (isWord && said === most) return response.socket.destroySoon();
      if (isWord && streamed) await beforeWord(said);
      if (isWord) said += 1;
      if (response.destroyed) return;
      // Stored before the last event is sent, so that a follow-up cannot come too soon.
      keep();
      if (streamed) response.write(frame(event));
    }
    forget();
    if (streamed) response.end();
    else answerJson(response, 200, answer);
  };
  const remove = (request, id) => chain.remove(keyOf(request), id);
  const embed = (request, body) => (keyOf(request), embeddings(body));
  return listen(port, take, remove, embed, {
    read: (request, response, id, query) => background.read(keyOf(request), id, query, response),
    cancel: (request, id) => background.cancel(keyOf(request), id),
  });
}

/** Makes a response without its reader. */
async function makeInBackground(made, events, beforeWord, keep) {
  let said = 0;
  for (const event of events) {
    if (event.type === 'response.output_text.delta') await beforeWord(said++);
    if (made.cancelled) return;
    keep();
    made.push(event);
  }
  made.end();
}

/** Whether something comes for the first time, or again after its second time. */
function isFirst(seen, what) {
  return !seen.delete(what) && seen.add(what) !== undefined;
}
