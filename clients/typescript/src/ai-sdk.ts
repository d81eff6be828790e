import type { Aptix } from "./client.js";
export class AptixChatTransport { constructor(readonly options: { client: Aptix }) {} }
