/** All messages of AAEP 1.0 and of our extension: types, validators and published schemas are generated from this. */
import { extensionMessages } from "./extension.ts";
import { messages as coreMessages } from "./messages.ts";

export { envelopeProperties, events, extensionEvent } from "./events.ts";
export const messages = { ...coreMessages, ...extensionMessages };
