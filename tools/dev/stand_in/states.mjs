// The states of a model service that the stand-in shows on request, so that each can be tried without a key.
// Owns the words by which each is asked for, its output items, and what the server does otherwise than usual.
import { Refusal } from '../../../tests/fakes/model_service/refusal.mjs';
import { call, commentary, hosted, reasoning, text } from '../../../tests/fakes/model_service/response_stream.mjs';

/** How much slower than usual the words of a slow answer come. */
const SLOWER = 50;
const CHARACTERS_PER_TOKEN = 4;
/** The characters of one delta of an answer that fills the window. */
const PARAGRAPH = 2000;

/**
 * `ask`: what to say; `asked`: how that is recognised; `shows`: what is then seen. Besides, each as far as it applies,
 * `items({ found, windowTokens, words, tools })`: the output items, `tools` being those that are offered; `pace`: a factor
 * of the pauses between words; `refused(isFirst)`: the refusal of an attempt, or `null`; `cutAfter(found, isFirst)`: the
 * deltas after which the connection is broken, or `null`; `isSilent`: nothing is sent; `forgets`: no response is remembered
 * any longer; `goesDown`: it is down as soon as a tool has given its output, and a spare service is not.
 */
const STATES = [
  {
    ask: 'Think aloud.',
    asked: /\bthink(?:ing)? aloud\b/i,
    shows: 'commentary, then the answer',
    items: ({ words }) => [
      commentary('I comment on what I do; ', 'this is no part of the answer.'),
      words('This is the answer.'),
    ],
  },
  {
    ask: 'Reason about it.',
    asked: /\breason about\b/i,
    shows: 'a summary of reasoning, then the answer',
    items: ({ words }) => [
      reasoning('**Reading the question** ', 'I am asked to show reasoning. ', '**Deciding** ', 'I show it.'),
      words('I have reasoned, and this is the answer.'),
    ],
  },
  {
    ask: 'Give a slow answer.',
    asked: /\bslow answer\b/i,
    shows: 'an answer whose words come slowly',
    pace: SLOWER,
    items: ({ words }) => [words('This answer comes word by word, slowly enough to be cut, cancelled or resumed.')],
  },
  {
    ask: 'Be overloaded once.',
    asked: /\boverloaded once\b/i,
    shows: 'a refused call that is made again, and answered',
    refused: (isFirst) => (isFirst ? overloaded() : null),
    items: ({ words }) => [words('I was overloaded; this is the answer to a repeated call.')],
  },
  {
    ask: 'Be overloaded.',
    asked: /\boverloaded\b/i,
    shows: 'a service that refuses every call of the turn',
    refused: () => overloaded(),
  },
  {
    ask: 'Refuse this call.',
    asked: /\brefuse (?:this|the) call\b/i,
    shows: 'a service that refuses the call for good',
    refused: () => new Refusal('This call is refused, as it was asked to be.', { code: 'invalid_value', param: 'input' }),
  },
  {
    ask: 'Cut the answer after 5 words.',
    asked: /\bcut the answer after (\d{1,4}) words?\b/i,
    shows: 'a connection that breaks in the middle of an answer, and the whole answer when the turn is sent again',
    cutAfter: ([, count], isFirst) => (isFirst ? Number(count) : null),
    items: ({ found: [, count], words }) => [words(`The first time this answer was cut after ${count} words. This time it is whole, as you can see from its end.`)],
  },
  {
    ask: 'Fill the window.',
    asked: /\bfill the (?:context )?window\b/i,
    shows: 'an answer as long as the context window, so that the next turn has to be compacted',
    items: ({ windowTokens }) => [text(...paragraphs(windowTokens))],
  },
  {
    ask: 'Search the web for pelicans.',
    asked: /\bsearch the web(?: for ([^.?!\n]+))?/i,
    shows: 'a search that the service makes itself, with citations',
    items: ({ found: [, query = 'pelicans'], words }) => [search(query), cited(words, query)],
  },
  {
    ask: 'Lose the chain.',
    asked: /\blose the chain\b/i,
    shows: 'a service that has forgotten every response when the next turn comes',
    forgets: true,
    items: ({ words }) => [words('From here on I remember no response. The next turn sends the whole conversation.')],
  },
  {
    ask: 'Go down in the middle.',
    asked: /\bgo down in the middle\b/i,
    shows: 'a service that goes down between two model calls, and a spare one that goes on with the turn',
    goesDown: true,
    items: ({ tools, words }) => {
      const tool = tools.find(({ name }) => name === 'agent_list_modes');
      return tool ? [call(tool.name, {})] : [words('I cannot go down between two calls: no tool that lists modes was offered.')];
    },
  },
  {
    ask: 'Be silent.',
    asked: /\bbe silent\b/i,
    shows: 'a service that accepts a call and says nothing, until it is given up (UPSTREAM_IDLE_TIMEOUT_MS)',
    isSilent: true,
  },
];

/** The list of what can be asked for, as Markdown. */
export const LISTED = STATES.map(({ ask, shows }) => `- “${ask}”: ${shows}`).join('\n');

/** The state that an instruction asks for, with the match in `found`; `null` when it asks for none. */
export function stateAsked(instruction) {
  for (const state of STATES) {
    const found = state.asked.exec(instruction);
    if (found !== null) return { ...state, found };
  }
  return null;
}

export const overloaded = () =>
  new Refusal('Our servers are currently overloaded. Please try again later.', {
    status: 503,
    type: 'service_unavailable_error',
    code: 'server_is_overloaded',
  });

function paragraphs(tokens) {
  const sentence = `This answer fills my context window of ${tokens} tokens. `;
  const paragraph = `${sentence.repeat(PARAGRAPH / sentence.length)}\n\n`;
  return Array(Math.ceil((tokens * CHARACTERS_PER_TOKEN) / paragraph.length)).fill(paragraph);
}

const search = (query) => hosted({ type: 'web_search_call', action: { type: 'search', query } });

/** A text about `query` that cites two pages. The stand-in has no web, so the pages are examples. */
function cited(words, query) {
  const said = `I have no web to search for ${query}, so I cite two pages that are made for examples: the domain and its registry.`;
  const citation = (of, title, url) => {
    const start_index = said.indexOf(of);
    return { type: 'url_citation', start_index, end_index: start_index + of.length, title, url };
  };
  const annotations = [
    citation('the domain', 'Example Domain', 'https://example.com/'),
    citation('its registry', 'IANA-managed Reserved Domains', 'https://www.iana.org/domains/reserved'),
  ];
  return { ...words(said), annotations };
}
