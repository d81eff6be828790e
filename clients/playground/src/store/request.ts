// The request of a turn: the user's words, what is attached, and what the panels say.
import type { TurnRequest } from '../../../typescript/src/index.js';
import { addressOf, type Attachment } from './attachments.js';
import type { Waiting } from './outbox.js';
import * as settings from './settings.js';
import type { Asked } from './turn_record.js';

/** `sentSolution`: the solution context as the session has it. */
export function requestOf(words: string, held: readonly Attachment[], of: { isFirst: boolean; sentSolution: string | undefined }): TurnRequest {
  const scope = settings.ragScope();
  const tools = settings.toolsJson();
  const solution = settings.solution.value;
  return {
    ...contentOf(words, held),
    ...(solution !== of.sentSolution && { SolutionContextText: solution }),
    ...(settings.workspace.value && { WorkspaceId: settings.workspace.value }),
    ...(scope && { RagScope: scope }),
    ...(tools !== undefined && { ToolsJson: tools }),
    ...(of.isFirst && settings.agentContext.value && { AgentContextId: settings.agentContext.value }),
    ...(of.isFirst && settings.conversationContext.value && { ConversationContextId: settings.conversationContext.value }),
  };
}

/** The words, with what is attached to them. */
export function contentOf(words: string, held: readonly Attachment[]) {
  const pictures = held.flatMap((each) => (each.kind === 'picture' ? [each.image] : []));
  const files = held.flatMap((each) => (each.kind === 'file' ? [each.artifact] : []));
  return { ...(words && { Instruction: words }), ...(pictures.length > 0 && { ClipboardImages: pictures }), ...(files.length > 0 && { InputArtifacts: files }) };
}

/** What is attached in a request. */
export const attachedIn = ({ ClipboardImages, InputArtifacts }: Pick<TurnRequest, 'ClipboardImages' | 'InputArtifacts'>): Attachment[] => [
  ...(ClipboardImages ?? []).map((image): Attachment => ({ kind: 'picture', name: 'picture', image })),
  ...(InputArtifacts ?? []).map((artifact): Attachment => ({ kind: 'file', name: artifact.FileName, artifact })),
];

/** The same as the conversation shows it. */
export const askedWith = (text: string, held: readonly Attachment[]): Asked => ({
  text,
  pictures: held.flatMap((each) => (each.kind === 'picture' ? [addressOf(each.image)] : [])),
  files: held.flatMap((each) => (each.kind === 'file' ? [each.artifact.FileName] : [])),
});

/** Words that are a turn, as they wait until the service has them. */
export const waitingAs = (session: string, id: string, text: string, held: readonly Attachment[], request: TurnRequest): Waiting => ({
  session,
  id,
  text,
  attached: held.map(({ name }) => name),
  whole: { request, asked: askedWith(text, held) },
});
