// A turn that has something to be inspected: two model calls, and between them a tool that this page runs by itself.
import { send } from '../store/conversation.js';

export const EXAMPLE = 'Call the tool echo with the word pelican.';
export const sendExample = (): void => void send(EXAMPLE);
