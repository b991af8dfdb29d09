/** Text in the pieces a model would stream it in: a few words at a time, never half a word. */
const PIECE = 24;

export function piecesOf(text: string, language: string): string[] {
  const segmenter = new Intl.Segmenter(language, { granularity: "word" });
  const pieces: string[] = [];
  let piece = "";
  for (const { segment } of segmenter.segment(text)) {
    piece += segment;
    if (piece.length < PIECE && !segment.includes("\n")) continue;
    pieces.push(piece);
    piece = "";
  }
  return piece === "" ? pieces : [...pieces, piece];
}
