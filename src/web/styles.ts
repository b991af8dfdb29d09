/**
 * The element's style sheet. System colors follow forced-colors, high-contrast and dark modes; sizes are relative to the
 * text; touch targets are large. Pages customize it through parts and custom properties.
 */
const STYLES = `
:host {
  display: block;
  color: var(--earshot-text, CanvasText);
  background: var(--earshot-background, Canvas);
  font: var(--earshot-font, 1rem/1.5 system-ui, sans-serif);
  text-align: start;
  overflow-wrap: anywhere;
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
h2, h3, h4, h5, h6 { line-height: 1.25; margin-block: 1em 0.4em; font-size: 1.1em; }
h2 { font-size: 1.25em; }
p, ul, ol, pre, table, blockquote { margin-block: 0.5em; }
a { color: LinkText; }
:focus-visible { outline: 0.2em solid var(--earshot-focus, CanvasText); outline-offset: 0.15em; }
h2:focus-visible { outline-style: dashed; outline-width: 0.1em; }
button, select, input, textarea {
  font: inherit;
  color: inherit;
  min-block-size: 2.75rem;
  min-inline-size: 2.75rem;
  max-inline-size: 100%;
  padding: 0.4em 0.9em;
  border: 0.1rem solid currentColor;
  border-radius: 0.4em;
  background: var(--earshot-control, Canvas);
}
button { cursor: pointer; font-weight: 600; }
button:hover { background: CanvasText; color: Canvas; }
button[aria-disabled=true] { border-style: dashed; cursor: default; }
input[type=radio] { min-block-size: 1.5rem; min-inline-size: 1.5rem; }
.bar, .actions, .controls { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; }
.actions { margin-block-start: 1.25rem; }
.controls { margin-block-start: 0.5rem; }
.control { display: grid; gap: 0.2rem; }
.waiting { border: 0.2rem solid currentColor; border-radius: 0.4em; padding: 0.75rem; margin-block: 0.75rem; }
.waiting p { margin-block: 0 0.5rem; font-weight: 600; }
details { margin-block: 0.75rem; }
summary { min-block-size: 2.75rem; padding-block: 0.6rem; cursor: pointer; font-weight: 600; }
.turn { border-inline-start: 0.25rem solid currentColor; padding-inline-start: 0.9rem; margin-block: 1.25rem; }
.turn.person { border-inline-start-style: dotted; }
.turn h3 { margin-block-start: 0; }
.note { opacity: 0.9; font-style: normal; margin-block: 0.25em; }
.note::before { content: "\\2013\\00a0" / ""; }
.plain { white-space: pre-wrap; }
pre { overflow-x: auto; padding: 0.75rem; border: 0.1rem solid currentColor; border-radius: 0.4em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 0.1rem solid currentColor; padding: 0.3em 0.6em; text-align: start; }
blockquote { margin-inline: 0; padding-inline-start: 0.9rem; border-inline-start: 0.15rem solid currentColor; }
dialog {
  color: inherit;
  background: var(--earshot-background, Canvas);
  border: 0.25rem solid currentColor;
  border-radius: 0.6em;
  padding: clamp(1rem, 4vw, 2rem);
  inline-size: min(42rem, 100% - 1rem);
  max-inline-size: none;
  max-block-size: calc(100% - 1rem);
  overflow-y: auto;
}
dialog::backdrop { background: rgb(0 0 0 / 0.6); }
dialog.alone { inline-size: 100%; block-size: 100%; max-block-size: none; border: 0; border-radius: 0; margin: 0; }
dialog.alone::backdrop { background: Canvas; }
dialog h2 { margin-block: 0 0.7em; font-size: 1.4em; }
.grave { font-weight: 700; border-inline-start: 0.35rem solid currentColor; padding-inline-start: 0.75rem; }
.sending { font-weight: 600; }
.error { font-weight: 700; }
fieldset { border: 0; padding: 0; margin: 1rem 0 0; }
legend, .field label { font-weight: 600; display: block; margin-block-end: 0.3rem; }
.choice { display: flex; gap: 0.6rem; align-items: center; min-block-size: 2.75rem; }
.choice label { flex: 1; padding-block: 0.5rem; cursor: pointer; }
.field { margin-block-start: 1rem; }
textarea, .field input { inline-size: 100%; }
.heard {
  position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap;
}
@media (forced-colors: active) {
  button { border-color: ButtonBorder; background: ButtonFace; color: ButtonText; }
  button:hover { background: Highlight; color: HighlightText; forced-color-adjust: none; }
  dialog { border-color: CanvasText; }
}
@media (prefers-contrast: more) {
  button, select, input, textarea, .turn { border-width: 0.2rem; }
  .note { opacity: 1; }
}
`;

let sheet: CSSStyleSheet | undefined;
/** Constructed by script, which content security policies without inline styles allow, and shared by all elements. */
export function styleSheet(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
  }
  return sheet;
}
