/** Every message of AAEP 1.0 and of our extension, once: types, validators and published schemas are made from this list. */
import { extensionMessages } from "./extension.ts";
import { messages as coreMessages } from "./messages.ts";

export { envelopeProperties, events, extensionEvent } from "./events.ts";
export const messages = { ...coreMessages, ...extensionMessages };
